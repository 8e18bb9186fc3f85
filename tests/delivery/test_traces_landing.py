"""A merge at GitHub's door, and somebody's word that comes at the same time: the answer to that word is the truth, in
whatever order GitHub carries them out, whoever dies and whatever answer is lost in between.
"""

from dataclasses import replace

import pytest
from door_world import WORDS, Door, Killed, Say, at_the_door, unhold
from landing_world import AT, Landing
from loop_world import REPO, LoopWorld, claims_of

from app.controller.fencing_off import WAITS_S
from app.domain.agent_api import ClaimRequest, EvidenceRequest, HeartbeatRequest
from app.domain.child_api import SpawnRequest, Task
from app.domain.outcome import Code, Refused
from app.domain.record import Record
from app.domain.ticket_id import Child
from app.github.merged_pulls import MergedPulls, PullNow
from app.ledger.git_outcomes import FencedOut, OnHold, Pushed, Withdrawn

LEASE_OVER_S = 17 * 60
PERMIT_OVER_S = 61
NOBODY_KNOWS = ("landing_unresolved", "unknown_outcome", "unavailable")
AFTERWARDS = {
    "hold": ("held", "active", "release-1"),
    "cancel": ("cancelled", "done", "release-1"),
    "takeover": ("unclaimed", "active", "release-1"),
    "retarget": ("landed", "done", "release-2"),
    "claim": ("recovering", "active", "release-1"),
}
"""Status, place and the PR's base once a word was carried out, and the loop went on."""


async def _ready_for(word: str, world: LoopWorld) -> tuple[Landing, Door, str]:
    ticket, door, sha = await at_the_door(world)
    if word == "claim":
        world.emulator.advance(LEASE_OVER_S)
    return ticket, door, sha


async def _is_the_truth(ticket: Landing, door: Door, sha: str, word: str, answer: str) -> Record:
    """Everything that waits comes now, and the loop goes on: then what was answered must be what is."""
    await door.go_through()
    await ticket.settle(ticket.world.controller())
    pull, record = ticket.pull(), await ticket.record()
    assert record.open == ()
    if answer == "landed":
        assert (pull["merged"], pull["base"]["ref"]) == (True, "release-1")
        assert (record.status, ticket.place(), ticket.issue()) == ("landed", "done", ("closed", "completed"))
        return record
    assert answer == "done"
    assert door.status in (None, 409)
    assert sha in record.burned_shas
    assert record.published is not None
    assert record.published.sha not in record.burned_shas
    assert (record.status, ticket.place(), pull["base"]["ref"]) == AFTERWARDS[word]
    assert pull["merged"] is (word == "retarget")
    return record


async def _answered(ticket: Landing, say: Say) -> str:
    """The answer to a word that is said again while nobody can say yet."""
    answer = "unavailable"
    for _ in range(4):
        answer = await say(ticket.controller)
        if answer not in NOBODY_KNOWS:
            break
    return answer


@pytest.mark.parametrize(
    ("word", "moment"),
    [
        *((word, moment) for word in WORDS for moment in ("at the update", "after the update")),
        *((word, "before") for word in ("hold", "claim")),
        *((word, "after the answer") for word in ("cancel", "takeover")),
    ],
)
async def test_a_merge_at_the_door_and_a_word(world: LoopWorld, word: str, moment: str) -> None:
    """Trace: PUT merge at the door, takeover, hold, cancel, retarget or claim acknowledged, then the merge arrives."""
    ticket, door, sha = await _ready_for(word, world)
    door.moment = moment
    if moment == "before":
        await door.go_through()
    answer = await WORDS[word]()(ticket.controller)
    assert answer == ("landed" if moment in ("before", "at the update") else "done")
    await _is_the_truth(ticket, door, sha, word, answer)


@pytest.mark.parametrize(
    ("word", "befalls", "moment"),
    [
        ("hold", "killed after", "at the update"),
        ("hold", "cut after", "after the update"),
        ("cancel", "killed before", "at the update"),
        ("cancel", "killed after", "after the update"),
        ("claim", "killed after", "at the update"),
        ("claim", "cut after", "after the update"),
        ("retarget", "killed after", "at the update"),
        ("takeover", "killed after", "after the update"),
    ],
)
async def test_a_merge_at_the_door_and_a_word_whose_answer_is_lost(
    world: LoopWorld, word: str, befalls: str, moment: str
) -> None:
    """The same where the process dies right before or after the update, or GitHub's answer to it is lost: the word is
    said again, and answered with the truth.
    """
    ticket, door, sha = await _ready_for(word, world)
    door.moment, door.on_update = moment, befalls
    say = WORDS[word]()
    try:
        answer = await _answered(ticket, say)
        assert befalls == "cut after"
    except Killed:
        ticket.controller = world.controller(transport=door)
        answer = await _answered(ticket, say)
    await _is_the_truth(ticket, door, sha, word, answer)


