"""Every way in which a repository differs from what should be, and what brings the loop to look: a world that plays the
one against the other. All drifts stand in it at once; each has its own ticket.
"""

import asyncio
import secrets
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from enrolled_world import LABEL, Enrolled
from loop_world import PERMISSIONS, REPO, Agent, LoopWorld, claims_of
from sqlalchemy import Connection, delete

from app.controller.tables import pokes as pokes_table
from app.controller.turn import Ended
from app.domain.agent_api import CheckpointRequest
from app.domain.glance import EVERY
from app.domain.keys import IssueKey, RepositoryKey, TicketKey, TrunkKey, parse_key
from app.emulator.client import Emulator
from app.service.events import Poked, keys_of

POLICY = f"""version: 1
mode: full
trunks: [release-*]
enroll:
  label: {LABEL}
  branch: true
landing:
  checks: [ci]
  unguarded_base: accept
lease:
  ttl: 4h
checkpoint:
  max_gap: 4h
project:
  number: 1
"""
AT = ("acme", "shop")
FIELDS = [
    {"name": "Status", "type": "SINGLE_SELECT", "options": ["Todo", "In Progress", "In review", "Done"]},
    {"name": "Target release", "type": "SINGLE_SELECT", "options": ["1", "2.0"]},
]
EVENTS = [
    "issues",
    "issue_comment",
    "pull_request",
    "push",
    "create",
    "delete",
    "check_run",
    "status",
    "repository",
    "projects_v2_item",
]
NOWHERE = "http://127.0.0.1:9/hook"
"""Nothing listens there: deliveries are recorded and read from the record."""

TRIGGERS = ("webhook", "sweep", "restart", "agent call")
MOST_RUNS = 600
LONGEST_WAIT_S = 200.0

Check = Callable[[], Awaitable[None] | None]


@dataclass
class Brought:
    """A drift that stands now: what must stand afterwards, the ticket an agent may ask about, and whether GitHub sends
    no event that is news (our own writes, and refs of ours).
    """

    check: Check
    ticket: int | None
    silent: bool = False


class Held:
    """A ticket that an agent holds, with a published step and its PR."""

    def __init__(self, play: "Play", agent: Agent, number: int) -> None:
        self.play, self.agent, self.number = play, agent, number
        self.sha = ""

    @property
    def branch(self) -> str:
        return self.agent.grant.branch

    def push(self, step: str) -> str:
        pushed = self.agent.push(step)
        assert type(pushed).__name__ == "Pushed", pushed
        self.sha = pushed.code_sha
        return self.sha

    async def say(self, status: str) -> None:
        body = {"completed_steps": [{"id": "one", "text": "one"}], "next_steps": [{"text": "land"}]}
        self.agent._seq += 1
        request = CheckpointRequest(
            key=f"say-{secrets.token_hex(4)}", seq=self.agent._seq, checkpoint=body, status=status
        )
        await self.play.controller.checkpoint(*AT, self.number, claims_of(self.agent.grant), request)

    def pull(self) -> dict[str, Any]:
        (found,) = self.play.given.pulls(self.branch)
        whole: dict[str, Any] = self.play.world.get(f"pulls/{found['number']}")
        return whole

    def handoff(self) -> dict[str, Any]:
        (comment,) = self.play.world.comments(self.pull()["number"], f"agent-recovery:handoff:{self.number} ")
        return comment


