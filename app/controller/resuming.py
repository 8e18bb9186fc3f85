"""When a wish to start an agent, or to give a ticket up, may be carried out: the rules of outages (`domain.outage`).

Every round asks before it carries out what a plan wishes. The answer comes from the database, in one transaction, so
that all processes on it agree. What if a process dies after a wish passed: its place is kept for two minutes, and the
ticket's next look uses it. What if the database is lost: the service's life and all wishes begin anew, with a reattach
window; agents that were started are counted again from the records as their tickets are looked at; the notice is found
by its marker. What a person had released is lost then, and asked for again.
"""

import random
from datetime import datetime

from app.controller import resume_waits as waits
from app.controller.clock import Clock
from app.controller.database import Database
from app.controller.pokes import PokeStore
from app.controller.resume_waits import Asked
from app.controller.stops import Stops
from app.controller.telling_hold import TellingHold
from app.controller.view import View, Views
from app.domain import outage
from app.domain.lease import liveness
from app.domain.outage import Passes, Started, Waits
from app.domain.outage_wish import Wished, limits_of, wish_of
from app.domain.outcome import Blocked
from app.domain.plan import Plan, Wait
from app.domain.policy import Policy
from app.domain.record import Record
from app.domain.situation import Situation
from app.domain.ticket_id import Child

SWITCHED_OFF = "the operator of the service has switched resuming off (AGENT_RECOVERY_RESUME)"


class Resuming:
    """Lets wishes pass, or makes them wait. `resumes`: the operator's switch for incidents."""

    def __init__(
        self, database: Database, views: Views, pokes: PokeStore, stops: Stops, clock: Clock, *, resumes: bool
    ) -> None:
        self._database = database
        self._stops = stops
        self._clock = clock
        self._resumes = resumes
        self._telling = TellingHold(database, views, pokes, stops)

    async def start(self) -> None:
        """This process begins to work: nothing is carried out before a reattach window is over."""
        await self._database.run(waits.live, ("begun", self._clock()))

    async def tick(self) -> None:
        """The service lives; called every few seconds. Tells what is held. Never raises a GitHubError."""
        now = self._clock()
        await self._database.run(waits.live, ("lived", now))
        await self._database.run(waits.drop_forgotten, now)
        await self._telling.everywhere(now)

    async def reached(self, *, answered: bool) -> None:
        """GitHub answered, or did not. After it was away for a while a reattach window opens."""
        await self._database.run(waits.live, ("answered" if answered else "unanswered", self._clock()))

    async def admitted(self, view: View, situation: Situation, plan: Plan) -> Plan:
        """The plan, with its wishes only where they may be carried out now; a Wait in the place of each other one."""
        wished = [action for action in plan if isinstance(action, Wished)]
        blocked = await self._blocked(view) if wished else None
        asked = wished[:1] if blocked is None else []
        verdict = await self._ask(view, situation, asked[0] if asked else None)
        if not wished or isinstance(verdict, Passes):
            return tuple(action for action in plan if action not in wished[1:])
        wait = _waiting(view.now, blocked, verdict)
        return (*(action for action in plan if action not in wished), wait)

    async def carried_out(self, view: View, record: Record, plan: Plan) -> None:
        """The commit that carries out a plan's wishes stands in the ledger, and this record is in it: the place that
        was kept is taken. The ticket's next look would find the same.
        """
        policy = view.usable_policy
        if policy is None or record.dispatched is None or not any(isinstance(a, Wished) for a in plan):
            return
        started = Started(str(view.ticket), record.dispatched.attempt, record.dispatched.at)
        await self._look(view, policy, None, started)

    async def ended(self, view: View) -> None:
        """The ticket is over: it wishes nothing any more, and frees its place."""
        look = await self._database.run(waits.forget, (view.repo.id, str(view.ticket)))
        await self._telling.look_at(view.repo.full_name, look)

    async def withdrawn(self, view: View) -> None:
        """The repository's policy allows no writes: nothing is wished there, and nothing is told."""
        await self._database.run(waits.withdraw, view.repo.id)

    async def is_notice(self, view: View) -> bool:
        """Whether the number that was looked at is a notice of ours; what a person did to it is found out then."""
        if isinstance(view.ticket, Child):
            return False
        found = await self._database.run(waits.holds_of, view.repo.id)
        if not any(held.notice == view.ticket for held in found):
            return False
        await self._telling.one(view.repo.id, self._clock())
        return True

    async def counted(self, repository_id: int, full_name: str, tickets: int) -> None:
        """So many tickets of a repository are in progress."""
        await self._database.run(waits.count, (repository_id, full_name, tickets, self._clock()))

    async def _blocked(self, view: View) -> Blocked | str | None:
        if not self._resumes:
            return SWITCHED_OFF
        return await self._stops.blocked(view.repo.full_name, view.repo.id)

    async def _ask(self, view: View, s: Situation, action: Wished | None) -> outage.Verdict | None:
        wish = wish_of(action, s) if action is not None else None
        holder = liveness(s.record, s.policy, now=s.now, heartbeat_at=s.heartbeat_at, run_ended=s.run_ended)
        return await self._look(view, s.policy, wish, outage.started_by(s.record, holder))

    async def _look(
        self, view: View, policy: Policy, wish: outage.Wish | None, started: Started | None
    ) -> outage.Verdict | None:
        asked = Asked(
            repository_id=view.repo.id,
            full_name=view.repo.full_name,
            ticket=str(view.ticket),
            wish=wish,
            started=started,
            limits=limits_of(policy),
            now=view.now,
            jitter=random.random(),
        )
        judged = await self._database.run(waits.judge, asked)
        await self._telling.look_at(view.repo.full_name, judged.look)
        return judged.verdict


def _waiting(now: datetime, blocked: Blocked | str | None, verdict: outage.Verdict | None) -> Wait:
    if isinstance(verdict, Waits):
        return Wait(verdict.reason, verdict.until)
    reason = blocked.reason if isinstance(blocked, Blocked) else blocked or "one thing at a time"
    return Wait(reason, now + outage.LOOK_WHILE_HELD)
