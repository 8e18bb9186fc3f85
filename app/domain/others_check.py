"""What the check-run `Agent Recovery` says about the head of a pull request that is no ticket's.

Success: the App has no part in it and does nothing else to it, so a check that a repository requires everywhere stands
in nobody's way. Where the policy says `release.exclusive`, a pull request that goes into the base of releases past any
release fails, save from the branches in `main_exceptions`; a branch of a fork is no exception, whatever its name.

One commit may be the head of several pull requests: the run says the worst of them, and names those it is about. A
commit that has a run of a ticket's is that ticket's to speak about, and gets no second one.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from app.domain.branches import owner_of_branch
from app.domain.external_id import parse
from app.domain.observation import Observation
from app.domain.policy import Policy
from app.domain.pull_class import Ground, PullClass, Refs, class_of, ground_of, refs_of
from app.domain.ticket_id import number_of
from app.domain.untrusted import inline
from app.domain.verdict import Verdict

OTHERS_ID = "not-a-ticket"
"""The `external_id` of these runs: no ticket's, so no witness of any ledger."""
NO_TICKET = "Not an agent ticket"
ONLY_RELEASES = "Only releases go into this branch"
_NAMED = 20


@dataclass(frozen=True)
class Run:
    """A check-run of ours on the head."""

    id: int
    conclusion: str | None
    external_id: str
    title: str | None = None


@dataclass(frozen=True)
class OpenPull:
    """An open pull request with its refs, its head, and our check-runs there."""

    number: int
    refs: Refs
    head_sha: str
    runs: tuple[Run, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What a head is to show. `run` is the one of ours that stands there and says something else, None without one."""

    head_sha: str
    numbers: tuple[int, ...]
    conclusion: Literal["success", "failure"]
    title: str
    summary: str
    run: int | None = None


def answers(pulls: Iterable[OpenPull], ground: Ground, policy: Policy) -> tuple[Answer, ...]:
    """The heads that do not show yet what they should. `pulls` are those of nobody."""
    by_head: dict[str, list[OpenPull]] = {}
    for pull in pulls:
        by_head.setdefault(pull.head_sha, []).append(pull)
    wanted = (_answer(sha, sorted(of, key=lambda p: p.number), ground, policy) for sha, of in by_head.items())
    return tuple(answer for answer in wanted if answer is not None)


def _answer(sha: str, pulls: Sequence[OpenPull], ground: Ground, policy: Policy) -> Answer | None:
    runs = {run.id: run for p in pulls for run in p.runs}
    if any(parse(run.external_id) for run in runs.values()):
        return None
    # Of several, people are shown the newest.
    run = runs[max(runs)] if runs else None
    trespassing = [p for p in pulls if trespasses(p.refs, ground, policy)]
    conclusion, title, summary = _refused(trespassing, ground) if trespassing else _nothing(pulls)
    if run is not None and (run.conclusion, run.title) == (conclusion, title):
        return None
    numbers = tuple(p.number for p in pulls)
    return Answer(sha, numbers, conclusion, title, summary, run.id if run is not None else None)


def trespasses(refs: Refs, ground: Ground, policy: Policy) -> bool:
    """Whether a pull request goes where the policy lets nothing but releases go."""
    if not policy.release.exclusive or refs.base != ground.into:
        return False
    if class_of(refs, ground).kind is PullClass.RELEASE:
        return False
    return not (refs.own and refs.head in policy.main_exceptions)


def trespassing_with(head_sha: str, observation: Observation, policy: Policy) -> tuple[int, ...]:
    """The open pull requests from a ticket's own branch, at this head, that go where nothing but releases go: the
    ticket's check-run says so, whatever it would say of the commit.
    """
    ground, full_name = ground_of(observation, policy), f"{observation.owner}/{observation.name}"
    here = (p for p in observation.pulls if (p.state, p.head_sha) == ("OPEN", head_sha))
    return tuple(sorted(p.number for p in here if trespasses(refs_of(p, full_name), ground, policy)))


def trespassing_verdict(numbers: Sequence[int], into: str) -> Verdict:
    """What the check-run of a ticket's head says then."""
    listed = ", ".join(f"#{number}" for number in numbers)
    return Verdict(
        "action_required",
        ONLY_RELEASES,
        f"The policy says `release.exclusive`, and {listed} would bring this commit into {inline(into, 250)} past any "
        "release.\n\nClose it, or change its base to the ticket's trunk.",
    )


def _nothing(pulls: Sequence[OpenPull]) -> tuple[Literal["success"], str, str]:
    return (
        "success",
        NO_TICKET,
        f"Agent Recovery has no part in {_named(pulls)}: it says nothing about the work and changes nothing here.",
    )


def _refused(pulls: Sequence[OpenPull], ground: Ground) -> tuple[Literal["failure"], str, str]:
    into = inline(ground.into, 250)
    return (
        "failure",
        ONLY_RELEASES,
        f"The policy says `release.exclusive`, and {_named(pulls)} would bring something else into {into}.\n\n"
        "Change its base to a release branch, or add its head branch to `main_exceptions` in "
        "`.github/agent-recovery.yml`.",
    )


def _named(pulls: Sequence[OpenPull]) -> str:
    more = f" and {len(pulls) - _NAMED} more" if len(pulls) > _NAMED else ""
    return ", ".join(f"#{p.number}" for p in pulls[:_NAMED]) + more


def is_nobodys(refs: Refs, tickets: Container[int]) -> bool:
    """Whether a pull request is no ticket's and no child's. `tickets`: the Issues that are tickets, by their ledgers or
    by enrolment.
    """
    owner = owner_of_branch(refs.head) if refs.own else None
    return owner is None or number_of(owner) not in tickets