@pytest.mark.parametrize("base", ["release-2", "feature"])
@pytest.mark.parametrize("first", ["merge", "edit"])
async def test_a_merge_at_the_door_and_a_person_who_edits_the_base(world: LoopWorld, base: str, first: str) -> None:
    """Trace: base edited between permit and merge. A merge names no base: what came into another one than was meant is
    an incident and a hold; what did not come is withdrawn, and the ticket follows the person to another trunk.
    """
    ticket, door, sha = await at_the_door(world)
    world.emulator.commit(REPO, {"x": "y"}, branch="feature")
    number = ticket.pull()["number"]
    ticket.patch(f"pulls/{number}", base=base)
    if first == "edit":
        ticket.pull()  # whoever looks has GitHub compute anew whether it can be merged
        await door.go_through()
    world.emulator.advance(PERMIT_OVER_S)
    await ticket.settle(world.controller(), rounds=6)
    await door.go_through()
    await ticket.settle(world.controller(), rounds=6)
    pull, record = ticket.pull(), await ticket.record()
    if first == "edit":
        assert (pull["merged"], pull["base"]["ref"]) == (True, base)
        assert (
            record.landing.incident == f"PR #{number} was merged into {base}, though it was to be merged into release-1"
        )
        assert (record.status, ticket.place(), ticket.issue()) == ("held", "active", ("open", None))
        return
    assert door.status in (405, 409)
    assert sha in record.burned_shas
    assert pull["base"]["ref"] == base
    landed = base == "release-2"
    assert (pull["merged"], record.trunk) == (landed, "release-2" if landed else "release-1")
    assert ticket.place() == ("done" if landed else "active")


async def test_a_holder_goes_on_after_a_hold_that_withdrew_its_head(world: LoopWorld) -> None:
    """While the ticket is on hold its holder is told so, by the heartbeat, the service and git alone; its lease stands.
    Off hold it takes the fence commit into its work, and that lands.
    """
    ticket, door, sha = await at_the_door(world)
    assert await WORDS["hold"]()(ticket.controller) == "done"
    await door.go_through()
    claims = claims_of(ticket.agent.grant)
    with pytest.raises(Refused) as told:
        await ticket.controller.heartbeat(*AT, 1, claims, HeartbeatRequest())
    assert (told.value.blocked.code, told.value.blocked.retryable) == (Code.HELD, True)
    assert "wanda put the ticket on hold" in told.value.blocked.reason
    with pytest.raises(Refused, match="wanda put the ticket on hold"):
        await ticket.say("working")
    work = ticket.agent.work("two")
    assert isinstance(ticket.agent.push_commit(work, "two"), OnHold)
    world.emulator.advance(3600)
    assert await unhold()(ticket.controller) == "done"
    assert (await ticket.record()).status == "ready"
    withdrawn = ticket.agent.push_commit(work, "two")
    assert isinstance(withdrawn, Withdrawn)
    assert withdrawn.on == sha
    joined = ticket.agent.ledger.past_fence(work, withdrawn)
    assert isinstance(ticket.agent.push_commit(joined, "two"), Pushed)
    await ticket.say("ready")
    await ticket.settle()
    assert (ticket.pull()["merged"], ticket.pull()["head"]["sha"], ticket.place()) == (True, joined, "done")


async def test_a_successor_starts_from_the_fence_commit_and_its_evidence_takes_it_over(world: LoopWorld) -> None:
    ticket, door, sha = await at_the_door(world)
    world.emulator.advance(LEASE_OVER_S)
    request = ClaimRequest(claim_id="second-claim", observed_generation=1, holder="second agent")
    grant = await ticket.controller.claim(*AT, 1, request, "wanda")
    await door.go_through()
    assert grant.head_sha == grant.published_sha == world.head(ticket.branch)
    assert grant.head_sha != sha
    await ticket.settle()
    assert not ticket.pull()["merged"]
    evidence = EvidenceRequest(key="evidence-2", seq=1, head_sha=grant.head_sha, clean=True)
    await ticket.controller.evidence(*AT, 1, claims_of(grant), evidence)
    record = await ticket.record()
    assert record.published_now is not None
    assert record.published_now.sha == grant.head_sha
    ticket.agent = world.agent(grant)
    await ticket.say("ready")
    await ticket.settle()
    assert (ticket.pull()["merged"], ticket.place()) == (True, "done")


