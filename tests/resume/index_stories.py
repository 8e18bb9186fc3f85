"""Short lives of tickets that together go every way on which the code writes a ledger.

Each step says which operation it is and where the ledger has to be afterwards. Agents and people repeat what got no
answer, so that the same stories are played with processes that die in the middle of any step.
"""

import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from loop_world import REPO, LoopWorld, claims_of
from plain_push import branch_ref
from sqlalchemy.exc import OperationalError

from app.controller.person_commands import VerbName, Word
from app.domain import effect_decision, person_verbs
from app.domain.agent_api import HandoffRequest, HeartbeatRequest
from app.domain.child_api import NamedChildRequest, RespawnRequest, ResultRequest
from app.domain.effect import Kind
from app.domain.effect_api import EffectIntent
from app.domain.keys import TicketKey
from app.domain.outcome import Refused
from app.domain.ticket_id import Child, TicketId
from app.github.errors import GitHubError
from tests.crash import MAX_ROUNDS, Disturber, Play
from tests.crash_stories import (
    AT,
    RETAINED_S,
    carry_out,
    claim,
    integrate,
    next_number,
    published,
    published_in_full,
    push,
    push_plainly,
    save,
    spawn,
    validate,
)

POLICY_FILE = ".github/agent-recovery.yml"
LEASE_OVER_S = 17 * 60
MERGE = {"method": "PUT", "path_regex": "/merge$"}
NEVER = 100_000
BORN = "both"
"""Where a ledger stands that was born and that nobody claimed yet: it is in progress from its first claim on."""


class IndexPlay(Play):
    """A play that knows which operation it is in, and where ledgers have to lie after it."""

    def __init__(self, world: LoopWorld, disturber: Disturber) -> None:
        self.carried: list[str] = []
        self.misplaced: list[str] = []
        super().__init__(world, disturber)

    async def does(
        self, operation: str, deed: Awaitable[Any], place: str = "active", ticket: TicketId | None = None
    ) -> Any:
        """Carry an operation out; afterwards the ledger lies there, and nowhere else."""
        done = await deed
        self.carried.append(operation)
        found = self.places(self.world.ticket if ticket is None else ticket)
        if found != ({"active", "done"} if place == BORN else {place}):
            self.misplaced.append(f"{operation}: {sorted(found)} instead of {place}")
        return done

    def places(self, ticket: TicketId) -> set[str]:
        """Where ledgers of a ticket lie."""
        found = set()
        for place in ("active", "done"):
            refs = self.world.get(f"git/matching-refs/agent-recovery/{place}/{ticket}")
            if any(ref["ref"] == f"refs/agent-recovery/{place}/{ticket}" for ref in refs):
                found.add(place)
        return found

    async def word(self, verb: VerbName, rule: person_verbs.Verb, branch: str | None = None) -> None:
        """What a person says."""
        word = Word(id=secrets.token_hex(6), verb=verb, by="wanda", rule=rule, branch=branch)
        await self.call(lambda c: c.hear(*AT, self.world.ticket, word))


# ---- a ticket at work


async def at_work(play: IndexPlay) -> None:
    """Claimed, worked on in every way a holder has, handed off."""
    play.begin()
    agent = await play.does("birth, claim, evidence", claim(play, "claim-first"))
    await play.does("push by git", push(play, agent, "one"))
    await play.does("permits opened and settled", play.settle())
    await play.does("push through the git endpoint", push_plainly(play, agent, "two"))
    await play.does("checkpoint, validation", _saved(play, agent))
    await play.does("effect", carry_out(play, agent, "tag-first"))
    await play.does("effect denied", _denied(play, agent))
    await play.does("renewal", _renewed(play, agent))
    await play.does("what was put onto the PR is noted", _assigned(play))
    await play.does("handoff", _handed_off(play, agent))
    await play.does("claim after a handoff", claim(play, "claim-second", 1))


async def _saved(play: IndexPlay, agent: Any) -> None:
    await save(play, agent)
    await validate(play, agent, play.world.head(agent.grant.branch) or "")


async def _denied(play: IndexPlay, agent: Any) -> None:
    intent = EffectIntent(key="intend-mail", seq=next_number(agent), effect="mail", kind=Kind.NOTIFY)
    await play.call(lambda c: c.intend_effect(*AT, play.world.ticket, claims_of(agent.grant), intent))
    decision = partial(effect_decision.denied, key="mail", by="wanda")
    await play.call(lambda c: c.decide_effect(*AT, play.world.ticket, "effect denied", decision))


