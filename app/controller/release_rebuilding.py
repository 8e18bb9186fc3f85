"""Beginning the ledger of a release anew, because a person says so (the ownership protocol, R20).

Before it is begun, the guard is red, the open PRs are drafts and read: a merge may be under way from the lost ledger
(R22), and what was merged already is known then.

What if it happened and we did not hear: the update is decided from the refs (R8), and the same command finds its own
answer in the record; another one finds a ledger that is sound, and is refused. What if two of us do it: both compare
against the head that was read before it was judged, one wins, the other is told so. What if somebody's permit is gone:
all of the lost ledger are, and every send looks its own up first.
"""

from dataclasses import dataclass

import structlog

from app.controller.journal import record_full
from app.controller.release_looks import Place, ReleaseLooks, ReleaseView
from app.controller.release_witnessing import ReleaseWitnessing
from app.controller.releasing import Releasing
from app.domain.command_noted import known
from app.domain.outcome import Blocked, Code, Refused
from app.domain.release_rebuild import ReleaseRebuild, rebuilt_release, sound
from app.domain.release_record import ReleaseRecord
from app.ledger.api import Undecided
from app.ledger.codec import NotStorable
from app.ledger.reading import Damaged
from app.ledger.releases import ReleaseLedgerStanding, ReleaseWon

log = structlog.get_logger()


@dataclass(frozen=True)
class BegunAnew:
    """What came of it. `found`: the head that stood there, None where no ledger did; `kept`: the ref that keeps it.
    `voided`: the ids of the receipts that count no more. `changed`: this very call began it anew, or would.
    """

    answer: str
    record: ReleaseRecord
    found: str | None = None
    kept: str | None = None
    voided: tuple[str, ...] = ()
    changed: bool = False


class ReleaseRebuilding:
    """Begins ledgers of releases anew that are frozen."""

    def __init__(self, looks: ReleaseLooks, witnessing: ReleaseWitnessing, releasing: Releasing) -> None:
        self._looks = looks
        self._witnessing = witnessing
        self._releasing = releasing

    async def rebuild(
        self, owner: str, name: str, branch: str, *, id: str, by: str, dry_run: bool = False
    ) -> BegunAnew:
        """Replace the frozen ledger of a release, in the name of the person `by`. With `dry_run` nothing is written.
        Raises Refused with what stands in the way, and GitHubError.
        """
        place = await self._looks.place(owner, name)
        policy = place.usable
        if policy is None:
            reason = "the repository's policy allows no writes"
            raise Refused(Blocked(Code.MODE_OBSERVE, reason, "set mode: repair in .github/agent-recovery.yml"))
        # Before it is judged: what is replaced is exactly this, and nothing that came since.
        found = await self._looks.ledger(place.repo, policy).head(branch)
        view = await self._look(place, branch)
        if view.frozen is None:
            return _answered_before(view.record, id)
        if not dry_run:
            view = await self._at_rest(view)
        if view.frozen is None:
            return _answered_before(view.record, id)
        last = await self._last(view, found)
        runs = view.observation.guard_runs
        witnesses = await self._witnessing.witnesses(view.repo, view.ledger, branch, runs)
        seen = [witness.sequence for witness in witnesses]
        made = rebuilt_release(view.observation, last, seen, edge=view.frozen.edge, id=id, by=by)
        kept = view.ledger.refs.recovered_release(branch, found) if found is not None else None
        done = BegunAnew(made.answer, made.record, found, kept, tuple(one.id for one in made.voided), changed=True)
        return done if dry_run else await self._write(view, made, done, id=id)

    async def _look(self, place: Place, branch: str) -> ReleaseView:
        view = await self._looks.look(place, branch)
        if isinstance(view, str):
            raise Refused(Blocked(Code.NOT_FOUND, view, "name a release branch of the policy"))
        return view

    async def _at_rest(self, view: ReleaseView) -> ReleaseView:
        """The release once nothing of the lost ledger can be carried out unseen. Raises GitHubError where GitHub does
        not say whether something was merged.
        """
        pulls = view.observation.open_pulls
        merged = [await self._releasing.take_back(view, pull.number, pull.node_id) for pull in pulls]
        return await self._look(view.place, view.branch) if any(merged) else view

    async def _last(self, view: ReleaseView, found: str | None) -> ReleaseRecord | None:
        """The record that stands there, where the service sealed it. Raises Refused where nothing can take its place,
        or something else stands there by now.
        """
        reading = await view.ledger.read(view.branch)
        if isinstance(reading, Damaged) and reading.kind == "newer":
            raise Refused(Blocked(Code.FROZEN, reading.reason, "update the service: a newer one can read it"))
        if isinstance(reading, Damaged) and (reading.sha or "").startswith("refs/"):
            raise Refused(Blocked(Code.FROZEN, reading.reason, "delete that ref, then say it again"))
        if not isinstance(reading, ReleaseLedgerStanding):
            return None
        if reading.entry.sha != found:
            raise Refused(_moved())
        return reading.record

    async def _write(self, view: ReleaseView, made: ReleaseRebuild, done: BegunAnew, *, id: str) -> BegunAnew:
        try:
            outcome = await view.ledger.begin_anew(
                view.branch, made.record, found=done.found, event="rebuilt", when=view.now
            )
        except NotStorable as full:
            raise Refused(record_full(full)) from full
        if isinstance(outcome, ReleaseWon):
            log.info("release ledger rebuilt", release=view.branch, sequence=made.record.sequence)
            await self._witnessing.saw(view.repo, view.ledger, outcome.standing)
            return done
        if isinstance(outcome, Undecided):
            reason = f"GitHub does not say whether it was written: {outcome.reason}"
            raise Refused(Blocked(Code.UNKNOWN_OUTCOME, reason, "say the same again", retryable=True))
        now = outcome.now.record if isinstance(outcome.now, ReleaseLedgerStanding) else None
        if now is not None and known(now, id) is not None:
            return _answered_before(now, id)
        raise Refused(_moved())


def _answered_before(record: ReleaseRecord | None, id: str) -> BegunAnew:
    """The answer to a command that was carried out already. Raises Refused where it was not: nothing is to be done."""
    done = known(record, id) if record is not None else None
    if record is None or done is None:
        raise Refused(sound(record))
    return BegunAnew(done.answer, record)


def _moved() -> Blocked:
    return Blocked(
        Code.LOST_RACE, "the release's ledger moved meanwhile", "look again, then say it again", retryable=True
    )
