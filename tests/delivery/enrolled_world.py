"""Issues, branches and PRs as people make them, around the loop's world: nobody claims anything here."""

from typing import Any

from loop_world import REPO, LoopWorld

from app.controller.controller import Controller
from app.controller.turn import Ended
from app.domain.keys import TicketKey

POLICY_FILE = ".github/agent-recovery.yml"
LABEL = "agent"
POLICY = f"version: 1\nmode: repair\ntrunks: [release-*]\nenroll:\n  label: {LABEL}\n"


class Enrolled:
    """Helps of one test; `world` has the repository, its trunk `release-1` and the App."""

    def __init__(self, world: LoopWorld, policy: str | None = POLICY) -> None:
        self.world = world
        self.emulator = world.emulator
        self.policy(policy)

    def policy(self, text: str | None) -> None:
        """Put this policy on the default branch; None deletes it."""
        self.emulator.commit(REPO, {POLICY_FILE: text}, branch="main")

    def issue(self, title: str = "Ripen the pears", *, labelled: bool = True, **fields: Any) -> int:
        labels = [LABEL] if labelled else []
        return int(self.emulator.issue(REPO, title, author="wanda", labels=labels, **fields)["number"])

    def branch(self, name: str, of: str = "release-1") -> str:
        """A new branch at another one's head."""
        sha = self.world.head(of)
        self.send("POST", "git/refs", ref=f"refs/heads/{name}", sha=sha)
        return str(sha)

    def commit(self, branch: str, message: str = "Work", **files: str) -> str:
        """A commit on a branch by wanda."""
        named = files or {f"{branch.replace('/', '-')}.txt": message}
        return self.emulator.commit(REPO, named, branch=branch, author="wanda", message=message)

    def work(self, name: str, of: str = "release-1", message: str = "Work") -> str:
        """A new branch with one commit of its own; its head."""
        self.branch(name, of)
        return self.commit(name, message)

    def pull(self, head: str, base: str = "release-1", body: str = "", **fields: Any) -> int:
        made = self.send("POST", "pulls", title="By hand", head=head, base=base, body=body, **fields)
        return int(made["number"])

    def pulls(self, head: str, state: str = "all") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.world.get(f"pulls?state={state}&head=acme:{head}")
        return found

    def send(self, method: str, path: str, **fields: Any) -> Any:
        answer = self.world.http.request(method, f"/repos/{REPO}/{path}", json=fields)
        return answer.raise_for_status().json() if answer.content else None

    def graphql(self, document: str, **variables: Any) -> Any:
        answer = self.world.http.post("/graphql", json={"query": document, "variables": variables}).json()
        assert "errors" not in answer, answer
        return answer["data"]

    def link(self, issue: int, branch: str, at: str) -> None:
        """Create a branch that is linked to an Issue, as GitHub's `Create a branch` does."""
        node = self.world.get(f"issues/{issue}")["node_id"]
        document = (
            "mutation($issue: ID!, $oid: GitObjectID!, $name: String!) {"
            " createLinkedBranch(input: {issueId: $issue, oid: $oid, name: $name}) { clientMutationId } }"
        )
        self.graphql(document, issue=node, oid=at, name=branch)

    def blocked_by(self, issue: int, blocker: int) -> None:
        nodes = [self.world.get(f"issues/{number}")["node_id"] for number in (issue, blocker)]
        document = (
            "mutation($issue: ID!, $blocker: ID!) {"
            " addBlockedBy(input: {issueId: $issue, blockingIssueId: $blocker}) { clientMutationId } }"
        )
        self.graphql(document, issue=nodes[0], blocker=nodes[1])

    async def settle(self, controller: Controller, number: int, turns: int = 6) -> Ended:
        """Run a number's round until it asks for no other look; the last one's end."""
        for _ in range(turns):
            ended = await controller.round(TicketKey(REPO, number))
            if ended.again_at is None:
                break
        return ended

    def ledger(self, number: int, place: str = "active") -> str | None:
        found = self.world.get(f"git/matching-refs/agent-recovery/{place}/{number}")
        exact = [r["object"]["sha"] for r in found if r["ref"].endswith(f"/{number}")]
        return exact[0] if exact else None

    def verdicts(self, sha: str) -> list[tuple[str, str | None]]:
        """What our check-runs on a commit say: external id's ticket and generation, conclusion."""
        return [(":".join(r["external_id"].split(":")[:2]), r["conclusion"]) for r in self.world.check_runs(sha)]
