"""Whether a merge into the base of releases was authorized, and the Issue that tells of one that was not.

A merge that somebody does by hand counts as authorized while the receipts for exactly that commit stood at that moment:
the guard was green, and GitHub's button is as good as ours. Everything else is an incident, told once with what is
known. Nothing is undone: what goes back out of the base of releases is for people to decide.

Accepted loss: what was merged before the release had a ledger is nobody's incident: nobody can tell it from what was
merged before the App came.
"""

from datetime import datetime

from app.domain.authorization import Live, together, worked_in_it
from app.domain.model import instant_text
from app.domain.policy import Policy
from app.domain.release_actions import CreateIncident, NoteReleaseMerge
from app.domain.release_external_id import digest_of_branch
from app.domain.release_observation import ReleaseObservation, ReleasePull
from app.domain.release_record import Authorization, Incident, MergedRelease, ReleasePermit, ReleaseRecord
from app.domain.untrusted import as_title, inline

_NAME_BYTES = 120
_REASON_BYTES = 300
_TITLE_BYTES = 120
MOST_RECEIPTS = 20


def merge_seen(
    pull: ReleasePull, record: ReleaseRecord, observation: ReleaseObservation, policy: Policy
) -> NoteReleaseMerge | None:
    """What is to be written down of a merged PR; None where it is none of this release's, was noted before, or was
    merged before anybody watched.
    """
    recorded = pull.number == record.pull
    known = record.was_merged(pull.number)
    if pull.state != "MERGED" or (known is not None and known.head_sha == pull.head_sha):
        return None
    at = pull.merged_at or observation.now
    watched = record.begun_at is not None and at >= record.begun_at
    if not recorded and (pull.base != observation.into_name or not watched or record.forgot_merge(at)):
        return None
    permit = next((p for p in record.merges_open if _is_of(p, pull)), None)
    receipts = _authorizing(pull, at, record, observation, policy)
    merged = MergedRelease(
        pull=pull.number,
        head_sha=pull.head_sha,
        base=pull.base,
        merge_sha=pull.merge_sha,
        at=at,
        by=pull.merged_by.login if pull.merged_by is not None else None,
        authorized=tuple(r.id for r in receipts),
        ours=permit is not None and (pull.merged_by is None or pull.merged_by.ours),
    )
    problem = _problem(pull, merged, permit, observation)
    words = f"PR #{pull.number} was merged"
    return NoteReleaseMerge(merged, problem, words if problem is None else f"{words}: {problem}")


def carrying(pull: ReleasePull, record: ReleaseRecord, observation: ReleaseObservation, policy: Policy) -> int | None:
    """The PR of this release whose authorized merge made the very commit with which another release's `pull` came into
    the base: a commit that was authorized brings what it contains, and GitHub shows that one as merged too.
    """
    if pull.merge_sha is None or pull.base != observation.into_name:
        return None
    noted = next((m for m in record.merged if m.merge_sha == pull.merge_sha and m.base == pull.base), None)
    if noted is not None:
        return noted.pull if noted.authorized else None
    for own in observation.pulls:
        seen = merge_seen(own, record, observation, policy) if own.merge_sha == pull.merge_sha else None
        if seen is not None and seen.problem is None:
            return own.number
    return None


def incident_marker(branch: str, incident: Incident) -> str:
    """The first line of an incident's Issue."""
    return f"<!-- agent-recovery:incident:{digest_of_branch(branch)}:{incident.pull}:{incident.head_sha[:12]} -->"


def incident_issue(incident: Incident, record: ReleaseRecord, observation: ReleaseObservation) -> CreateIncident:
    """The Issue of an incident: its words depend on the ledger alone, so that whoever writes it writes the same."""
    marker = incident_marker(record.branch, incident)
    return CreateIncident(
        incident.pull,
        incident.head_sha,
        marker,
        f"Incident: release PR #{incident.pull} was merged without authorization "
        f"({as_title(record.branch, _TITLE_BYTES)})",
        _body(marker, incident, record, observation),
        incident.reason,
    )


def _is_of(permit: ReleasePermit, pull: ReleasePull) -> bool:
    return (permit.target.number, permit.target.head_sha) == (pull.number, pull.head_sha)


