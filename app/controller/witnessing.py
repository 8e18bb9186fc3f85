"""Witnesses of how far a ledger had come, gathered from everywhere they are kept, and the verdict on what is seen now.

The ownership protocol, R20: before a ledger is acted on it must not lie behind its own table, the sealed handoff
comment, or the `external_id` of a check-run. Backwards, forked, or absent with a witness: nothing is mutated or
granted, one visible report. With no table and no witness a rollback between two projections cannot be seen.
"""

from collections.abc import Iterator

from app.controller.keyring import Keyring
from app.controller.witnesses import LedgerPoint, Witnesses
from app.domain.external_id import parse as parse_external_id
from app.domain.observation import Observation
from app.domain.rebuild import Remembered
from app.domain.report import Frozen
from app.domain.sealed_body import SealedBody, body_preimage
from app.domain.sealed_body import parse as parse_sealed_body
from app.domain.ticket_id import TicketId, as_json
from app.github.repository import Repository
from app.ledger.api import ApiLedger
from app.ledger.reading import Absent, Damaged, Standing
from app.ledger.seals import ServiceSeal, parse_seal
from app.ledger.witness import Current, Witness, judge


class Witnessing:
    """Judges ledgers, and raises the table's witness where they are sound."""

    def __init__(self, witnesses: Witnesses, keys: Keyring) -> None:
        self._witnesses = witnesses
        self._keys = keys

    async def judge(
        self,
        repo: Repository,
        ledger: ApiLedger,
        ticket: TicketId,
        reading: Standing | Absent | Damaged,
        observation: Observation,
    ) -> Frozen | None:
        """Why the ledger must not be acted on, or None where it may be."""
        table = await self.told_by_table(repo, ledger, ticket)
        known = [*table, *self._told_by_github(repo, ticket, observation)]
        if isinstance(reading, Damaged):
            last_good = max((w.sequence for w in known), default=0)
            return Frozen(
                edge=f"damaged-after-{last_good}",
                reason=f"Its ledger is not what it should be: {reading.reason}.",
                found=reading.sha,
                expected="a chain of commits, each sealed by the service or by the holder of its time",
                is_ours=bool(known),
            )
        entries, earlier = (reading.entries, reading.earlier) if isinstance(reading, Standing) else ((), ())
        verdict = judge(entries, known, earlier)
        if not isinstance(verdict, Current):
            found = entries[0].sha if entries else "no ledger"
            # Named after what was lost, not after what was found: moving the ref again is the same happening.
            edge = f"moved-from-{verdict.evidence.sequence}"
            return Frozen(edge=edge, reason=_sentence(verdict.reason), found=found, expected=verdict.expected)
        if isinstance(reading, Standing):
            await self.saw(repo, ledger, reading)
        return None

    async def told_by_table(self, repo: Repository, ledger: ApiLedger, ticket: TicketId) -> list[Witness]:
        """What the service's own table knows of a ticket's ledger."""
        highest = await self._witnesses.highest(repo.id, ledger.refs.active(ticket))
        if highest is None:
            return []
        return [Witness("the service's own table", highest.sequence, highest.generation, highest.commit)]

    async def saw(self, repo: Repository, ledger: ApiLedger, standing: Standing) -> None:
        """Raise the table's witness to what was seen."""
        record = standing.record
        point = LedgerPoint(record.sequence, record.generation, standing.entry.sha)
        await self._witnesses.see(repo.id, ledger.refs.active(record.ticket_id), point)

    def _told_by_github(self, repo: Repository, ticket: TicketId, observation: Observation) -> Iterator[Witness]:
        for run in observation.check_runs:
            for p in parse_external_id(run.external_id):
                if p.ticket == ticket:
                    yield Witness(f"check-run {run.id}", p.sequence, p.generation, p.commit_prefix)
        comments = [c for pull in observation.pulls for c in pull.comments] + list(observation.issue_comments)
        for comment in comments:
            body = parse_sealed_body(comment.body)
            if body is not None and self._is_sealed(body, repo.id, ticket):
                yield from _told_by(body, f"comment {comment.id}")

    async def remembered(
        self, repo: Repository, ledger: ApiLedger, ticket: TicketId, observation: Observation
    ) -> tuple[list[Remembered], list[Witness]]:
        """What a ledger can be rebuilt from: the sealed bodies of comments and check-runs, and every witness."""
        texts = [(f"check-run {run.id}", run.text or "") for run in observation.check_runs]
        comments = [c for pull in observation.pulls for c in pull.comments] + list(observation.issue_comments)
        texts += [(f"comment {comment.id}", comment.body) for comment in comments]
        bodies = []
        for source, text in texts:
            body = parse_sealed_body(text)
            if body is not None and self._is_sealed(body, repo.id, ticket):
                bodies.append(Remembered(source, body.fields))
        table = await self.told_by_table(repo, ledger, ticket)
        return bodies, [*table, *self._told_by_github(repo, ticket, observation)]

    def _is_sealed(self, body: SealedBody, repository_id: int, ticket: TicketId) -> bool:
        seal = parse_seal(body.seal)
        if not isinstance(seal, ServiceSeal) or not self._keys.public_keys.verify(seal, body_preimage(body.payload)):
            return False
        # Ours, but maybe copied here from another ticket's comment.
        return (body.fields.get("repository_id"), body.fields.get("ticket")) == (repository_id, as_json(ticket))


def _told_by(body: SealedBody, source: str) -> Iterator[Witness]:
    """What a body with our seal says; nothing where a newer version of us writes it in another form."""
    sequence, generation, commit = (body.fields.get(name) for name in ("sequence", "generation", "ledger_commit"))
    if isinstance(sequence, int) and isinstance(generation, int) and isinstance(commit, str):
        yield Witness(source, sequence, generation, commit)


def _sentence(reason: str) -> str:
    return f"Its ledger is not where it was: {reason}."