async def test_a_word_is_not_answered_while_github_shows_the_withdrawn_head(
    world: LoopWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait is bounded, and whoever asks again waits again: the record alone is no answer."""
    ticket, door, sha = await at_the_door(world)
    say, waited, behind = WORDS["hold"](), [], True
    read = MergedPulls.pull_now

    async def lagging(self: MergedPulls, number: int) -> PullNow:
        shown = await read(self, number)
        return replace(shown, head_sha=sha) if behind else shown

    async def no_time(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(MergedPulls, "pull_now", lagging)
    monkeypatch.setattr(ticket.controller._commands._fencing, "_sleep", no_time)
    assert [await say(ticket.controller) for _ in range(2)] == ["landing_unresolved", "landing_unresolved"]
    assert waited == [*WAITS_S, *WAITS_S]
    behind = False
    assert await say(ticket.controller) == "done"
    await _is_the_truth(ticket, door, sha, "hold", "done")


async def test_a_branch_that_may_not_be_moved_leaves_the_landing_unresolved_and_a_person_is_told_once(
    world: LoopWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written without the fence commit; once the branch may move again the same word passes."""
    ticket, door, sha = await at_the_door(world)

    async def no_time(seconds: float) -> None:
        return None

    monkeypatch.setattr("app.ledger.moving.Mover._pause", lambda self, number: no_time(number))
    boss = world.emulator.user("boss")["token"]
    world.emulator.change_repo(REPO, collaborators={"wanda": "write", "boss": "admin"})
    rule = {"name": "no pushes", "target": "branch", "enforcement": "active", "rules": [{"type": "update"}]}
    rule["conditions"] = {"ref_name": {"include": [f"refs/heads/{ticket.branch}"], "exclude": []}}
    headers = {"Authorization": f"Bearer {boss}"}
    made = world.http.post(f"/repos/{REPO}/rulesets", json=rule, headers=headers).raise_for_status().json()["id"]
    say, before = WORDS["cancel"](), world.ledger()
    assert [await say(ticket.controller) for _ in range(2)] == ["landing_unresolved", "landing_unresolved"]
    assert world.ledger() == before
    number = ticket.pull()["number"]
    (told,) = world.comments(number, "unfenced-")
    assert sha in told["body"]
    world.http.delete(f"/repos/{REPO}/rulesets/{made}", headers=headers).raise_for_status()
    assert await say(ticket.controller) == "done"
    await _is_the_truth(ticket, door, sha, "cancel", "done")


async def test_a_cancelled_ticket_is_claimed_by_nobody_and_its_children_end_with_it(world: LoopWorld) -> None:
    """Trace: claim on a cancelled ticket. The command is answered again by its id, without another write."""
    ticket = await Landing.begun(world)
    task = Task(objective="Write the docs")
    spawn = SpawnRequest(key="spawn-docs", seq=900, name="docs-1", task=task)
    await ticket.controller.spawn(*AT, 1, claims_of(ticket.agent.grant), spawn)
    say = WORDS["cancel"]()
    assert await say(ticket.controller) == "done"
    since = world.requested()
    assert await say(world.controller()) == "done"
    assert world.writes(since) == []
    assert await WORDS["claim"]()(ticket.controller) == "ended"
    assert isinstance(ticket.agent.push("two"), FencedOut)
    child = (await ticket.controller._views.look(*AT, Child(1, "docs-1"))).standing
    assert child is not None
    assert (child.place, child.record.status) == ("done", "cancelled")
    assert world.get("git/matching-refs/agent-recovery/active/") == []
    assert (ticket.pull()["state"], ticket.issue()) == ("open", ("open", None))


async def test_a_branch_taken_back_to_a_head_that_was_withdrawn_is_moved_off_it_at_once(world: LoopWorld) -> None:
    """A stranger pushed while the merge waited, so the fence commit stands above their commit; then the branch is taken
    back to the very head that the merge names.
    """
    ticket, door, sha = await at_the_door(world)
    world.emulator.commit(REPO, {"foreign.txt": "x"}, branch=ticket.branch, author="wanda")
    say = WORDS["hold"]()
    assert await _answered(ticket, say) == "done"
    record = await ticket.record()
    assert record.fence is not None
    assert (record.fence.on != sha, sha in record.burned_shas) == (True, True)
    body = {"sha": sha, "force": True}
    world.http.patch(f"/repos/{REPO}/git/refs/heads/{ticket.branch}", json=body).raise_for_status()
    await ticket.settle(world.controller())
    assert world.head(ticket.branch) == record.fence.sha
    await door.go_through()
    assert (door.status, ticket.pull()["merged"]) == (409, False)
    since = world.requested()
    await ticket.settle(world.controller())
    assert world.writes(since) == []
    assert world.get("git/matching-refs/agent-recovery/recovered/") == []


async def test_a_word_that_is_repeated_after_a_later_landing_gets_its_own_answer(world: LoopWorld) -> None:
    """The hold came first and was carried out; that the ticket landed after it was taken off hold changes nothing."""
    ticket, door, sha = await at_the_door(world)
    say = WORDS["hold"]()
    assert await _answered(ticket, say) == "done"
    await door.go_through()
    assert await unhold()(ticket.controller) == "done"
    await ticket.settle(world.controller())
    if not ticket.pull()["merged"]:
        await ticket.say("ready")
        await ticket.settle(world.controller())
    record = await ticket.record()
    assert (ticket.pull()["merged"], record.status, sha in record.burned_shas) == (True, "landed", True)
    assert await say(world.controller()) == "done"