async def _renewed(play: IndexPlay, agent: Any) -> None:
    play.world.emulator.advance(9 * 60)
    await play.call(lambda c: c.heartbeat(*AT, play.world.ticket, claims_of(agent.grant), HeartbeatRequest()))
    await play.settle()


async def _assigned(play: IndexPlay) -> None:
    play.world.http.post(
        f"/repos/{REPO}/issues/{play.world.ticket}/assignees", json={"assignees": ["wanda"]}
    ).raise_for_status()
    await play.settle()


async def _handed_off(play: IndexPlay, agent: Any) -> None:
    request = HandoffRequest(key="handoff-1", seq=next_number(agent))
    await play.call(lambda c: c.handoff(*AT, play.world.ticket, claims_of(agent.grant), request))


async def words(play: IndexPlay) -> None:
    """What people say, up to the end of the ticket and back."""
    agent = await published(play)
    play.world.emulator.commit(REPO, {"x": "y"}, branch="release-2")
    play.begin()
    await play.does("hold", play.word("hold", partial(person_verbs.hold, by="wanda", reason=None)))
    await play.does("unhold", play.word("unhold", partial(person_verbs.unhold, by="wanda")))
    await play.does("accept", _accepted(play, agent))
    to = partial(person_verbs.retarget, by="wanda", to="release-2")
    await play.does("retarget", play.word("retarget", to, "release-2"))
    await play.does("takeover", play.word("takeover", partial(person_verbs.takeover, by="wanda")))
    await play.does("claim after a takeover", claim(play, "claim-second", 2))
    play.world.emulator.advance(LEASE_OVER_S)
    await play.does("recover", play.word("recover", partial(person_verbs.recover, by="wanda")))
    cancel = partial(person_verbs.cancel, by="wanda", reason=None)
    await play.does("cancel", play.word("cancel", cancel), "done")
    await play.does("bring back", play.word("recover", partial(person_verbs.recover, by="wanda")), "done")
    await play.does("return", claim(play, "claim-third", 3))


async def _accepted(play: IndexPlay, agent: Any) -> None:
    foreign = play.world.emulator.commit(REPO, {"foreign.txt": "x"}, branch=agent.grant.branch, author="wanda")
    await play.settle()
    await play.word("accept", partial(person_verbs.accept, by="wanda", sha=foreign))


# ---- children


async def family(play: IndexPlay) -> None:
    """Children: spawned, completed, integrated, cancelled, asked for anew, and ended with their parent."""
    parent = await published(play)
    docs, code, tests = (Child(play.world.ticket, name) for name in ("docs", "code", "tests"))
    play.begin()
    await play.does("spawn", spawn(play, parent, "docs"), BORN, ticket=docs)
    worker = await play.does("claim of a child", claim(play, "claim-docs", ticket=docs), ticket=docs)
    await push(play, worker, "chapter")
    await play.does("result", complete(play, worker), ticket=docs)
    await play.settle()
    await play.does("integration", integrate(play, parent, "docs"))
    await spawn(play, parent, "code")
    await play.does("cancel of a child", _child_cancelled(play, parent), "done", ticket=code)
    await spawn(play, parent, "tests")
    tester = await claim(play, "claim-tests", ticket=tests)
    await complete(play, tester, "failed")
    anew = RespawnRequest(key="respawn-tests-1", seq=next_number(parent), name="tests")
    again = play.call(lambda c: c.respawn(*AT, play.world.ticket, claims_of(parent.grant), anew))
    await play.does("respawn", again, ticket=tests)
    cancel = partial(person_verbs.cancel, by="wanda", reason=None)
    await play.does("cancel with children", play.word("cancel", cancel), "done")
    if play.places(docs) != {"done"} or play.places(tests) != {"done"}:
        play.misplaced.append("a child goes on without its parent")


async def complete(play: IndexPlay, worker: Any, outcome: str = "completed") -> None:
    """Give a child's result."""
    told = ResultRequest(key=f"result-{outcome}", seq=next_number(worker), outcome=outcome, summary="It is written.")
    await play.call(lambda c: c.result(*AT, worker.grant.ticket, claims_of(worker.grant), told))


