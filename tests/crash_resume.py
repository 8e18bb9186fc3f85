"""Stories of resuming, played with every call disturbed: agents that are started, tickets that are given up, and what
a person says then.

A workflow run stays queued at the emulated GitHub until the play lets it begin: then it claims with the attempt in its
name, as its first act. Whatever is disturbed, one of all runs is let in, and no attempt has two of them.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

from loop_world import PERMISSIONS, REPO, Agent, LoopWorld, claims_of
from sqlalchemy.exc import OperationalError

from app.domain.agent_api import ClaimRequest, EvidenceRequest
from app.domain.dispatched import Run
from app.domain.keys import TicketKey
from app.domain.outcome import Blocked, Refused
from app.domain.run_claims import RunClaims
from app.drill.world_resume import WORKFLOW_TEXT
from app.emulator.client import Emulator
from tests.crash import Call, Disturber, Killed, Play, Story
from tests.crash_end import EndState, end_of, judged
from tests.crash_stories import AT, claim, published, push, save
from tests.crash_words import SpokenPlay, answers_of

WORKFLOW_FILE = ".github/workflows/agent.yml"
STARTS_AGENTS = "resume: {dispatch: workflow_dispatch}\n"
ASKS_A_PERSON = "resume: {dispatch: none}\n"
HOLDS_MASSES = "resume: {dispatch: workflow_dispatch, mass_limit: 1}\n"
MAX_ATTEMPTS = 3
"""The policy's default."""
STEP_S = 60
"""How far time is moved at once: a service that lives is heard of that often."""
LEASE_OVER_S = 17 * 60
TOO_OLD_S = 5 * 3600
WAITS = 12
"""How often time is let pass until an agent was started."""


class ResumeWorld(LoopWorld):
    """The App may start workflows, and the default branch has one."""

    def __init__(self, emulator: Emulator, folder: Path) -> None:
        super().__init__(emulator, folder)
        emulator.change_app("agent-recovery", permissions=PERMISSIONS | {"actions": "write"})
        emulator.accept_permissions(self.installation)
        emulator.commit(REPO, {WORKFLOW_FILE: WORKFLOW_TEXT}, branch="main")
        self.says(STARTS_AGENTS)

    def says(self, more: str) -> None:
        """What the policy says of resuming."""
        text = f"version: 1\nmode: repair\ntrunks: [release-*]\n{more}"
        self.emulator.commit(REPO, {".github/agent-recovery.yml": text}, branch="main")

    def runs(self) -> list[dict[str, Any]]:
        """The workflow runs, oldest first."""
        return sorted(self.get("actions/runs")["workflow_runs"], key=lambda run: int(run["id"]))

    def cancel(self, run: int) -> None:
        """Somebody cancels a run that nothing works for: it is over at once."""
        self.http.post(f"/repos/{REPO}/actions/runs/{run}/cancel")


class ResumePlay(SpokenPlay):
    """A play in which agents are started. Time passes as it does for a service that lives."""

    longest_wait_s = 900.0

    def __init__(self, world: LoopWorld, disturber: Disturber) -> None:
        self.come: dict[int, Blocked | None] = {}
        """The runs that have begun, and why they were not let in."""
        super().__init__(world, disturber)

    @property
    def at(self) -> ResumeWorld:
        assert isinstance(self.world, ResumeWorld)
        return self.world

    async def pass_time(self, seconds: float) -> None:
        """Time goes by, and the service notices that it lives."""
        left = seconds
        while left > 0:
            self.world.emulator.advance(min(left, STEP_S))
            left -= STEP_S
            await self._lives()

    async def _lives(self) -> None:
        github, _ = self.world._opened[-1]
        github.clock.learn(formatdate(self.world.emulator.now(), usegmt=True))
        try:
            await self.controller._resuming.tick()
        except Killed:
            self._restart()
        except OperationalError:
            pass

    async def until_one_works(self) -> Agent:
        """Let runs begin as they are started, until one of them is let in."""
        for _ in range(WAITS):
            await self.settle()
            agent = await self.next_run()
            if agent is not None:
                return agent
            await self.pass_time(STEP_S)
        raise AssertionError(f"no run was let in: {self.come}")

    async def next_run(self) -> Agent | None:
        """Every run that has not begun yet begins, oldest first; the agent of the one that is let in."""
        for run in self.at.runs():
            if run["id"] not in self.come:
                agent = await self._begin(run)
                if isinstance(agent, Agent):
                    self.come[run["id"]] = None
                    return agent
                self.come[run["id"]] = agent
                self.at.cancel(run["id"])
        return None

    async def _begin(self, run: dict[str, Any]) -> Agent | Blocked:
        """A run's first act, and its evidence."""
        ticket, attempt = _named(run)
        request = ClaimRequest(
            claim_id=f"claim-of-run-{run['id']}", observed_generation=0, holder="run", attempt=attempt
        )
        try:
            brief = await self.call(lambda c: c.brief(*AT, ticket))
            request = request.model_copy(update={"observed_generation": brief.generation})
            claims = self._claims(run)
            grant = await self.call(lambda c: c.claim(*AT, ticket, request, claims.actor, claims))
            evidence = EvidenceRequest(key=f"evidence-{run['id']}", seq=1, head_sha=grant.head_sha, clean=True)
            await self.call(lambda c: c.evidence(*AT, ticket, claims_of(grant), evidence))
        except Refused as refused:
            return refused.blocked
        return self.world.agent(grant)

    def _claims(self, run: dict[str, Any]) -> RunClaims:
        ref = f"{REPO}/{WORKFLOW_FILE}@refs/heads/main"
        return RunClaims(
            repository_id=int(run["repository"]["id"]),
            repository=REPO,
            run=Run(id=int(run["id"]), attempt=int(run["run_attempt"])),
            event=str(run["event"]),
            ref="refs/heads/main",
            workflow_ref=ref,
            job_workflow_ref=ref,
            actor=str(run["actor"]["login"]),
        )