class Play:
    """The world, the service that looks at it now, and the tickets that are used again and again."""

    def __init__(self, emulator: Emulator, folder: Path) -> None:
        self.world = LoopWorld(emulator, folder)
        self.given = Enrolled(self.world, POLICY)
        more = {**PERMISSIONS, "organization_projects": "write"}
        emulator.change_app("agent-recovery", webhook_url=NOWHERE, events=EVENTS, permissions=more)
        emulator.accept_permissions(self.world.installation)
        self.project = emulator.project("acme", "Plan", fields=FIELDS)
        self.controller = self.world.controller()
        self.unseen_s = 300.0
        """How long nobody looks before a sweep."""
        self.kept: dict[str, Held] = {}
        self.items: dict[int, str] = {}
        self._count = 0

    @property
    def emulator(self) -> Emulator:
        return self.world.emulator

    def word(self) -> str:
        """A word that was not used before."""
        self._count += 1
        return f"w{self._count}"

    def issue(self, title: str = "", **fields: Any) -> int:
        return self.given.issue(title or f"Ripen {self.word()}", **fields)

    async def fresh(self) -> Held:
        """A ticket that was just claimed and pushed to, and nobody looked since."""
        number = self.issue(labelled=False)
        self.world.ticket = number
        held = Held(self, self.world.agent(await self.world.claim(self.controller)), number)
        held.push(self.word())
        return held

    async def held(self, name: str) -> Held:
        """The ticket of this name, in its ordinary state."""
        if name not in self.kept:
            self.kept[name] = await self.fresh()
        await self.given.settle(self.controller, self.kept[name].number)
        return self.kept[name]

    def as_app(self, method: str, path: str, **fields: Any) -> Any:
        """What the App wrote, as it may come late from one of its replicas."""
        token = self.emulator.installation_token(self.world.app, self.world.installation)
        headers = {"Authorization": f"Bearer {token}"}
        url = f"{self.emulator.url}/repos/{REPO}/{path}"
        answer = httpx.request(method, url, json=fields, headers=headers, timeout=20).raise_for_status()
        return answer.json() if answer.content else None

    # ---- what makes the loop look

    async def begin(self, trigger: str) -> None:
        """The service that will come upon the drifts. Before a sweep it has seen the world as it should be."""
        if trigger != "restart":
            self.controller = self.world.controller()
        if trigger == "sweep":
            await self.controller.start_up()
            await self.drain()
        self.emulator.flush()
        self._heard = len(self.emulator.deliveries())

    async def fire(self, trigger: str, brought: list[Brought]) -> None:
        if trigger == "restart":
            self.controller = self.world.controller()
            await self.controller.start_up()
        elif trigger == "sweep":
            await self._forget_pokes()
            self.emulator.advance(self.unseen_s)
            # The service learns the time from GitHub's answers.
            await self.world._opened[-1][0].installations()
            await self.controller._sweeper.sweep()
        elif trigger == "agent call":
            await self._forget_pokes()
            for one in brought:
                if one.ticket is not None:
                    await self.controller.brief(*AT, one.ticket)
        else:
            for one in brought:
                if one.silent and one.ticket is not None:
                    self.emulator.comment(REPO, one.ticket, "wanda", "Anything new?")
            await self._forget_pokes()
            await self.world.pokes.poke(*self._routed())
        await self.drain()

    def _routed(self) -> list[str]:
        self.emulator.flush()
        heard = self.emulator.deliveries()[self._heard :]
        self._heard += len(heard)
        routed = [keys_of(d["event"], d["payload"], own_app_id=self.world.app["id"]) for d in heard]
        keys = [key for route in routed if isinstance(route, Poked) for key in route.keys]
        return list(dict.fromkeys(keys))

    async def drain(self) -> None:
        """Run what is due, and what comes due soon, as the loop's workers do."""
        ended: list[str] = []
        for _ in range(MOST_RUNS):
            poke = await self.world.pokes.take("test")
            if poke is not None:
                last = await self._run(poke.key)
                ended.append(f"{poke.key}: {last.reason}")
                await self.world.pokes.settle(poke, last.again_at)
                continue
            due = await self.world.pokes.next_due()
            wait = due.timestamp() - self.emulator.now() if due is not None else LONGEST_WAIT_S + 1
            if wait > LONGEST_WAIT_S:
                return
            self.emulator.advance(max(wait, 0) + 1)
            # The service learns the time from GitHub's answers.
            await self.world._opened[-1][0].installations()
        raise AssertionError(f"the loop does not come to rest: {ended[-10:]}")

    async def _run(self, text: str) -> Ended:
        key = parse_key(text)
        if isinstance(key, TicketKey | TrunkKey):
            return await self.controller.round(key)
        if isinstance(key, RepositoryKey):
            return await self.controller.look_at_repository(*AT)
        if isinstance(key, IssueKey):
            return Ended(None, await self.controller._sweeper.poke_named(key))
        return Ended(None, "nothing of its own")

    async def hear(self) -> None:
        """What GitHub says of all that was done meanwhile, the loop's own deeds too."""
        await self.world.pokes.poke(*self._routed())
        await self.drain()

    async def _forget_pokes(self) -> None:
        """Whatever the deeds themselves poked is lost."""
        database = self.world._opened[-1][1]

        def _all_gone(connection: Connection, items: Any) -> list[None]:
            connection.execute(delete(pokes_table))
            return [None] * len(items)

        await database.run(_all_gone, None)


