"""Cancel clears the marker for good: however a person cancelled a ticket, only a person's recover revives it.

Each way of cancelling is tried against each thing that might bring the ticket back.
"""

import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from loop_world import REPO, Agent, claims_of
from resume_world import AT, LEASE_OVER_S, ResumeWorld, drain
from spoken_world import Replica

from app.controller.journal import Journaled
from app.controller.person_commands import Word
from app.domain import attempt
from app.domain.agent_api import CheckpointRequest, Grant
from app.domain.child_api import SpawnRequest, Task
from app.domain.dispatched import Run
from app.domain.effect_api import EffectDispatch, EffectIntent
from app.domain.keys import TicketKey
from app.domain.outcome import Blocked, Code, Exit, Refused, exit_code
from app.domain.permits import opened
from app.domain.person_verbs import cancel, recover
from app.domain.record import Attempts, Permit, Target
from app.domain.ticket_id import Child
from app.ledger.git_outcomes import FencedOut

ATTEMPT = "0123456789abcdef"


class Story:
    """A ticket at work: something published, one effect on its way, one child."""

    def __init__(self, world: ResumeWorld, service: Replica, agent: Agent) -> None:
        self.world, self.service, self.agent = world, service, agent
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.seq = 1000

    @classmethod
    async def at_work(cls, world: ResumeWorld) -> "Story":
        service = world.replica()
        story = cls(world, service, await world.begun(service))
        at = (*AT, world.ticket, claims_of(story.agent.grant))
        await service.controller.intend_effect(
            *at, EffectIntent.model_validate(story.next(effect="stage", kind="deploy.staging"))
        )
        go = EffectDispatch.model_validate(story.next(attempt="a" * 12))
        await service.controller.dispatch_effect(*at, "stage", go)
        task = Task.model_validate({"objective": "Write docs", "acceptance": ["it is written"]})
        await service.controller.spawn(*at, SpawnRequest.model_validate(story.next(name="docs", task=task)))
        await drain(service)
        return story

    def next(self, **body: Any) -> dict[str, Any]:
        self.seq += 1
        return {"key": secrets.token_hex(8), "seq": self.seq, **body}

    @property
    def pull(self) -> dict[str, Any]:
        found: dict[str, Any] = self.world.get("pulls?state=all")[0]
        return found

    async def happened(self, event: str, action: str, service: Replica | None = None) -> None:
        """GitHub delivers what was just done, and it is kept, to be delivered again later."""
        subject = self.pull if event == "pull_request" else self.world.get(f"issues/{self.world.ticket}")
        payload = {
            "action": action,
            "sender": {"login": "wanda", "type": "User", "id": 1},
            "repository": {"full_name": REPO, "default_branch": "main"},
            "installation": {"id": self.world.installation},
            "pull_request" if event == "pull_request" else "issue": subject,
        }
        self.events.append((event, payload))
        await self.world.deliver(service or self.service, event, payload)
        await self.look(service)

    async def look(self, service: Replica | None = None) -> None:
        at = service or self.service
        await at.controller._pokes.poke(f"{REPO}#{self.world.ticket}", f"{REPO}#{self.world.ticket}.docs")
        await drain(at)

    async def word(self, verb: str, rule: Any) -> None:
        word = Word(secrets.token_hex(4), verb, "wanda", rule)  # type: ignore[arg-type]
        await self.service.controller.hear(*AT, self.world.ticket, word)
        await self.look()


# ---- the ways in which a person cancels


async def by_comment(story: Story) -> None:
    await story.world.say(story.service, story.world.ticket, "/recovery cancel not needed any more")
    await drain(story.service)


async def at_the_terminal(story: Story) -> None:
    await story.word("cancel", partial(cancel, by="wanda", reason="not needed"))


async def by_issue(story: Story, reason: str) -> None:
    story.world.ask("wanda", "PATCH", f"issues/{story.world.ticket}", state="closed", state_reason=reason)
    await story.happened("issues", "closed")


async def by_pull(story: Story) -> None:
    story.world.ask("wanda", "PATCH", f"pulls/{story.pull['number']}", state="closed")
    await story.happened("pull_request", "closed")


WAYS: dict[str, tuple[Callable[[Story], Awaitable[None]], str]] = {
    "a command in a comment": (by_comment, "command"),
    "a command at the terminal": (at_the_terminal, "command"),
    "Issue closed as not planned": (partial(by_issue, reason="not_planned"), "issue_closed"),
    "Issue closed as completed, nothing merged": (partial(by_issue, reason="completed"), "issue_closed"),
    "PR closed by a person": (by_pull, "pull_closed"),
}


# ---- what might bring it back


async def sweep(story: Story) -> None:
    await story.service.controller._loop._sweeper.sweep()
    await drain(story.service)


async def start_up(story: Story) -> None:
    again = story.world.replica(story.service.file)
    await again.controller.start_up()
    await drain(again)


