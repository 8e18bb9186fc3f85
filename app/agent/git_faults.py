"""What a person or agent is told when git or the remote says no: git's own words, the code that fits, what to do."""

import re

from app.domain.outcome import Blocked, Code, Refused
from app.ledger.git_program import Fault

_WAYS_ON: dict[Fault, tuple[Code, str]] = {
    Fault.UNAUTHENTICATED: (
        Code.UNAUTHENTICATED,
        "set GITHUB_TOKEN to a valid user token that may write to the repository, then run the same command again",
    ),
    Fault.FORBIDDEN: (
        Code.FORBIDDEN,
        "give the token of GITHUB_TOKEN write access to the repository's contents (and its organisation's SSO), or "
        "unset it to go through the service with the lease token; then run the same command again",
    ),
    Fault.NOT_FOUND: (
        Code.NOT_FOUND,
        "check that the repository still has this name and that GITHUB_TOKEN may see it, then run it again",
    ),
    Fault.SERVICE: (Code.FORBIDDEN, "run `agent-recovery brief`: it shows how the ticket stands"),
    Fault.DECLINED: (
        Code.FORBIDDEN,
        "a rule of the repository forbids it: tell a person what is said above; your commits are still in this clone",
    ),
    Fault.CONTENT: (
        Code.USAGE,
        "take that out of your commits (amend or rebase what is not published yet), then push again",
    ),
    Fault.NAME_TAKEN: (
        Code.BRANCH_BLOCKED,
        "a person must rename or delete that branch; then push again, your commits are still in this clone",
    ),
    Fault.LOCAL: (Code.USAGE, "mend that on this machine, then run the same command again"),
    Fault.UNHEARD: (Code.UNAVAILABLE, "run the same command again: nothing happens twice"),
    Fault.OTHER: (Code.USAGE, "mend that and run the same command again"),
}


_SAID_BY_SERVICE = re.compile(rf"\b({'|'.join(Code)}): (.+)")
_NEXT = "remote: next: "


def refused_by_git(what: str, reason: str, fault: Fault) -> Refused:
    """`what` was not done, and `reason` is why, in git's words; the service's, where git went through it."""
    if fault is Fault.SERVICE and (told := _told_by_service(what, reason)) is not None:
        return Refused(told)
    code, remedy = _WAYS_ON[fault]
    return Refused(Blocked(code, f"{what}: {reason}", remedy, retryable=fault is Fault.UNHEARD))


def _told_by_service(what: str, reason: str) -> Blocked | None:
    """The refusal that stands in git's words: its code decides the exit code, its next action is the remedy."""
    lines = reason.split(" / ")
    said = next((found for line in lines if (found := _SAID_BY_SERVICE.search(line))), None)
    if said is None:
        return None
    look = "run `agent-recovery brief`: it shows how the ticket stands"
    remedy = next((line.removeprefix(_NEXT).strip() for line in lines if line.startswith(_NEXT)), look)
    return Blocked(Code(said[1]), f"{what}: {said[2].strip().removesuffix(')')}", remedy)