Bring = Callable[[Play], Awaitable[Brought]]


@dataclass(frozen=True)
class Drift:
    """One row: its name, how the world is brought into it, and the triggers that cannot reach it, each with why."""

    name: str
    bring: Bring
    never_by: dict[str, str] = field(default_factory=dict)


ROWS: list[Drift] = []
APART: list[Drift] = []
"""Those that need a second trunk, which none of the others has: they are played in a world of their own."""
NO_AGENT = {"agent call": "no agent ever calls about what is no ticket's"}


def drift(name: str, rows: list[Drift] = ROWS, **never_by: str) -> Callable[[Bring], Bring]:
    def add(bring: Bring) -> Bring:
        rows.append(Drift(name, bring, {trigger.replace("_", " "): why for trigger, why in never_by.items()}))
        return bring

    return add


@drift("a holder's work has no PR")
async def _(play: Play) -> Brought:
    held = await play.fresh()

    def check() -> None:
        pull = held.pull()
        assert (pull["draft"], pull["base"]["ref"], pull["state"]) == (True, "release-1", "open")
        assert pull["body"].startswith(f"Ticket: #{held.number}\n")

    return Brought(check, held.number)


def _opened(play: Play, branch: str, number: int, base: str = "release-1") -> Check:
    def check() -> None:
        (pull,) = play.given.pulls(branch)
        assert (pull["draft"], pull["base"]["ref"], pull["state"]) == (True, base, "open")
        assert pull["body"].startswith(f"Ticket: #{number}\n")
        assert len(play.world.comments(pull["number"], "agent-recovery:handoff")) == 1
        assert play.given.verdicts(pull["head"]["sha"]) == [(f"{number}:0", "action_required")]

    return check


@drift("a labelled ticket's branch has no PR")
async def _(play: Play) -> Brought:
    number = play.issue()
    branch = f"{number}-{play.word()}"
    play.given.work(branch)
    return Brought(_opened(play, branch, number), number)


@drift("the branch of an Issue without a label has no PR")
async def _(play: Play) -> Brought:
    number = play.issue(labelled=False)
    play.given.work(f"issue-{number}")
    return Brought(_opened(play, f"issue-{number}", number), number)


@drift("stacked work has no PR")
async def _(play: Play) -> Brought:
    first, second = play.issue(), play.issue()
    play.given.work(f"{first}-base")
    play.given.blocked_by(second, first)
    play.given.work(f"{second}-top", of=f"{first}-base")
    return Brought(_opened(play, f"{second}-top", second, base=f"{first}-base"), second)


def _told(play: Play, number: int, where: int, marker: str, *words: str) -> None:
    (comment,) = play.world.comments(where, f"agent-recovery:report:{number}:{marker}")
    assert all(word in comment["body"] for word in words), comment["body"]


@drift("two branches with work are one ticket's")
async def _(play: Play) -> Brought:
    number = play.issue()
    names = (f"{number}-one", f"{number}-two")
    for name in names:
        play.given.work(name)

    def check() -> None:
        _told(play, number, number, "no-pull-several-branches", *names)
        assert [p for name in names for p in play.given.pulls(name)] == []
        assert play.given.ledger(number) is None

    return Brought(check, number)


@drift("a branch has commits of another ticket")
async def _(play: Play) -> Brought:
    number, other = play.issue(), play.issue()
    play.given.work(f"{number}-mixed", message=f"Work\n\nTicket: #{other}")

    def check() -> None:
        _told(play, number, number, "no-pull-contradiction", "commit trailers", str(other))
        assert play.given.pulls(f"{number}-mixed") == []

    return Brought(check, number)


