"""Which policy is in force: the one of the file on the default branch, or, where that file cannot be used, the last one
that could.

A mistake in the file must neither stop every ticket nor switch on what nobody wrote, so the last valid policy stays.
Only what stood on the default branch itself counts: a commit that came with a merge was in force nowhere. A file that
was deleted is a decision, not a mistake: nothing older is in force then, nor after a broken file that follows it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from app.domain.outcome import Blocked, Code
from app.domain.policy import PATH, Policy
from app.domain.policy_text import PolicyReading, Problem, read_policy

SHOWN_PROBLEMS = 3


@dataclass(frozen=True)
class PolicyVersion:
    """The policy file at a commit of the default branch; `text` is None where there was none."""

    commit: str
    text: str | None


@dataclass(frozen=True)
class OlderPolicy:
    """The last valid policy, and the last commit of the default branch at which it stood."""

    policy: Policy
    commit: str
    clamps: tuple[str, ...] = ()


@dataclass(frozen=True)
class InForce:
    """`reading` is the file's as it stands; `older` is in force where that cannot be used."""

    reading: PolicyReading
    older: OlderPolicy | None = None

    @property
    def policy(self) -> Policy | None:
        """The policy in force; None where nothing may be written."""
        if self.reading.policy is not None:
            return self.reading.policy
        return self.older.policy if self.older is not None else None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the file as it stands."""
        return self.reading.problems

    @property
    def clamps(self) -> tuple[str, ...]:
        """Values of the policy in force that were moved to their bounds."""
        if self.reading.policy is None and self.older is not None:
            return self.older.clamps
        return self.reading.clamps

    @property
    def is_older(self) -> bool:
        return self.reading.policy is None and self.older is not None

    @property
    def note(self) -> str | None:
        """That an older policy is in force, from which commit and why; None where the file's own is, or none."""
        if not self.is_older or self.older is None:
            return None
        return f"{PATH} cannot be used ({shown(self.problems)}), so that of commit {self.older.commit[:12]} is in force"


def last_valid(versions: Iterable[PolicyVersion]) -> OlderPolicy | None:
    """The last valid policy of a line of versions, the newest first; None where there was none, or where the file was
    deleted since.
    """
    for version in versions:
        if version.text is None:
            return None
        reading = read_policy(version.text)
        if reading.policy is not None:
            return OlderPolicy(reading.policy, version.commit, reading.clamps)
    return None


def no_policy(in_force: InForce) -> Blocked:
    """Why nothing is granted: there is no policy, and none was valid before."""
    remedy = f"add or mend {PATH} on the default branch; `agent-recovery init --repo OWNER/NAME` proposes one"
    if not in_force.problems:
        return Blocked(Code.NO_POLICY, "the default branch has no policy file", remedy)
    reason = f"the policy cannot be used ({shown(in_force.problems)}), and none before it is in force"
    return Blocked(Code.NO_POLICY, reason, remedy)


def noted(blocked: Blocked, in_force: InForce) -> Blocked:
    """A refusal that also says that an older policy is in force, where one is."""
    note = in_force.note
    return blocked if note is None else replace(blocked, reason=f"{blocked.reason}. {note}")


def shown(problems: Iterable[Problem]) -> str:
    """The first problems of a file, in one line."""
    told = [f"line {p.line}: {p.message}" if p.line else p.message for p in problems]
    more = f" and {len(told) - SHOWN_PROBLEMS} more" if len(told) > SHOWN_PROBLEMS else ""
    return "; ".join(told[:SHOWN_PROBLEMS]) + more