async def empty_database(story: Story) -> None:
    fresh = story.world.replica()
    await fresh.controller.start_up()
    await fresh.controller._loop._sweeper.sweep()
    await drain(fresh)
    await story.look(fresh)


async def issue_reopened(story: Story) -> None:
    number = story.world.ticket
    if story.world.get(f"issues/{number}")["state"] == "open":
        story.world.ask("wanda", "PATCH", f"issues/{number}", state="closed", state_reason="completed")
        await story.happened("issues", "closed")
    story.world.ask("wanda", "PATCH", f"issues/{number}", state="open")
    await story.happened("issues", "reopened")


async def pull_reopened(story: Story) -> None:
    number = story.pull["number"]
    story.world.ask("wanda", "PATCH", f"pulls/{number}", state="closed")
    await story.happened("pull_request", "closed")
    story.world.ask("wanda", "PATCH", f"pulls/{number}", state="open")
    await story.happened("pull_request", "reopened")


async def new_push(story: Story) -> None:
    branch = story.agent.grant.branch
    story.world.emulator.commit(REPO, {f"{secrets.token_hex(3)}.txt": "more"}, branch=branch)
    await story.happened("pull_request", "synchronize")


async def zombie(story: Story) -> None:
    """The old holder goes on: it pushes with the fence, checkpoints, sends a heartbeat."""
    late = story.agent.push(f"late-{secrets.token_hex(3)}")
    assert isinstance(late, FencedOut), late
    request = CheckpointRequest(**story.next(), checkpoint={"next_steps": ["more"]})
    claims = claims_of(story.agent.grant)
    with pytest.raises(Refused) as refused:
        await story.service.controller.checkpoint(*AT, story.world.ticket, claims, request)
    assert refused.value.blocked.code is Code.ENDED
    with pytest.raises(Refused) as unheard:
        await story.world.beat(story.service.controller, story.agent.grant)
    assert unheard.value.blocked.code is Code.ENDED


async def replayed(story: Story) -> None:
    """Everything that GitHub ever told is delivered again, to a service that lost its database."""
    fresh = story.world.replica()
    for event, payload in story.events:
        await story.world.deliver(fresh, event, payload)
    await drain(fresh)
    await story.look(fresh)


async def cron(story: Story) -> None:
    """Something claims the ticket again and again, by itself."""
    for generation in (0, 1, 2):
        refused = await story.world.claimed(story.service, generation)
        assert isinstance(refused, Blocked)
        assert refused.code in (Code.ENDED, Code.ISSUE_CLOSED)
    late = await story.world.claimed(story.service, 1, attempt=ATTEMPT)
    assert isinstance(late, Blocked)
    assert exit_code(late.code) == Exit.GATE_CLOSED


async def time_goes_by(story: Story) -> None:
    await story.world.pass_time(LEASE_OVER_S, story.service)
    story.world.emulator.advance(26 * 3600)
    await sweep(story)


REVIVALS = [
    sweep,
    start_up,
    empty_database,
    cron,
    zombie,
    new_push,
    issue_reopened,
    cron,
    pull_reopened,
    replayed,
    zombie,
    time_goes_by,
    start_up,
    cron,
]


SOME_REVIVALS = [empty_database, issue_reopened, new_push, cron, zombie]
"""The record says the same whichever way it was cancelled, so all of them are tried after two of the ways."""
THOROUGH = ("Issue closed as not planned", "PR closed by a person")


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_revives_a_cancelled_ticket_but_a_persons_recover(world: ResumeWorld, way: str) -> None:
    story = await Story.at_work(world)
    cancelled, because = WAYS[way]
    await cancelled(story)
    record = await world.record(story.service)
    assert (record.status, record.lease, record.ended and record.ended.because) == ("cancelled", None, because)
    assert [e.state for e in record.effects] == ["unknown"]
    child = await world.record(story.service, Child(world.ticket, "docs"))
    assert (child.status, world.places(Child(world.ticket, "docs"))) == ("cancelled", {"done"})
    for revival in REVIVALS if way in THOROUGH else SOME_REVIVALS:
        await revival(story)
        assert world.places() == {"done"}, revival.__name__
        assert world.places(Child(world.ticket, "docs")) == {"done"}, revival.__name__
    now = await world.record(story.service)
    assert (now.status, now.generation, now.lease) == ("cancelled", 1, None)
    assert (world.runs(), world.dispatches()) == ([], 0)
    # A person says so, and another life begins: at once, because here the App starts agents by itself.
    await story.word("recover", partial(recover, by="wanda"))
    back = await world.record(story.service)
    assert (back.status, back.generation, back.lease, back.attempts.count) == ("unclaimed", 2, None, 0)
    assert world.places() == {"active"}
    grant = await world.claimed(story.service, 2)
    assert isinstance(grant, Grant), grant
    assert grant.generation == 3


