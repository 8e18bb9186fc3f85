"""The one comment of the App on a release PR: what is authorized, by whom, for how long, and what is missing.

It is found again by its marker and our App, and edited in place; it shows, and permits nothing.
"""

from app.domain.authorization import Authorized, Live, NotYet, Unsure, Void
from app.domain.authorizers import listed
from app.domain.model import instant_text
from app.domain.policy import Mode, Policy
from app.domain.release_actions import ReportOnRelease, report_marker
from app.domain.release_external_id import digest_of_branch
from app.domain.release_guard import GUARD_NAME
from app.domain.release_observation import ReleaseObservation
from app.domain.release_record import ReleaseRecord
from app.domain.release_standing import ReleaseStanding
from app.domain.untrusted import inline

MOST_SHOWN = 10
_NAME_BYTES = 120
_REASON_BYTES = 400


def release_marker(branch: str) -> str:
    """The first line of the comment."""
    return f"<!-- agent-recovery:release:{digest_of_branch(branch)} -->"


def release_comment(
    record: ReleaseRecord, standing: ReleaseStanding, observation: ReleaseObservation, policy: Policy
) -> str:
    """The text of the comment, the same for the same state: no moment of looking stands in it."""
    pull, verdict = standing.pull, standing.verdict
    head = pull.head_sha if pull is not None else "unknown"
    lines = [release_marker(record.branch), "### Release", "", _verdict(verdict), ""]
    if isinstance(verdict, NotYet):
        lines += [f"What helps: {verdict.remedy}.", ""]
    elif policy.mode is Mode.FULL:
        lines += ["A permitted person lets the App merge it with `/recovery merge-release`, or merges it here.", ""]
    else:
        lines += [f"A person merges it here: in mode {policy.mode.value} the App merges nothing.", ""]
    lines += [
        "| | |",
        "|---|---|",
        f"| from | {inline(record.branch, _NAME_BYTES)} |",
        f"| into | {inline(observation.into_name, _NAME_BYTES)} |",
        f"| head | `{head}` |",
        f"| guard | {GUARD_NAME}: {'green' if isinstance(verdict, Authorized) else 'red'} |",
        f"| asked for | {_asked_for(policy)} |",
    ]
    lines += _receipts(standing)
    lines += _begun_anew(record)
    lines += _withdrawn(record)
    lines += ["", "A new commit, another base, an edited or deleted comment, or `/recovery revoke-release` ends it."]
    return "\n".join(lines) + "\n"


def shows_authorized(text: str, sha: str) -> bool:
    """Whether a comment of ours shows this commit as authorized."""
    return f"**Authorized** for `{sha}` by " in text


def _verdict(verdict: Authorized | NotYet) -> str:
    if isinstance(verdict, NotYet):
        return f"**Not authorized:** {inline(verdict.reason, _REASON_BYTES)}."
    by = ", ".join(inline(person.login, _NAME_BYTES) for person in verdict.by)
    return f"**Authorized** for `{verdict.sha}` by {by}, until {instant_text(verdict.until)}."


def _asked_for(policy: Policy) -> str:
    who = inline(listed(policy.release), _REASON_BYTES)
    return f"{policy.release.approvals} of: {who}" if policy.release.authorizers else who


def _receipts(standing: ReleaseStanding) -> list[str]:
    if not standing.judgements:
        return []
    shown = standing.judgements[-MOST_SHOWN:]
    lines = ["", "| by | commit | said | counts |", "|---|---|---|---|"]
    for found in reversed(shown):
        receipt = found.receipt
        lines.append(
            f"| {inline(receipt.by.login, _NAME_BYTES)} | `{receipt.head_sha[:12]}` | {instant_text(receipt.at)} "
            f"| {_counts(found)} |"
        )
    return lines


def _counts(found: Live | Void | Unsure) -> str:
    match found:
        case Live(until=until):
            return f"until {instant_text(until)}"
        case Void(reason=reason):
            return f"no: {inline(reason, _REASON_BYTES)}"
        case Unsure(reason=reason):
            return f"not known: {inline(reason, _REASON_BYTES)}"


def _withdrawn(record: ReleaseRecord) -> list[str]:
    late = [p for p in record.merges_open if p.state == "withdrawn"]
    if not late:
        return []
    shas = ", ".join(f"`{p.target.head_sha}`" for p in late)
    return [
        "",
        f"The App had asked GitHub to merge {shas} before the ground for it was gone. GitHub may still carry that out "
        "until the release branch has another head; it would be told as an incident.",
    ]


def _begun_anew(record: ReleaseRecord) -> list[str]:
    anew = record.rebuilt
    if anew is None or any(one.at >= anew.at for one in record.authorizations):
        return []
    who = inline(anew.by, _NAME_BYTES)
    return [
        "",
        f"{who} had the ledger of this release begun anew at {instant_text(anew.at)}: what was authorized before that "
        "counts no more, and a merge that was under way then would be told as an incident.",
    ]


def report_text(action: ReportOnRelease) -> str:
    """The text of a report: a comment of its own, because an edit notifies nobody."""
    who = f"@{action.mention}: " if action.mention is not None else ""
    reason = action.reason[:1].upper() + action.reason[1:] if not who else action.reason
    return f"{report_marker(action.edge)}\n{who}{reason}.\n\nWhat helps: {action.remedy}.\n"