async def _child_cancelled(play: IndexPlay, parent: Any) -> None:
    request = NamedChildRequest(key="cancel-code-1", seq=next_number(parent), name="code")
    await play.call(lambda c: c.cancel_child(*AT, play.world.ticket, claims_of(parent.grant), request))


# ---- what others do to it


async def disturbed(play: IndexPlay) -> None:
    """The branch is deleted, a permit's author dies, a claim is asked again, the ledger goes away."""
    agent = await published(play)
    play.begin()
    await play.does("restore", _restored(play, agent))
    await play.does("reopening refused", _not_reopened(play, agent))
    await play.does("adoption of permits", _adopted(play, agent))
    play.world.emulator.advance(LEASE_OVER_S)
    await play.does("the same claim again", _claimed_unheard(play))


async def _restored(play: IndexPlay, agent: Any) -> None:
    play.world.git(agent.folder, "push", "-q", "origin", f":{branch_ref(agent)}")
    await play.settle()


async def _not_reopened(play: IndexPlay, agent: Any) -> None:
    refusal = {"message": "Validation Failed", "errors": [{"message": "state cannot be changed."}]}
    match = {"method": "PATCH", "path_regex": "/pulls/[0-9]+$"}
    play.world.emulator.fault("status", match=match, code=422, body=refusal, times=1)
    play.world.git(agent.folder, "push", "-q", "origin", f":{branch_ref(agent)}")
    await play.settle()


async def _adopted(play: IndexPlay, agent: Any) -> None:
    match = {"method": "POST", "path_regex": "/check-runs$"}
    play.world.emulator.fault("drop_after", match=match, times=1)
    await push(play, agent, "two")
    await play.settle()


async def _claimed_unheard(play: IndexPlay) -> None:
    match = {"method": "POST", "path_regex": "/check-runs$"}
    play.world.emulator.fault("drop_before", match=match, times=1)
    await claim(play, "claim-second", 1)


async def rebuilt(play: IndexPlay) -> None:
    """Somebody deletes the ledger, and a person has it begun anew."""
    agent = await published(play)
    play.begin()
    if play.disturber.index is not None:
        play.disturber.index.losing = True
    play.world.git(agent.folder, "push", "-q", "origin", f":{agent.grant.ledger_ref}")
    await play.settle()
    await play.does("rebuild", _begun_anew(play))
    await play.does("claim after a rebuild", claim(play, "claim-second", 2))


async def _begun_anew(play: IndexPlay) -> None:
    try:
        await play.call(lambda c: c.rebuild(*AT, play.world.ticket, by="wanda"))
    except Refused as refused:
        # Whoever did not hear that it was done, and asks again, is told that the ledger is sound.
        if "sound" not in refused.blocked.reason:
            raise


async def passive(play: IndexPlay) -> None:
    """Work that nobody claimed is taken in, and its branch moves."""
    text = "version: 1\nmode: repair\ntrunks: [release-*]\nenroll: {label: agent}\n"
    world = play.world
    world.emulator.commit(REPO, {POLICY_FILE: text}, branch="main")
    world.http.post(f"/repos/{REPO}/issues/{world.ticket}/labels", json={"labels": ["agent"]}).raise_for_status()
    body = {"ref": f"refs/heads/ticket/{world.ticket}", "sha": world.head("release-1")}
    world.http.post(f"/repos/{REPO}/git/refs", json=body).raise_for_status()
    world.emulator.commit(REPO, {"work.txt": "x"}, branch=f"ticket/{world.ticket}", author="wanda")
    play.begin()
    await play.does("enrolment", play.settle())


# ---- ends


async def landing(play: IndexPlay) -> None:
    """Ready, merged, landed; its Issue opened again by a person; pruned in the end."""
    agent = await published_in_full(play, "none")
    play.begin()
    await play.does("ready, land, landing's end", _lands(play, agent), "done")
    play.world.emulator.advance(RETAINED_S)
    await play.does("prune", play.settle(), "done")


async def _lands(play: IndexPlay, agent: Any) -> None:
    await save(play, agent, "ready")
    await play.settle()