@drift("a branch without a commit of its own is not started, and no drift")
async def _(play: Play) -> Brought:
    number = play.issue()
    play.given.branch(f"{number}-begun")

    def check() -> None:
        assert play.given.pulls(f"{number}-begun") == []
        assert play.world.comments(number, "agent-recovery") == []
        assert play.given.ledger(number) is None

    return Brought(check, number)


@drift("a branch was overwritten")
async def _(play: Play) -> Brought:
    held = await play.held("overwritten")
    tree = play.world.get(f"git/commits/{held.sha}")["tree"]["sha"]
    orphan = play.given.send("POST", "git/commits", message=play.word(), tree=tree, parents=[])["sha"]
    play.given.send("PATCH", f"git/refs/heads/{held.branch}", sha=orphan, force=True)

    def check() -> None:
        assert play.world.head(held.branch) == held.sha
        kept = play.world.get(f"git/matching-refs/agent-recovery/recovered/{held.number}/")
        assert orphan in [ref["object"]["sha"] for ref in kept]
        assert held.pull()["state"] == "open"

    return Brought(check, held.number)


@drift("a branch was deleted, which closed its PR")
async def _(play: Play) -> Brought:
    held = await play.held("deleted")
    play.given.send("DELETE", f"git/refs/heads/{held.branch}")
    assert held.pull()["state"] == "closed"

    def check() -> None:
        assert play.world.head(held.branch) == held.sha
        assert held.pull()["state"] == "open"

    return Brought(check, held.number)


@drift("commits that nobody published stand on a branch")
async def _(play: Play) -> Brought:
    held = await play.held("foreign")
    foreign = play.given.commit(held.branch, play.word())

    def check() -> None:
        assert play.world.head(held.branch) == foreign
        assert play.given.verdicts(foreign) == [(f"{held.number}:1", "action_required")]

    return Brought(check, held.number)


@drift("the handoff comment is gone")
async def _(play: Play) -> Brought:
    held = await play.held("comment gone")
    before = held.handoff()["id"]
    play.as_app("DELETE", f"issues/comments/{before}")

    def check() -> None:
        assert held.handoff()["id"] != before

    return Brought(check, held.number, silent=True)


@drift("somebody rewrote the handoff comment")
async def _(play: Play) -> Brought:
    held = await play.held("comment edited")
    comment = held.handoff()
    # Who administrates the repository may; its marker stays, else it would be another comment.
    text = f"<!-- agent-recovery:handoff:{held.number} -->\nAll done, merge it."
    play.as_app("PATCH", f"issues/comments/{comment['id']}", body=text)

    def check() -> None:
        assert held.handoff()["body"] == comment["body"]

    return Brought(check, held.number, silent=True)


@drift("two handoff comments stand")
async def _(play: Play) -> Brought:
    held = await play.held("comment doubled")
    comment = held.handoff()
    play.as_app("POST", f"issues/{held.pull()['number']}/comments", body=comment["body"])

    def check() -> None:
        assert held.handoff()["id"] == comment["id"]

    return Brought(check, held.number, silent=True)


@drift("an old verdict was written late over the check-run")
async def _(play: Play) -> Brought:
    held = await play.held("check-run")
    (run,) = play.world.check_runs(held.sha)
    old = {"title": "Old", "summary": "Old"}
    play.as_app("PATCH", f"check-runs/{run['id']}", status="completed", conclusion="action_required", output=old)

    def check() -> None:
        assert play.given.verdicts(held.sha) == [(f"{held.number}:1", "success")]

    return Brought(check, held.number, silent=True)


@drift("a draft whose ticket is ready")
async def _(play: Play) -> Brought:
    held = await play.held("ready")
    await held.say("working")
    await play.given.settle(play.controller, held.number)
    assert held.pull()["draft"]
    await held.say("ready")

    def check() -> None:
        assert not held.pull()["draft"]

    return Brought(check, held.number, silent=True)