def _authorizing(
    pull: ReleasePull, at: datetime, record: ReleaseRecord, observation: ReleaseObservation, policy: Policy
) -> tuple[Authorization, ...]:
    """The receipts that together let exactly this merge through at that moment; none where they did not."""
    if pull.base != observation.into_name:
        return ()
    stood = [r for r in record.authorizations if _stood(r, pull, at, policy)]
    until = {r.id: min(r.expires_at, r.at + policy.release.expires) for r in stood}
    found = together([Live(r, until[r.id]) for r in stood], policy, lambda r: _was_independent(r, observation))
    return tuple(j.receipt for j in found[0]) if found is not None else ()


def _was_independent(receipt: Authorization, observation: ReleaseObservation) -> bool:
    # What was merged is not ahead any more: a look after the merge finds too few who worked in it.
    worked = receipt.worked if receipt.worked is not None else worked_in_it(receipt.by, observation)
    return worked is False


def _stood(receipt: Authorization, pull: ReleasePull, at: datetime, policy: Policy) -> bool:
    meant = (receipt.pull, receipt.base, receipt.head_sha) == (pull.number, pull.base, pull.head_sha)
    timely = receipt.at <= at < min(receipt.expires_at, receipt.at + policy.release.expires)
    # Used up by this very merge, it stood before.
    voided = receipt.voided
    return meant and timely and (voided is None or voided.why == "merged" or voided.at > at)


def _problem(
    pull: ReleasePull, merged: MergedRelease, permit: ReleasePermit | None, o: ReleaseObservation
) -> str | None:
    if merged.base != o.into_name:
        return f"it went into {merged.base} and not into {o.into_name}"
    if merged.authorized or pull.carried_by is not None:
        return None
    if permit is not None and permit.state == "withdrawn":
        return "the App had sent it off while it was authorized, and GitHub carried it out after that had ended"
    if merged.ours:
        return "the App merged it, and what had let it through did not stand at that moment any more"
    return f"nobody's word for {merged.head_sha} stood at that moment"


def _body(marker: str, incident: Incident, record: ReleaseRecord, observation: ReleaseObservation) -> str:
    merged = record.was_merged(incident.pull)
    lines = [
        marker,
        f"Release PR #{incident.pull} was merged although it was not authorized: "
        f"{inline(incident.reason, _REASON_BYTES)}.",
        "",
        "| | |",
        "|---|---|",
        f"| merged by | {inline(merged.by, _NAME_BYTES) if merged is not None and merged.by else 'not known'} |",
        f"| at | {instant_text(incident.at)} |",
        f"| commit | `{incident.head_sha}` |",
        f"| merge commit | {_code(merged.merge_sha if merged is not None else None)} |",
        f"| from | {inline(record.branch, _NAME_BYTES)} |",
        f"| into | {inline(merged.base if merged is not None else record.into, _NAME_BYTES)} |",
        "",
        *_what_was_authorized(incident, record),
        "",
        "Nothing was undone. To do: look whether this commit should be there; take it back if not (`git revert` on "
        "what it brought, with `-m 1` where that is a merge commit, as a pull request); and look whether the check "
        "`Agent Recovery / release` is required there: "
        f"`agent-recovery doctor --repo {observation.owner}/{observation.name}`.",
    ]
    return "\n".join(lines) + "\n"


def _what_was_authorized(incident: Incident, record: ReleaseRecord) -> list[str]:
    found = [a for a in record.authorizations if a.pull == incident.pull][-MOST_RECEIPTS:]
    if not found:
        return ["Nobody had authorized anything of this PR."]
    lines = [
        "What had been authorized of this PR:",
        "",
        "| by | commit | said | until | ended |",
        "|---|---|---|---|---|",
    ]
    for a in found:
        ended = f"{instant_text(a.voided.at)}: {a.voided.why}" if a.voided is not None else ""
        lines.append(
            f"| {inline(a.by.login, _NAME_BYTES)} | `{a.head_sha}` | {instant_text(a.at)} "
            f"| {instant_text(a.expires_at)} | {ended} |"
        )
    return lines


def _code(sha: str | None) -> str:
    return f"`{sha}`" if sha is not None else "not known"
