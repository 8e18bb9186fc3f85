"""Lies in what GitHub shows of a ticket's work: branch, pull request, check-run, comment, against its ledger."""

from collections.abc import Iterator

from app.domain.external_id import parse as parse_external_id
from app.domain.fencing import AtPublished, Foreign, Head, Tampered
from app.domain.handoff_marker import marker_of
from app.domain.linked_issue import linked_issue_of
from app.domain.model import Sha
from app.domain.observation import Pull
from app.domain.record import FINISHED, TERMINAL, Record
from app.domain.sealed_body import SealedBody, body_preimage
from app.domain.sealed_body import parse as parse_body
from app.domain.situation import ticket_pull
from app.domain.stack_graph import ticket_below
from app.domain.ticket_id import number_of
from app.drill.audit.facts import Facts
from app.drill.audit.lie import Kind, Lie
from app.ledger.codec import Entry
from app.ledger.seals import PublicKeys, ServiceSeal, parse_seal

PASSING = ("success", "neutral", "skipped")


def lies(facts: Facts, record: Record, head: Head, keys: PublicKeys | None) -> Iterator[Lie]:
    """Everything GitHub shows of the work that the ledger contradicts. `record` is the ledger's head."""
    yield from _branch(facts, record, head)
    yield from _checks(facts, record, head)
    yield from _comment(facts, record, keys)
    if record.status in TERMINAL:
        return
    yield from _pull(facts, record)
    yield from _issue(facts)
    yield from _steps(facts, record)
    yield from _unsettled(facts, record)


def _branch(facts: Facts, record: Record, head: Head) -> Iterator[Lie]:
    if record.status in TERMINAL:
        return
    match head:
        case Foreign(published=published, head=foreign):
            what = f"the branch is at {foreign}, which nobody published under a lease; published is {published}"
            yield Lie(Kind.BRANCH_FOREIGN, facts.name, what, foreign)
        case Tampered(published=published, head=None):
            yield Lie(Kind.BRANCH_TAMPERED, facts.name, f"the branch is gone; published is {published}", published)
        case Tampered(published=published, head=str() as other):
            what = f"the branch is at {other} and does not contain what was published, {published}"
            yield Lie(Kind.BRANCH_TAMPERED, facts.name, what, other)
    if record.published is not None and record.published.sha in record.burned_shas:
        what = "the record calls a commit published that was burned by a fence commit"
        yield Lie(Kind.PUBLISHED_BURNED, facts.name, what, record.published.sha)


def _checks(facts: Facts, record: Record, head: Head) -> Iterator[Lie]:
    for imitation in facts.imitations:
        what = f"a check-run with the App's name on {imitation.sha} is made by {imitation.app}"
        yield Lie(Kind.CHECK_IMITATED, facts.name, what, f"check-run {imitation.id}")
    own = [r for r in facts.observation.check_runs if _is_of(r.external_id, facts)]
    for run in own:
        if run.conclusion not in PASSING or record.status in TERMINAL:
            continue
        if wrong := _not_earned(run.sha, run.external_id, record):
            yield Lie(Kind.CHECK_NOT_EARNED, facts.name, f"it is {run.conclusion}, but {wrong}", f"check-run {run.id}")
    if isinstance(head, AtPublished) and head.fenced and not any(r.sha == head.sha for r in own):
        yield Lie(Kind.CHECK_MISSING, facts.name, "the published head has no check-run of the App", head.sha)


def _is_of(external_id: str, facts: Facts) -> bool:
    return any(p.ticket == facts.ticket for p in parse_external_id(external_id)[:1])


def _not_earned(sha: Sha, external_id: str, record: Record) -> str | None:
    published = record.published
    if published is None or published.sha != sha:
        return f"{sha} is not what the holder published"
    shown = parse_external_id(external_id)[0]
    if shown.generation != record.generation:
        return f"it was earned by generation {shown.generation}, and {record.generation} is the present one"
    # A finished child holds no lease any more: what it published last is what it gave.
    counts = record.published_now is not None or record.status in FINISHED
    if not counts or sha in record.burned_shas:
        return "the commit is not published under the present lease"
    return None


def _comment(facts: Facts, record: Record, keys: PublicKeys | None) -> Iterator[Lie]:
    pull = ticket_pull(record, facts.observation)
    if pull is None or pull.state != "OPEN":
        return
    marker = marker_of(facts.ticket)
    own = [c for c in pull.comments if c.body.startswith(marker)]
    if not own:
        yield Lie(Kind.COMMENT_MISSING, facts.name, "the pull request has no handoff comment", f"#{pull.number}")
    for double in own[1:]:
        what = "a second handoff comment stands on the pull request"
        yield Lie(Kind.COMMENT_DOUBLED, facts.name, what, f"comment {double.id}")
    for comment in own[:1]:
        wrong = _forged(facts, parse_body(comment.body), keys)
        if wrong is not None:
            yield Lie(wrong[0], facts.name, wrong[1], f"comment {comment.id}")