@drift("a ready PR whose ticket's work went on")
async def _(play: Play) -> Brought:
    held = await play.held("resumed")
    await held.say("ready")
    await play.given.settle(play.controller, held.number)
    assert not held.pull()["draft"]
    await held.say("working")

    def check() -> None:
        assert held.pull()["draft"]

    return Brought(check, held.number, silent=True)


@drift("a ready ticket whose required check is missing")
async def _(play: Play) -> Brought:
    held = await play.held("unchecked")
    await held.say("working")
    await play.given.settle(play.controller, held.number)
    await held.say("ready")

    def check() -> None:
        assert held.pull()["state"] == "open"
        blocker = held.handoff()["body"].partition("**Before it lands**")[2].partition("**Next**")[0]
        assert f"have not reported on {held.sha}: 1 (ci)" in blocker, blocker

    return Brought(check, held.number, silent=True)


@drift("a ready ticket with nothing in its way has not landed")
async def _(play: Play) -> Brought:
    held = await play.fresh()
    await play.given.settle(play.controller, held.number)
    play.given.send("POST", f"statuses/{held.sha}", context="ci", state="success")
    await held.say("ready")
    return Brought(_landed(play, held), held.number, silent=True)


def _landed(play: Play, held: Held) -> Check:
    def check() -> None:
        issue = play.world.get(f"issues/{held.number}")
        assert held.pull()["merged"]
        assert (issue["state"], issue["state_reason"]) == ("closed", "completed")
        assert play.world.head(held.branch) is None
        assert (play.given.ledger(held.number), play.given.ledger(held.number, "done") is None) == (None, False)

    return check


@drift("the work is on the trunk and its Issue is open")
async def _(play: Play) -> Brought:
    held = await play.fresh()
    await play.given.settle(play.controller, held.number)
    _merge(play, held)
    return Brought(_landed(play, held), held.number)


def _merge(play: Play, held: Held) -> None:
    pull = held.pull()
    document = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
    play.given.graphql(document, id=pull["node_id"])
    play.given.send("PUT", f"pulls/{pull['number']}/merge")


@drift("the ticket landed by a person's hands and its branch is still there")
async def _(play: Play) -> Brought:
    held = await play.fresh()
    await play.given.settle(play.controller, held.number)
    _merge(play, held)
    play.given.send("PATCH", f"issues/{held.number}", state="closed", state_reason="completed")
    return Brought(_landed(play, held), held.number)


@drift("a PR goes onto a branch that is no trunk")
async def _(play: Play) -> Brought:
    held = await play.held("elsewhere")
    if play.world.head("elsewhere") is None:
        play.given.branch("elsewhere")
    number = held.pull()["number"]
    play.given.send("PATCH", f"pulls/{number}", base="release-1")
    await play.given.settle(play.controller, held.number)
    play.given.send("PATCH", f"pulls/{number}", base="elsewhere")

    def check() -> None:
        # A person's own act: left where they put it.
        assert held.pull()["base"]["ref"] == "elsewhere"

    return Brought(check, held.number)


@drift("a PR's text does not link its Issue")
async def _(play: Play) -> Brought:
    number = play.issue()
    branch = f"{number}-{play.word()}"
    play.given.work(branch)
    pull = play.given.pull(branch, body="Some words of mine.\n")

    def check() -> None:
        body = play.world.get(f"pulls/{pull}")["body"]
        assert body == f"Ticket: #{number}\n\nSome words of mine.\n"

    return Brought(check, number)


@drift("a PR lacks an assignee of its Issue")
async def _(play: Play) -> Brought:
    held = await play.held("assignees")
    login = play.emulator.user(f"dev-{play.word()}")["login"]
    play.emulator.change_repo(REPO, collaborators={"wanda": "write", login: "write"})
    play.given.send("POST", f"issues/{held.number}/assignees", assignees=[login])

    def check() -> None:
        assert login in [person["login"] for person in held.pull()["assignees"]]

    return Brought(check, held.number)


@drift("a PR lacks a label of its Issue")
async def _(play: Play) -> Brought:
    held = await play.held("labels")
    label = f"label-{play.word()}"
    play.given.send("POST", "labels", name=label, color="00ff00", description="x")
    play.given.send("POST", f"issues/{held.number}/labels", labels=[label])

    def check() -> None:
        assert label in [one["name"] for one in held.pull()["labels"]]

    return Brought(check, held.number)


