"""Beginning a ledger anew, because a person says so (the ownership protocol, R20).

What if it happened and we did not hear: the update is decided from the refs (R8), and a second run finds a ledger that
is sound and refuses. What if two of us do it: both compare against what stands, one wins. What if a lease is gone: all
of them are, by the new generation.
"""

from collections.abc import Mapping

import structlog

from app.controller.view import View, Views
from app.controller.witnessing import Witnessing
from app.domain.outcome import Blocked, Code, Refused
from app.domain.policy import Mode
from app.domain.rebuild import Rebuild, rebuilt
from app.domain.ticket_id import TicketId
from app.ledger.api import Undecided, Won
from app.ledger.reading import Damaged

log = structlog.get_logger()


class Rebuilding:
    """Rebuilds ledgers that are frozen."""

    def __init__(self, views: Views, witnessing: Witnessing) -> None:
        self._views = views
        self._witnessing = witnessing

    async def rebuild(
        self, owner: str, name: str, ticket: TicketId, *, by: str, accept_loss: bool = False, dry_run: bool = False
    ) -> Rebuild:
        """Replace the frozen ledger by one rebuilt from sealed texts, in the name of the person `by`. With `dry_run`
        nothing is written. Raises Refused with what stands in the way, and GitHubError.
        """
        namespace = (await self._views.look(owner, name, ticket)).ledger
        # Before they are judged: what is replaced are exactly these, and nothing that came since.
        heads = await namespace.heads(ticket)
        view = await self._views.look(owner, name, ticket)
        _require_frozen(view)
        reading = await view.ledger.read(ticket)
        if isinstance(reading, Damaged) and reading.kind == "newer":
            raise Refused(Blocked(Code.FROZEN, reading.reason, "update the service: a newer one can read it"))
        bodies, witnesses = await self._witnessing.remembered(view.repo, view.ledger, ticket, view.observation)
        made = rebuilt(
            ticket,
            bodies,
            highest_sequence=max((w.sequence for w in witnesses), default=0),
            highest_generation=max((w.generation for w in witnesses), default=0),
            by=by,
            now=view.now,
            accept_loss=accept_loss,
        )
        if isinstance(made, Blocked):
            raise Refused(made)
        if not dry_run:
            await self._write(view, made, heads)
        return made

    async def _write(self, view: View, made: Rebuild, heads: Mapping[str, str]) -> None:
        outcome = await view.ledger.begin_anew(view.ticket, made.record, heads=heads, event="rebuilt", when=view.now)
        if isinstance(outcome, Won):
            log.info("ledger rebuilt", ticket=str(view.ticket), by=made.record.intent and made.record.intent.by)
            await self._witnessing.saw(view.repo, view.ledger, outcome.standing)
            return
        if isinstance(outcome, Undecided):
            reason = f"GitHub does not say whether it was written: {outcome.reason}"
            raise Refused(Blocked(Code.UNKNOWN_OUTCOME, reason, "run the same command again", retryable=True))
        raise Refused(
            Blocked(Code.LOST_RACE, "the refs moved meanwhile", "look again, then run it again", retryable=True)
        )


def _require_frozen(view: View) -> None:
    policy = view.usable_policy
    if policy is None or policy.mode is Mode.OBSERVE:
        reason = "the repository's policy allows no writes"
        raise Refused(Blocked(Code.MODE_OBSERVE, reason, "set mode: repair in .github/agent-recovery.yml"))
    if view.frozen is None:
        reason = "the ticket's ledger is sound, or there is none and nothing remembers one"
        raise Refused(Blocked(Code.USAGE, reason, "nothing is to be rebuilt: claim the ticket as usual"))
