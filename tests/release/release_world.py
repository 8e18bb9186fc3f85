"""A release on its way in the loop's world: a trunk, the base of releases, a policy, the ruleset that requires the
guard, and people with roles. The loop runs through its own pokes, and events take the way they take in production.
"""

import secrets
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx
from loop_world import REPO, LoopWorld

from app.controller.controller import Controller
from app.controller.release_hearing import DoneRelease
from app.controller.turn import Ended
from app.domain import release_verbs
from app.domain.authorization import digest_of
from app.domain.keys import TrunkKey
from app.domain.release_record import Person, Source
from app.domain.release_verbs import ReleaseVerb
from app.emulator.client import Emulator
from app.service.events import Poked, keys_of

GUARD = "Agent Recovery / release"
TRUNK = "release-1-2-0"
INTO = "main"
AT = ("acme", "shop")
POLICY_FILE = ".github/agent-recovery.yml"
POLICY = f"version: 1\nmode: full\ntrunks: [release-*]\nrelease:\n  into: {INTO}\n"
PERMISSIONS = {
    "metadata": "read",
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
    "merge_queues": "read",
    "members": "read",
}
EVENTS = [
    "issues",
    "issue_comment",
    "pull_request",
    "push",
    "create",
    "delete",
    "check_run",
    "check_suite",
    "status",
    "merge_group",
    "repository",
]
NOWHERE = "http://127.0.0.1:9/hook"
"""Nothing listens there: deliveries are recorded and read from the record."""
ROLES = {"wanda": "write", "maya": "maintain", "milo": "maintain", "boss": "admin", "rita": "read"}
MOST_RUNS = 200
LONGEST_WAIT_S = 200.0