@drift("the board shows another status than the ticket's")
async def _(play: Play) -> Brought:
    held = await play.held("board")
    if held.number not in play.items:
        play.items[held.number] = _put_on_board(play, held.number)
    await held.say("working")
    await play.given.settle(play.controller, held.number)
    assert _status_on_board(play, held.number) == "In Progress"
    await held.say("ready")

    def check() -> None:
        assert _status_on_board(play, held.number) == "In review"

    return Brought(check, held.number, silent=True)


@drift("the board names another target release", APART)
async def _(play: Play) -> Brought:
    # GitHub's lists show no field of a board: without its event a sweep comes upon it when it looks anyway.
    play.unseen_s = EVERY.total_seconds() + 300
    play.given.branch("release-2-0")
    number = play.issue(labelled=False)
    play.items[number] = _put_on_board(play, number)
    _set_on_board(play, number, "Target release", "1")
    play.world.ticket = number
    held = Held(play, play.world.agent(await play.world.claim(play.controller)), number)
    held.push(play.word())
    await play.given.settle(play.controller, number)
    assert held.pull()["base"]["ref"] == "release-1"
    _set_on_board(play, number, "Target release", "2.0")

    async def check() -> None:
        assert held.pull()["base"]["ref"] == "release-2-0"
        view = await play.controller._views.look(*AT, number)
        assert view.record is not None
        assert view.record.trunk == "release-2-0"

    return Brought(check, number)


def _set_on_board(play: Play, number: int, field: str, option: str) -> None:
    """A person sets a field of an Issue's line."""
    found = next(f for f in play.project["fields"] if f["name"] == field)
    chosen = next(o["id"] for o in found["options"] if o["name"] == option)
    document = (
        "mutation($p: ID!, $i: ID!, $f: ID!, $o: String!) { updateProjectV2ItemFieldValue(input: {projectId: $p,"
        " itemId: $i, fieldId: $f, value: {singleSelectOptionId: $o}}) { clientMutationId } }"
    )
    play.given.graphql(document, p=play.project["node_id"], i=play.items[number], f=found["node_id"], o=chosen)


def _put_on_board(play: Play, number: int) -> str:
    document = (
        "mutation($p: ID!, $c: ID!) { addProjectV2ItemById(input: {projectId: $p, contentId: $c}) { item { id } } }"
    )
    issue = play.world.get(f"issues/{number}")["node_id"]
    made = play.given.graphql(document, p=play.project["node_id"], c=issue)
    return str(made["addProjectV2ItemById"]["item"]["id"])


def _status_on_board(play: Play, number: int) -> str | None:
    document = (
        'query($i: ID!) { node(id: $i) { ... on ProjectV2Item { fieldValueByName(name: "Status") {'
        " ... on ProjectV2ItemFieldSingleSelectValue { name } } } } }"
    )
    value = play.given.graphql(document, i=play.items[number])["node"]["fieldValueByName"]
    return str(value["name"]) if value is not None else None


@drift("a predecessor landed, and what is stacked on it still has its branch as base")
async def _(play: Play) -> Brought:
    first, second = play.issue(), play.issue()
    lower, upper = f"{first}-lower", f"{second}-upper"
    play.given.work(lower)
    play.given.blocked_by(second, first)
    play.given.work(upper, of=lower)
    for number in (first, second):
        await play.given.settle(play.controller, number)
    (below,), (above,) = play.given.pulls(lower), play.given.pulls(upper)
    assert above["base"]["ref"] == lower
    document = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
    play.given.graphql(document, id=below["node_id"])
    play.given.send("PUT", f"pulls/{below['number']}/merge")

    def check() -> None:
        pull = play.world.get(f"pulls/{above['number']}")
        assert (pull["base"]["ref"], pull["state"]) == ("release-1", "open")
        assert play.world.head(lower) is None
        assert play.world.get(f"issues/{first}")["state"] == "closed"
        assert play.given.ledger(first) is None

    return Brought(check, first)


