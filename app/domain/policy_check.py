"""What the check-run `Agent Recovery / policy` says of the policy file at a commit.

On the head of the default branch it fails while the file there cannot be used, whichever commit broke it; it succeeds
on a commit that changes the file, and where it had failed before. On the head of a pull request it speaks only where
the pull request changes the file. Other commits get none: nobody is to wait for a check that has nothing to say.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from app.domain.observation import CheckRun
from app.domain.policy import PATH, Policy
from app.domain.policy_in_force import InForce
from app.domain.policy_text import PolicyReading, read_policy
from app.domain.untrusted import inline

NAME = "Agent Recovery / policy"
"""The name of the check-run."""
EXTERNAL_ID = "policy"
"""Its `external_id`: it speaks of no ticket, so it is no witness of any ledger."""
MOST_TOLD = 20
_LONGEST = 300


@dataclass(frozen=True)
class PolicyAt:
    """A commit with the policy file there (`text` None: no file). `changed`: this commit, or the pull request whose
    head it is, changes the file. `runs`: our check-runs of this name, whichever the order.
    """

    sha: str
    text: str | None
    changed: bool
    runs: tuple[CheckRun, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What a commit is to show. `run`: ours that stands there and says something else; None where there is none."""

    sha: str
    conclusion: Literal["success", "failure"]
    title: str
    summary: str
    run: int | None = None


def of_default_branch(at: PolicyAt, in_force: InForce) -> Verdict | None:
    """What the head of the default branch is to show; None where it shows it, or needs to show nothing."""
    if at.text is None:
        return None
    reading = read_policy(at.text)
    if reading.policy is not None and not at.changed and not at.runs:
        return None
    where = f"`{PATH}` on the default branch"
    if reading.policy is not None:
        return _unless_shown(at, _valid(reading, reading.policy, f"{where} is in force"))
    older = in_force.older
    stays = (
        f"The policy of commit {older.commit} stays in force (mode {older.policy.mode})."
        if older is not None
        else "No policy before it was valid, so nothing is written."
    )
    return _unless_shown(at, _unusable(reading, f"{where} cannot be used. {stays}"))


def of_pull(at: PolicyAt) -> Verdict | None:
    """What the head of a pull request that changes the file is to show; None where it shows it, or changes nothing."""
    if not at.changed:
        return None
    if at.text is None:
        summary = f"This deletes `{PATH}`. Once that is merged the App writes nothing in this repository."
        return _unless_shown(at, Verdict(at.sha, "success", "The policy is deleted", summary))
    reading = read_policy(at.text)
    if reading.policy is None:
        return _unless_shown(at, _unusable(reading, f"`{PATH}` could not be used if this was merged."))
    return _unless_shown(at, _valid(reading, reading.policy, f"`{PATH}` counts once it is on the default branch"))


def _unless_shown(at: PolicyAt, said: Verdict) -> Verdict | None:
    # Of several, people are shown the newest.
    newest = max(at.runs, key=lambda run: run.id, default=None)
    if newest is None:
        return Verdict(at.sha, said.conclusion, said.title, said.summary)
    shown = (newest.conclusion, newest.title, (newest.summary or "").strip())
    if shown == (said.conclusion, said.title, said.summary.strip()):
        return None
    return Verdict(at.sha, said.conclusion, said.title, said.summary, newest.id)


def _valid(reading: PolicyReading, policy: Policy, words: str) -> Verdict:
    notes = len(reading.clamps) + len(reading.problems)
    title = f"Valid: mode {policy.mode}" + (f", {notes} to look at" if notes else "")
    lines = [f"{words}: mode {policy.mode}.", *_told(reading)]
    return Verdict("", "success", title, "\n".join(lines))


def _unusable(reading: PolicyReading, words: str) -> Verdict:
    first = reading.problems[0] if reading.problems else None
    line = f"line {first.line}" if first is not None and first.line else "the file as a whole"
    title = f"The policy cannot be used: {line}"
    return Verdict("", "failure", title, "\n".join([words, *_told(reading)]))


def _told(reading: PolicyReading) -> Iterator[str]:
    """A list of what is wrong, each with its line and what to do, and of values that were moved."""
    problems = [
        f"- {f'Line {p.line}' if p.line else 'The file'}: {_plain(p.message)}. To do: {_plain(p.remedy)}."
        for p in reading.problems
    ]
    clamps = [f"- Moved to its bounds: {_plain(clamp)}." for clamp in reading.clamps]
    told = [*problems, *clamps]
    if told:
        yield ""
        yield from told[:MOST_TOLD]
    if len(told) > MOST_TOLD:
        yield f"- {len(told) - MOST_TOLD} more."


def _plain(text: str) -> str:
    return inline(text.rstrip("."), _LONGEST)