async def landed_by_hand(play: IndexPlay) -> None:
    """A person merges while another PR needs the branch, so it goes later."""
    await published_in_full(play, "none")
    world, (pull,) = play.world, play.world.get("pulls")
    sha = world.head("release-1")
    world.http.post(f"/repos/{REPO}/git/refs", json={"ref": "refs/heads/other", "sha": sha}).raise_for_status()
    world.emulator.commit(REPO, {"other.txt": "x"}, branch="other", author="wanda")
    fields = {"title": "By hand", "head": "other", "base": pull["head"]["ref"]}
    other = world.http.post(f"/repos/{REPO}/pulls", json=fields).raise_for_status().json()
    _merge_by_hand(play)
    play.begin()
    await play.does("merge by a person", play.settle(), "done")
    world.http.patch(f"/repos/{REPO}/pulls/{other['number']}", json={"base": "release-1"}).raise_for_status()
    await play.does("the branch goes later", play.settle(), "done")


async def withdrawn(play: IndexPlay) -> None:
    """A merge is at the door when what it needs is gone, and when a person holds the ticket."""
    agent = await published_in_full(play, "[ci]")
    play.world.emulator.fault("late", match=MERGE, after=NEVER, times=50)
    play.begin()
    await save(play, agent, "ready")
    await _status(play, agent, "success")
    await _until(play, lambda: _merges_sent(play) > 0)
    await _status(play, agent, "failure")
    play.world.emulator.advance(120)
    published_ = play.world.head(agent.grant.branch)
    withdrawn_ = _until(play, lambda: play.world.head(agent.grant.branch) != published_)
    await play.does("fence commit of the loop", withdrawn_)
    before = _merges_sent(play)
    await _status(play, agent, "success")
    await _until(play, lambda: _merges_sent(play) > before)
    hold = partial(person_verbs.hold, by="wanda", reason=None)
    await play.does("fence commit of a word", play.word("hold", hold))


def _merges_sent(play: IndexPlay) -> int:
    seen = play.world.emulator.requests()
    return sum(r["method"] == "PUT" and str(r["path"]).endswith("/merge") for r in seen)


async def _until(play: IndexPlay, holds: Callable[[], bool]) -> None:
    """Rounds of the ticket, until something holds."""
    for _ in range(MAX_ROUNDS):
        if holds():
            return
        with suppress(GitHubError, OperationalError):
            await play.call(lambda c: c.round(TicketKey(REPO, play.world.ticket)))
        play.world.emulator.advance(6)
    raise AssertionError(f"it never came to that after {play.carried[-2:]}")


async def _status(play: IndexPlay, agent: Any, state: str) -> None:
    path = f"/repos/{REPO}/statuses/{play.world.head(agent.grant.branch)}"
    play.world.http.post(path, json={"state": state, "context": "ci"}).raise_for_status()


async def closed(play: IndexPlay) -> None:
    """A person closes the Issue while a PR is on its way, which comes after the end."""
    agent = await claim(play, "claim-first")
    play.world.emulator.fault("late", match={"method": "POST", "path_regex": "/pulls$"}, after=40, times=1)
    agent.push("one")
    await play.call(lambda c: c.round(TicketKey(REPO, play.world.ticket)))
    play.begin()
    _issue(play, "closed")
    await play.does("the Issue is closed", play.settle(), "done")
    for _ in range(41):
        play.world.head("main")
    await play.does("a PR comes late", play.settle(), "done")


async def landed_after_cancel(play: IndexPlay) -> None:
    """A person cancels, and another one merges all the same."""
    await published_in_full(play, "none")
    play.begin()
    cancel = partial(person_verbs.cancel, by="wanda", reason=None)
    await play.word("cancel", cancel)
    _merge_by_hand(play)
    await play.does("landed after cancel, Issue closed", play.settle(), "done")


def _merge_by_hand(play: IndexPlay) -> None:
    world, (pull,) = play.world, play.world.get("pulls?base=release-1")
    query = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
    world.http.post("/graphql", json={"query": query, "variables": {"id": pull["node_id"]}}).raise_for_status()
    world.http.put(f"/repos/{REPO}/pulls/{pull['number']}/merge", json={}).raise_for_status()


def _issue(play: IndexPlay, state: str) -> None:
    body = {"state": state, **({"state_reason": "not_planned"} if state == "closed" else {})}
    play.world.http.patch(f"/repos/{REPO}/issues/{play.world.ticket}", json=body).raise_for_status()


STORIES: dict[str, Callable[[IndexPlay], Awaitable[None]]] = {
    story.__name__: story
    for story in (
        at_work,
        words,
        family,
        disturbed,
        rebuilt,
        passive,
        landing,
        landed_by_hand,
        withdrawn,
        closed,
        landed_after_cancel,
    )
}