def _named(run: dict[str, Any]) -> tuple[int, str]:
    """Ticket and attempt in a run's name."""
    ticket, _, attempt = str(run["display_title"]).removeprefix("Ticket ").partition(", attempt ")
    return int(ticket), attempt


@dataclass(frozen=True)
class ResumeEnd:
    """The end of a story of resuming."""

    state: EndState
    within_cap: bool
    """No more attempts are counted than the policy allows."""
    doubled_attempts: tuple[str, ...]
    """Attempts that more than one run was started for: always none."""
    let_in: int
    """Runs that held the ticket."""
    reports: int
    """Comments that tell a person why the ticket waits for one."""
    notices: int
    """Issues of the App's."""
    stopped: str
    answers: tuple[tuple[str, ...], ...]


async def resume_end(play: Play, data: Path) -> ResumeEnd:
    """The end of a play of a ResumePlay; `data` as for `end_of`."""
    assert isinstance(play, ResumePlay)
    await play.next_run()
    view = await play.controller._views.look(*AT, play.world.ticket)
    assert view.record is not None
    attempts = Counter(_named(run)[1] for run in play.at.runs())
    comments = [str(c["body"]) for c in play.world.get("issues/comments")]
    ours = [i for i in play.world.get("issues?state=all") if i["user"]["type"] == "Bot" and "pull_request" not in i]
    return ResumeEnd(
        state=await end_of(play, data),
        within_cap=view.record.attempts.count <= MAX_ATTEMPTS,
        doubled_attempts=tuple(attempt for attempt, count in attempts.items() if count > 1),
        let_in=sum(blocked is None for blocked in play.come.values()),
        reports=sum("agent-recovery:report" in body and ":gap-g" not in body for body in comments),
        notices=len(ours),
        stopped=view.record.stopped.because if view.record.stopped else "",
        answers=answers_of(play),
    )


def both(end: ResumeEnd, expected: ResumeEnd, kind: str, call: Call) -> tuple[ResumeEnd, ResumeEnd]:
    """Both ends without what a disturbance may change: an attempt that nobody knows of was burned, and counts; and a
    pause outlasts the lease of whoever worked, so another one works in the end.
    """
    state, wanted = judged(end.state, expected.state, kind, call)
    state, wanted = replace(state, attempts=0), replace(wanted, attempts=0)
    if kind == "paused":
        state = replace(state, generation=wanted.generation, warned=wanted.warned, check_runs=wanted.check_runs)
        end = replace(end, let_in=min(end.let_in, expected.let_in))
    return replace(end, state=state), replace(expected, state=wanted)


Scene = Callable[[ResumePlay], Awaitable[None]]


def _story(before: Scene, then: Scene) -> Story:
    """What is disturbed is `then`."""

    async def story(play: Play) -> None:
        assert isinstance(play, ResumePlay)
        await before(play)
        play.begin()
        await then(play)

    return story


async def _lease_is_over(play: ResumePlay) -> None:
    """The holder is not heard of any more, and a service that lives knows it."""
    await published(play)
    await play.pass_time(3 * STEP_S)
    await play.pass_time(LEASE_OVER_S)