class ReleaseWorld(LoopWorld):
    """One repository with a trunk that has brought nothing yet. Every person of `ROLES` has a client in `people`."""

    def __init__(self, emulator: Emulator, folder: Path) -> None:
        super().__init__(emulator, folder)
        tokens = {"wanda": self.token} | {who: emulator.user(who)["token"] for who in ROLES if who != "wanda"}
        self.people = {who: self._client(token) for who, token in tokens.items()}
        emulator.change_repo(REPO, collaborators=ROLES)
        emulator.change_app("agent-recovery", permissions=PERMISSIONS, events=EVENTS, webhook_url=NOWHERE)
        emulator.change_installation(self.installation, permissions=PERMISSIONS)
        self.policy(POLICY)
        self.as_person("wanda", "DELETE", "git/refs/heads/release-1")
        self.branch(TRUNK)
        self._heard = len(emulator.deliveries())

    async def close(self) -> None:
        for client in self.people.values():
            client.close()
        await super().close()

    # ---- what people do

    def as_person(self, who: str, method: str, path: str, **fields: Any) -> Any:
        """One call of somebody's to the repository; its body. Raises on a refusal."""
        answer = self.asked(who, method, path, **fields).raise_for_status()
        return answer.json() if answer.content else None

    def asked(self, who: str, method: str, path: str, **fields: Any) -> httpx.Response:
        """The same, refusals included."""
        return self.people[who].request(method, f"/repos/{REPO}/{path}", json=fields)

    def graphql(self, who: str, document: str, **variables: Any) -> dict[str, Any]:
        """What GraphQL answers somebody, errors included."""
        body = {"query": document, "variables": variables}
        answer: dict[str, Any] = self.people[who].post("/graphql", json=body).json()
        return answer

    def policy(self, text: str | None) -> None:
        """Put this policy on the default branch."""
        self.emulator.commit(REPO, {POLICY_FILE: text}, branch=INTO, author="boss")
        if self.head(TRUNK) is not None:
            self.bring(INTO, TRUNK)

    def branch(self, name: str, of: str = INTO) -> str:
        """A new branch at another one's head."""
        sha = str(self.head(of))
        self.as_person("wanda", "POST", "git/refs", ref=f"refs/heads/{name}", sha=sha)
        return sha

    def bring(self, source: str, target: str) -> None:
        """Merge one branch into another, as somebody does who keeps a release up to date."""
        self.asked("wanda", "POST", "merges", base=target, head=source).raise_for_status()

    def differ(self, word: str = "", *, branch: str = TRUNK, who: str = "wanda") -> str:
        """A commit with a file of its own on the trunk; the new head."""
        word = word or secrets.token_hex(3)
        return self.emulator.commit(REPO, {f"{word}.txt": word}, branch=branch, author=who, message=f"Add {word}")

    def empty_commit(self, branch: str = TRUNK) -> str:
        """A commit on a branch that changes no file; the new head."""
        parent = str(self.head(branch))
        tree = self.get(f"git/commits/{parent}")["tree"]["sha"]
        made = self.as_person("wanda", "POST", "git/commits", message="Nothing", tree=tree, parents=[parent])
        self.as_person("wanda", "PATCH", f"git/refs/heads/{branch}", sha=made["sha"])
        return str(made["sha"])

    def landed(self, title: str = "Ripen the pears", trunk: str = TRUNK) -> tuple[int, int]:
        """An Issue whose work a person merged onto the trunk: its number, and that of its pull request."""
        issue = int(self.emulator.issue(REPO, title, author="wanda")["number"])
        name = f"{issue}-work"
        self.branch(name, of=trunk)
        self.emulator.commit(REPO, {f"{name}.txt": name}, branch=name, author="wanda")
        number = self.open_pull(name, trunk, f"Ticket: #{issue}\n")
        self.as_person("wanda", "PUT", f"pulls/{number}/merge")
        return issue, number

    def open_pull(self, head: str, base: str, body: str = "", *, who: str = "wanda", **fields: Any) -> int:
        made = self.as_person(who, "POST", "pulls", title="By hand", head=head, base=base, body=body, **fields)
        return int(made["number"])

    def say(self, who: str, number: int, text: str) -> dict[str, Any]:
        """A comment of a person on an Issue or pull request, as REST shows it."""
        made: dict[str, Any] = self.as_person(who, "POST", f"issues/{number}/comments", body=text)
        return made

    def rerequest(self, run: int) -> None:
        """Ask for a check-run of our App anew, as a click does."""
        token = self.emulator.installation_token(self.app, self.installation)
        path = f"/repos/{REPO}/check-runs/{run}/rerequest"
        self.http.post(path, headers={"Authorization": f"Bearer {token}"}).raise_for_status()

    def require_guard(self, branch: str = INTO, **more: Any) -> int:
        """The ruleset that has GitHub require the guard from this App; its id."""
        check = {"context": GUARD, "integration_id": self.app["id"]}
        parameters = {"strict_required_status_checks_policy": False, "required_status_checks": [check]}
        body = {
            "name": f"guard of {branch}",
            "enforcement": "active",
            "target": "branch",
            "conditions": {"ref_name": {"include": [f"refs/heads/{branch}"], "exclude": []}},
            "rules": [{"type": "required_status_checks", "parameters": parameters}],
        } | more
        return int(self.as_person("boss", "POST", "rulesets", **body)["id"])

    # ---- what GitHub shows

    def every(self, path: str) -> list[dict[str, Any]]:
        """All pages of a list; the path has its query."""
        found: list[dict[str, Any]] = []
        for page in count(1):
            some = self.get(f"{path}&page={page}")
            found += some
            if len(some) < 100:
                break
        return found

    def pulls(self, state: str = "all", *, head: str = TRUNK) -> list[dict[str, Any]]:
        """The pull requests of a trunk, oldest first."""
        found: list[dict[str, Any]] = self.get(f"pulls?state={state}&head=acme:{head}")
        return sorted(found, key=lambda pull: int(pull["number"]))

    def pull(self, number: int | None = None) -> dict[str, Any]:
        """The one open release pull request, or that of a number."""
        if number is None:
            (found,) = self.pulls("open")
            number = int(found["number"])
        whole: dict[str, Any] = self.get(f"pulls/{number}")
        return whole

    def guards(self, sha: str) -> list[dict[str, Any]]:
        """The guard's check-runs on a commit, oldest first."""
        return [run for run in self.check_runs(sha) if run["name"] == GUARD]

    def guard(self, sha: str | None = None) -> str:
        """What the only guard on a commit says, by default on the trunk's head."""
        (run,) = self.guards(sha or str(self.head(TRUNK)))
        return str(run["conclusion"] or run["status"])

    def merges(self) -> list[int]:
        """The numbers of all merged pull requests into the base of releases."""
        found = self.every(f"pulls?state=closed&base={INTO}")
        return sorted(int(pull["number"]) for pull in found if pull["merged_at"] is not None)

    def ours(self, number: int) -> list[dict[str, Any]]:
        """Our App's comments on an Issue or pull request, oldest first."""
        found = self.every(f"issues/{number}/comments?")
        return [c for c in found if c["user"]["login"] == self.app["bot_login"]]

    def issues_of_app(self) -> list[dict[str, Any]]:
        """The Issues that our App made."""
        found = self.every("issues?state=all")
        return [i for i in found if i["user"]["login"] == self.app["bot_login"] and "pull_request" not in i]

    def release_refs(self) -> list[str]:
        """The release ledgers that stand."""
        return [ref["ref"] for ref in self.get("git/matching-refs/agent-recovery/releases/")]

    # ---- what the service does

    async def round(self, controller: Controller, trunk: str = TRUNK) -> Ended:
        """One round of the trunk's key."""
        return await controller.round(TrunkKey(REPO, trunk))

    async def settle(self, controller: Controller, trunk: str = TRUNK, rounds: int = 12) -> list[str]:
        """Rounds of the trunk's key until it asks for none within a few minutes; how each ended."""
        ended: list[Ended] = []
        for _ in range(rounds):
            ended.append(await self.round(controller, trunk))
            again = ended[-1].again_at
            wait = again.timestamp() - self.emulator.now() if again is not None else LONGEST_WAIT_S + 1
            if wait > LONGEST_WAIT_S:
                break
            self.emulator.advance(max(wait, 0) + 1)
        return [e.reason for e in ended]

    async def word(self, controller: Controller, who: str, verb: str, sha: str = "", number: int = 0) -> DoneRelease:
        """A person says a word about the release in a comment on its pull request, and it is carried out. Raises
        Refused.
        """
        number = number or int(self.pull()["number"])
        comment = self.say(who, number, f"/recovery {verb} {sha}".strip())
        return await self.carry_out(controller, comment, verb, sha, number)

    async def carry_out(
        self, controller: Controller, comment: dict[str, Any], verb: str, sha: str, number: int
    ) -> DoneRelease:
        """What a comment that REST showed says, carried out (again)."""
        by = Person(login=comment["user"]["login"], id=comment["user"]["id"])
        source = Source(
            comment_id=comment["id"],
            number=number,
            created_at=comment["created_at"],
            body_digest=digest_of(comment["body"]),
        )
        id = str(comment["id"])
        rules: dict[str, ReleaseVerb] = {
            "authorize-release": partial(release_verbs.authorize, by=by, sha=sha, source=source),
            "revoke-release": partial(release_verbs.revoke, by=by),
            "merge-release": partial(release_verbs.merge, id=id, by=by),
        }
        return await controller.hear_release(*AT, number, id=id, verb=verb, by=by, rule=rules[verb], source=source)

    def routed(self) -> list[str]:
        """The keys that deliveries since the last call poke."""
        self.emulator.flush()
        heard = self.emulator.deliveries()[self._heard :]
        self._heard += len(heard)
        routes = [keys_of(d["event"], d["payload"], own_app_id=self.app["id"]) for d in heard]
        return list(dict.fromkeys(key for route in routes if isinstance(route, Poked) for key in route.keys))

    def forget_events(self) -> None:
        """Deliveries so far were lost."""
        self.routed()

    async def hear_events(self, controller: Controller) -> list[str]:
        """Have the newest controller run what the deliveries since the last call poke, and what follows from that, as
        the loop's workers do; the keys that ran.
        """
        ran: list[str] = []
        for _ in range(MOST_RUNS):
            await self.pokes.poke(*self.routed())
            poke = await self.pokes.take("test")
            if poke is not None:
                ran.append(poke.key)
                await self.pokes.settle(poke, await controller._loop._run(poke))
                continue
            due = await self.pokes.next_due()
            wait = due.timestamp() - self.emulator.now() if due is not None else LONGEST_WAIT_S + 1
            if wait > LONGEST_WAIT_S:
                return ran
            self.emulator.advance(max(wait, 0) + 1)
            # The service learns the time from GitHub's answers.
            await self._opened[-1][0].installations()
        raise AssertionError(f"the loop does not come to rest: {ran[-10:]}")

    def _client(self, token: str) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.emulator.url, headers=headers, timeout=20)