def _forged(facts: Facts, body: SealedBody | None, keys: PublicKeys | None) -> tuple[Kind, str] | None:
    if body is None:
        return Kind.COMMENT_FORGED, "the handoff comment holds no sealed checkpoint"
    seal = parse_seal(body.seal)
    if keys is not None and not (isinstance(seal, ServiceSeal) and keys.verify(seal, body_preimage(body.payload))):
        return Kind.COMMENT_FORGED, "the seal of the handoff comment does not fit its text"
    if body.fields.get("repository_id") != facts.repository_id or str(body.fields.get("ticket")) != facts.name:
        return Kind.COMMENT_FORGED, "the handoff comment speaks of another ticket"
    shown = next((e for e in facts.entries if e.sha == body.fields.get("ledger_commit")), None)
    if shown is None and _was_pruned(facts.entries, body):
        return None
    if shown is None or not isinstance(shown.record, Record):
        return Kind.COMMENT_OLD, "the handoff comment shows a commit that is not in the ledger"
    return _otherwise(facts.entries, shown, shown.record, body)


def _was_pruned(entries: tuple[Entry, ...], body: SealedBody) -> bool:
    """Whether the text shows a commit of which only the tombstone is left."""
    oldest, sequence = entries[-1].record if entries else None, body.fields.get("sequence")
    stone = oldest.pruned if isinstance(oldest, Record) else None
    return stone is not None and isinstance(sequence, int) and sequence < stone.sequence


def _otherwise(entries: tuple[Entry, ...], shown: Entry, record: Record, body: SealedBody) -> tuple[Kind, str] | None:
    said = tuple(body.fields.get(name) for name in ("generation", "sequence", "status"))
    if said != (record.generation, record.sequence, record.status):
        return Kind.COMMENT_FORGED, f"it says {said}, the ledger commit it names says otherwise"
    newest = entries[0].record
    if isinstance(newest, Record) and newest.generation != record.generation:
        return Kind.COMMENT_OLD, f"it shows generation {record.generation}, the ledger is in {newest.generation}"
    if isinstance(newest, Record) and newest.status != record.status and newest.sequence > record.sequence + 1:
        return Kind.COMMENT_OLD, f"it shows the ticket as {record.status}, the ledger as {newest.status}"
    return None


def _pull(facts: Facts, record: Record) -> Iterator[Lie]:
    work, published = record.work, record.published
    pull = ticket_pull(record, facts.observation)
    if pull is None:
        if published is not None and work is not None and published.sha != work.base_sha:
            what = f"the branch {work.branch} has published work and no pull request"
            yield Lie(Kind.PULL_MISSING, facts.name, what, published.sha)
        return
    for what in _differs(facts, record, pull):
        yield Lie(Kind.PULL_DIFFERS, facts.name, what, f"#{pull.number}")


def _differs(facts: Facts, record: Record, pull: Pull) -> Iterator[str]:
    if pull.state == "MERGED":
        yield f"it was merged, and the ledger calls the ticket {record.status}"
        return
    if pull.state == "CLOSED" and record.projections.closed_pr != pull.number:
        yield "it is closed, and the ledger knows of no person who closed it"
    if record.work is not None and pull.base != record.work.trunk and ticket_below(record, pull) is None:
        yield "its base is not the recorded trunk"
    if linked_issue_of(pull.body) != number_of(facts.ticket):
        yield "its body does not begin with the line that links the Issue"
    if (
        pull.state == "OPEN"
        and not pull.is_draft
        and record.status not in ("ready", *FINISHED)
        and record.projections.drafting.by is None
        and not record.projections.drafting.unsupported
    ):
        yield f"it is marked as ready for review, and the ledger calls the ticket {record.status}"


def _issue(facts: Facts) -> Iterator[Lie]:
    issue = facts.observation.issue
    if issue is None or issue.state != "OPEN":
        state = "gone" if issue is None else "closed"
        what = f"the Issue is {state}, and the ledger calls the ticket in progress"
        yield Lie(Kind.ISSUE_CLOSED, facts.name, what, f"#{number_of(facts.ticket)}")


def _steps(facts: Facts, record: Record) -> Iterator[Lie]:
    published = record.published.sha if record.published else None
    for step in record.checkpoint.completed_steps:
        if step.sha is None or (published is not None and facts.contains(published, step.sha)):
            continue
        what = f"a step is called completed by {step.sha}, which is not in the published work"
        yield Lie(Kind.STEP_NOT_PUBLISHED, facts.name, what, step.sha)


def _unsettled(facts: Facts, record: Record) -> Iterator[Lie]:
    if record.status == "ready":
        for effect in record.effects:
            if effect.state == "unknown":
                what = f"the ticket is called ready, and nobody knows whether the effect {effect.key} happened"
                yield Lie(Kind.EFFECT_UNKNOWN, facts.name, what, effect.key)
    limit = facts.policy.resume.max_attempts
    if record.attempts.count > limit:
        what = f"{record.attempts.count} attempts were made, {limit} are allowed"
        yield Lie(Kind.ATTEMPTS, facts.name, what, facts.entries[0].sha)