async def _works(play: ResumePlay) -> None:
    """A run is started and let in, and brings the ticket to its end."""
    for _ in range(MAX_ATTEMPTS):
        agent = await play.until_one_works()
        # Whoever lost its lease while it was away is followed by another.
        with suppress(Refused, AssertionError):
            await push(play, agent, "two")
            await save(play, agent, "ready")
            return
        _, run = max((number, number) for number, blocked in play.come.items() if blocked is None)
        play.at.cancel(run)
    raise AssertionError("nobody brought it to its end")


async def _works_unheard(play: ResumePlay) -> None:
    """The same, where GitHub starts the run and its answer is lost."""
    play.world.emulator.fault("drop_after", match={"method": "POST", "path_regex": "/dispatches$"})
    await _works(play)


async def _old(play: ResumePlay) -> None:
    """Nobody is heard of for hours, the service neither."""
    await published(play)
    play.world.emulator.advance(TOO_OLD_S)


async def _given_up(play: ResumePlay) -> None:
    """A ticket that was abandoned."""
    await _old(play)
    await play.settle()


async def _crashes_three_times(play: ResumePlay) -> None:
    """Three agents claimed, and none did anything."""
    play.at.says(ASKS_A_PERSON)
    for generation in range(MAX_ATTEMPTS):
        await claim(play, f"claim-of-{generation}", generation)
        await play.settle()
        await play.pass_time(LEASE_OVER_S)


async def _settles(play: ResumePlay) -> None:
    await play.settle()


async def _is_recovered(play: ResumePlay) -> None:
    await play.say("/recovery recover")
    await _works(play)


async def _dispatched(play: ResumePlay) -> None:
    """An agent was started and has not come yet."""
    await _lease_is_over(play)
    for _ in range(WAITS):
        await play.settle()
        if play.at.runs():
            return
        await play.pass_time(STEP_S)
    raise AssertionError("no agent was started")


async def _is_cancelled(play: ResumePlay) -> None:
    body = {"state": "closed", "state_reason": "not_planned"}
    play.world.http.patch(f"/repos/{REPO}/issues/{play.world.ticket}", json=body).raise_for_status()
    await play.settle()
    await play.next_run()


async def _many_stopped(play: ResumePlay) -> None:
    """Three tickets lost their holders in one outage, which is more than the policy lets go on by itself."""
    play.at.says(HOLDS_MASSES)
    await published(play)
    for number in range(2):
        made = play.world.emulator.issue(REPO, f"Another {number}", author="wanda")["number"]
        play.tickets.append(made)
        agent = await claim(play, f"claim-other-{number}", ticket=made)
        agent.push(f"other-{number}")
    await play.settle()
    play.world.emulator.advance(LEASE_OVER_S)
    # As after a start: all are looked at before time has passed for one of them.
    for ticket in play.tickets:
        key = TicketKey(REPO, ticket)
        await play.call(lambda c, key=key: c.round(key))


async def _are_held_and_let_go(play: ResumePlay) -> None:
    """They are held, and told of once; a person closes the notice, and each gets an agent."""
    for _ in range(WAITS):
        await play.settle()
        await play.pass_time(STEP_S)
        if notices := _notices(play):
            break
    assert play.at.runs() == []
    for notice in notices:
        body = {"state": "closed"}
        play.world.http.patch(f"/repos/{REPO}/issues/{notice['number']}", json=body).raise_for_status()
    for _ in range(2 * WAITS):
        await play.settle()
        await play.next_run()
        if sum(blocked is None for blocked in play.come.values()) == len(play.tickets):
            return
        await play.pass_time(STEP_S)
    raise AssertionError(f"not all got an agent: {play.come}")


def _notices(play: ResumePlay) -> list[dict[str, Any]]:
    return [i for i in play.world.get("issues?state=open") if i["user"]["type"] == "Bot" and "pull_request" not in i]


STORIES_OF_RESUMING: dict[str, Story] = {
    "dispatch_and_claim": _story(_lease_is_over, _works),
    "dispatch_lost_answer": _story(_lease_is_over, _works_unheard),
    "abandon": _story(_old, _settles),
    "exhaust": _story(_crashes_three_times, _settles),
    "recover_abandoned": _story(_given_up, _is_recovered),
    "cancel_with_open_dispatch": _story(_dispatched, _is_cancelled),
    "mass_hold": _story(_many_stopped, _are_held_and_let_go),
}