@drift("a pull request of nobody has no check", **{"agent_call": NO_AGENT["agent call"]})
async def _(play: Play) -> Brought:
    branch = play.word()
    sha = play.given.work(branch)
    number = play.given.pull(branch)

    def check() -> None:
        assert play.given.verdicts(sha) == [("not-a-ticket", "success")]
        pull = play.world.get(f"pulls/{number}")
        assert (pull["body"] or "", pull["draft"], pull["labels"], pull["comments"]) == ("", False, [], 0)

    return Brought(check, None)


@drift("a release would merge by itself", **{"agent_call": NO_AGENT["agent call"]})
async def _(play: Play) -> Brought:
    queued = _queued_release(play)

    def check() -> None:
        pull = play.world.get(f"pulls/{queued}")
        assert pull["auto_merge"] is None
        # Told once for a head, however often somebody switches it on again; the head moves on with what lands.
        told = [c["body"].partition("\n")[0] for c in play.world.comments(queued, f"order-{queued}-")]
        assert told
        assert len(told) == len(set(told))

    return Brought(check, None)


def _queued_release(play: Play) -> int:
    """The release PR, with auto-merge switched on anew."""
    given, world = play.given, play.world
    found = [p for p in world.get("pulls?state=open&base=main") if p["head"]["ref"] == "release-1"]
    if not found:
        given.commit("release-1", "Released")
        boss = play.emulator.user("boss")
        play.emulator.change_repo(REPO, collaborators={"wanda": "write", "boss": "admin"}, allow_auto_merge=True)
        parameters = {"strict_required_status_checks_policy": False, "required_status_checks": [{"context": "never"}]}
        body = {
            "name": "main",
            "enforcement": "active",
            "target": "branch",
            "conditions": {"ref_name": {"include": ["refs/heads/main"], "exclude": []}},
            "rules": [{"type": "required_status_checks", "parameters": parameters}],
        }
        headers = {"Authorization": f"Bearer {boss['token']}"}
        world.http.post(f"/repos/{REPO}/rulesets", json=body, headers=headers).raise_for_status()
        given.pull("release-1", "main")
        found = world.get("pulls?state=open&base=main")
    node = found[0]["node_id"]
    if world.get(f"pulls/{found[0]['number']}")["auto_merge"] is not None:
        off = "mutation($id: ID!) { disablePullRequestAutoMerge(input: {pullRequestId: $id}) { clientMutationId } }"
        given.graphql(off, id=node)
    # Two clicks in one second would be one.
    play.emulator.advance(2)
    on = "mutation($id: ID!) { enablePullRequestAutoMerge(input: {pullRequestId: $id}) { clientMutationId } }"
    given.graphql(on, id=node)
    return int(found[0]["number"])


@dataclass
class Played:
    """How each drift stood after one trigger (None: as it must), and what a second round wrote."""

    faults: dict[str, str | None]
    second_round: list[str]


def _shown(fault: Exception) -> str:
    return "".join(traceback.format_exception(fault))


async def play_all(play: Play, trigger: str, rows: list[Drift] = ROWS) -> Played:
    """Bring every drift about, let the trigger come, look at each, and look again."""
    await play.begin(trigger)
    brought: dict[str, Brought] = {}
    faults: dict[str, str | None] = {}
    for row in rows:
        if trigger in row.never_by:
            continue
        try:
            brought[row.name] = await row.bring(play)
        except Exception as fault:
            faults[row.name] = _shown(fault)
    await play.fire(trigger, list(brought.values()))
    for name, one in brought.items():
        try:
            found = one.check()
            if asyncio.iscoroutine(found):
                await found
        except (AssertionError, ValueError, httpx.HTTPStatusError) as fault:
            faults[name] = _shown(fault)
        else:
            faults[name] = None
    await play.hear()
    before = play.world.requested()
    play.controller = play.world.controller()
    if trigger == "agent call":
        # Nobody looked at what no agent asked about.
        await play.fire(trigger, list(brought.values()))
    else:
        await play.fire("restart", [])
        await play.world.pokes.poke(str(RepositoryKey(REPO)))
        await play.drain()
    return Played(faults, play.world.writes(before))