async def test_a_word_that_it_may_come_back_is_taken_back_by_another_cancel(world: ResumeWorld) -> None:
    story = await Story.at_work(world)
    await by_pull(story)
    await story.word("recover", partial(recover, by="wanda"))
    await story.word("cancel", partial(cancel, by="wanda", reason=None))
    refused = await world.claimed(story.service, 1)
    assert isinstance(refused, Blocked)
    assert (refused.code, "/recovery recover" in refused.remedy) == (Code.ENDED, True)


async def test_children_are_told_in_the_same_update_and_one_look_tells_who_closed_the_pr(world: ResumeWorld) -> None:
    story = await Story.at_work(world)
    world.ask("wanda", "PATCH", f"pulls/{story.pull['number']}", state="closed")
    since = world.mark()
    await story.service.controller.round(TicketKey(REPO, world.ticket))
    asked = [r for r in world.emulator.requests(since) if str(r["identity"]).startswith("app:")]
    names = [name for r in asked for name in r["operations"]]
    assert names.count("updateRefs") == 1
    assert world.places() == world.places(Child(world.ticket, "docs")) == {"done"}
    # Who closed it came with the look itself: nothing was asked for it besides.
    assert not [r for r in asked if "/timeline" in r["path"] or "/events" in r["path"]]


@pytest.mark.parametrize("who", ["a bot", "GitHub, with the branch", "GitHub, with the trunk"])
async def test_a_pr_that_nobody_meant_to_close_cancels_nothing(world: ResumeWorld, who: str) -> None:
    story = await Story.at_work(world)
    number, branch = story.pull["number"], story.agent.grant.branch
    head = world.head(branch)
    match who:
        case "a bot":
            token = world.emulator.installation_token(world.app, world.installation)
            headers = {"Authorization": f"Bearer {token}"}
            world.http.patch(f"/repos/{REPO}/pulls/{number}", json={"state": "closed"}, headers=headers)
        case "GitHub, with the branch":
            world.ask("wanda", "DELETE", f"git/refs/heads/{branch}")
            # Back at once: what the loop sees is a closed PR whose branch stands where it was published.
            world.ask("wanda", "POST", "git/refs", ref=f"refs/heads/{branch}", sha=head)
        case _:
            trunk = world.head("release-1")
            world.ask("wanda", "DELETE", "git/refs/heads/release-1")
            world.ask("wanda", "POST", "git/refs", ref="refs/heads/release-1", sha=trunk)
    assert story.pull["state"] == "closed"
    await story.look()
    assert world.places() == {"active"}
    assert (await world.record(story.service)).status == "working"


# ---- a dispatch that is open at that moment


async def dispatch_opened(story: Story, run: Run | None = None) -> None:
    """The record as it stands while an agent is being started: counted, its permit open, and nobody knows yet."""
    controller = story.service.controller
    view = await controller._views.look(*AT, story.world.ticket)
    assert view.standing is not None
    permit = Permit(
        id=ATTEMPT, kind="dispatch", target=Target(marker="workflow_dispatch", generation=1), author="gone", round="r"
    )
    record = opened(view.standing.record, (permit,), round_id="r", author="gone", now=view.now)
    attempted = attempt.Dispatched(
        attempt=ATTEMPT, start="workflow_dispatch", generation=1, at=view.now, workflow="agent.yml", run=run
    )
    record = record.model_copy(update={"dispatched": attempted, "attempts": Attempts(count=2, interrupted_at=view.now)})
    written = await controller._rounds._journal.write(view, view.standing, record, "about to start", when=view.now)
    assert isinstance(written, Journaled)


async def test_a_run_that_was_being_started_is_let_in_no_more_and_is_still_observed(world: ResumeWorld) -> None:
    story = await Story.at_work(world)
    await dispatch_opened(story)
    await at_the_terminal(story)
    record = await world.record(story.service)
    assert record.dispatched is not None
    assert (record.dispatched.state, [p.kind for p in record.open]) == ("over", ["dispatch"])
    # It was under way all the time, and comes now.
    inputs = {"ticket": str(world.ticket), "generation": "1", "attempt": ATTEMPT}
    world.ask("wanda", "POST", "actions/workflows/agent.yml/dispatches", ref="main", inputs=inputs)
    (run,) = world.runs()
    late = await world.claimed(story.service, 1, attempt=ATTEMPT)
    assert isinstance(late, Blocked)
    assert (late.code, exit_code(late.code), "cancelled" in late.reason) == (Code.ATTEMPT_OVER, Exit.GATE_CLOSED, True)
    await story.look()
    record = await world.record(story.service)
    assert record.dispatched is not None
    assert (record.dispatched.run, record.open) == (Run(id=run["id"], attempt=1), ())
    assert (record.status, world.places()) == ("cancelled", {"done"})
    # Nor when the ticket has come back: another life has attempts of its own.
    await story.word("recover", partial(recover, by="wanda"))
    again = await world.claimed(story.service, 1, attempt=ATTEMPT)
    assert isinstance(again, Blocked)
    assert exit_code(again.code) == Exit.GATE_CLOSED
