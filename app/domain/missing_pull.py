"""Where a ticket's work is and where it goes, rebuilt from evidence: for a branch that has work and no PR.

The evidence, in this order: the record, a branch linked to the Issue, the branch's name, the trailers of its own
commits, the Project's target release, the Issues it waits for. Each piece that was used is named in the answer. Where
two contradict each other, or nothing says it, the answer is what is missing and who can say it: never a guess, because
a PR on the wrong branch or for the wrong ticket does more harm than none.

A branch without a commit of its own is not started, which is no fault. What a person did to a PR of the branch (opened
it onto another branch, closed it) is that person's word.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.branch_clues import (
    MOST_BLOCKING,
    MOST_CANDIDATES,
    MOST_TRUNKS,
    Clues,
    Compared,
    NoCommonHistory,
    Pair,
    PullClue,
    TicketBranch,
    Waited,
)
from app.domain.branches import owner_of_branch, ticket_of_branch
from app.domain.observation import Branch
from app.domain.ticket_evidence import names_release


class Source(StrEnum):
    """What spoke, in the order in which it is asked."""

    RECORD = "the record"
    LINKED_BRANCH = "the linked branch"
    BRANCH_NAME = "the branch's name"
    PULL = "the open pull request"
    TRAILERS = "the commit trailers"
    PROJECT = "the Project field"
    DEPENDENCIES = "the dependencies"
    POLICY = "the policy's trunks"


@dataclass(frozen=True)
class Said:
    """One piece of evidence: who says it, and what."""

    source: Source
    what: str

    def __str__(self) -> str:
        return f"by {self.source}, {self.what}"


class Gap(StrEnum):
    """What is missing, or what cannot be."""

    SEVERAL_BRANCHES = "several-branches"
    SEVERAL_PULLS = "several-pulls"
    BRANCH_ELSEWHERE = "branch-elsewhere"
    CONTRADICTION = "contradiction"
    NO_TRUNK = "no-trunk"
    TRUNK_UNCLEAR = "trunk-unclear"
    BASE_IS_NO_TRUNK = "base-is-no-trunk"
    BRANCHING_DEPENDENCIES = "branching-dependencies"
    UNRELATED = "unrelated-history"
    PREDECESSOR_UNCLEAR = "predecessor-unclear"


@dataclass(frozen=True)
class Uncertain:
    """The App opens no PR: `reason` names what is missing or the two that contradict, `remedy` what settles it."""

    gap: Gap
    reason: str
    remedy: str


@dataclass(frozen=True)
class NotStarted:
    """There is nothing to open a PR for, and nothing is wrong."""

    reason: str


@dataclass(frozen=True)
class NoTicket:
    """The number is no open Issue's: nothing of it is touched, and nobody is told."""

    reason: str


@dataclass(frozen=True)
class LeftAlone:
    """A person closed the branch's PR: that is left as it is."""

    pull: int
    reason: str


@dataclass(frozen=True)
class Predecessor:
    """The ticket that the work is stacked on. `sha`: its newest commit that the work contains."""

    number: int
    branch: str
    sha: str


@dataclass(frozen=True)
class Rebuilt:
    """The work's branch and head, the trunk it lands on, and the base of its PR: the trunk, or the predecessor's branch
    where it is stacked. `base_sha` is the newest commit it shares with that base. `pull`: its open PR, where there is
    one.
    """

    branch: str
    sha: str
    trunk: str
    base: str
    base_sha: str
    because: tuple[Said, ...]
    predecessor: Predecessor | None = None
    pull: int | None = None


@dataclass(frozen=True)
class ToCompare:
    """These comparisons decide, and were not made yet."""

    pairs: tuple[Pair, ...]


Found = Rebuilt | NotStarted | NoTicket | LeftAlone | Uncertain | ToCompare
_NAME_OTHERS = "delete or rename the others, or let an agent claim the ticket"


class _Unsettled(Exception):
    """Carries an answer out of the middle of the reasoning."""

    def __init__(self, answer: NotStarted | NoTicket | LeftAlone | Uncertain | ToCompare) -> None:
        super().__init__()
        self.answer = answer


def rebuild(clues: Clues) -> Found:
    """What the evidence says together. `ToCompare` asks for more; nothing else does."""
    try:
        return _rebuilt(clues)
    except _Unsettled as unsettled:
        return unsettled.answer


def _rebuilt(c: Clues) -> Rebuilt:
    if c.subject != "open issue":
        raise _Unsettled(NoTicket(_NO_TICKET[c.subject].format(c.ticket)))
    branch, said = _branch(c)
    pull = _open_pull(c, branch)
    stacked = _declared_base(c, branch, pull)
    trunk, why = _trunk(c, branch, pull if stacked is None else None)
    predecessor = _predecessor(c, branch, trunk, stacked)
    base = Branch(predecessor[0].branch, predecessor[1]) if predecessor else trunk
    over = _compare(c, base.sha, branch.sha)
    if over.ahead == 0:
        raise _Unsettled(NotStarted(f"the branch {branch.name!r} has no commit of its own over {base.name!r}"))
    trailers = _trailers(c, said[0], over, stacked_on=predecessor[0].number if predecessor else None)
    stack = (
        (Said(Source.DEPENDENCIES, f"#{predecessor[0].number} comes first, and the work builds on its branch"),)
        if predecessor
        else ()
    )
    return Rebuilt(
        branch=branch.name,
        sha=branch.sha,
        trunk=trunk.name,
        base=base.name,
        base_sha=over.base,
        because=(*said, *trailers, why, *stack),
        predecessor=predecessor[0] if predecessor else None,
        pull=pull.number if pull else None,
    )


_NO_TICKET = {
    "closed issue": "Issue #{} is closed",
    "pull request": "#{} is a pull request, not an Issue",
    "nothing": "no Issue has the number {}",
}


def _branch(c: Clues) -> tuple[TicketBranch, tuple[Said, ...]]:
    """The one branch with work, and what says that it is the ticket's."""
    if c.recorded is not None:
        known = next((b for b in c.branches if b.name == c.recorded.branch), None)
        if known is None:
            raise _Unsettled(NotStarted(f"the recorded branch {c.recorded.branch!r} does not stand"))
        return known, (Said(Source.RECORD, f"{known.name!r} is the branch of #{c.ticket}"),)
    candidates = [b for b in c.branches if _may_be(c, b)]
    if not candidates:
        if c.elsewhere:
            reason = f"the branch linked to #{c.ticket} is in another repository: {c.elsewhere[0]!r}"
            remedy = "push the work to a branch of this repository, named as the tickets' branches are or linked"
            raise _Unsettled(Uncertain(Gap.BRANCH_ELSEWHERE, reason, remedy))
        raise _Unsettled(NotStarted(f"no branch of #{c.ticket} stands"))
    if len(candidates) > MOST_CANDIDATES:
        raise _Unsettled(_several(c, candidates))
    with_work = list(_with_work(c, candidates))
    if not with_work:
        names = ", ".join(repr(b.name) for b in candidates)
        raise _Unsettled(NotStarted(f"no commit of its own is on the branch of #{c.ticket}: {names}"))
    if len(with_work) > 1:
        raise _Unsettled(_several(c, with_work))
    chosen = with_work[0]
    named = owner_of_branch(chosen.name)
    linked = Said(Source.LINKED_BRANCH, f"{chosen.name!r} is the branch of #{c.ticket}")
    by_name = Said(Source.BRANCH_NAME, f"it is the branch of #{named}")
    if chosen.linked and named is not None and named != c.ticket:
        raise _Unsettled(_contradiction(linked, by_name, "rename the branch, or link it to the Issue it is for"))
    if named == c.ticket:
        by_name = Said(Source.BRANCH_NAME, f"{chosen.name!r} is the branch of #{c.ticket}")
        return chosen, (linked, by_name) if chosen.linked else (by_name,)
    return chosen, (linked,)


def _may_be(c: Clues, branch: TicketBranch) -> bool:
    if branch.name in c.shared or any(branch.name == trunk.name for trunk in c.trunks):
        return False
    return branch.linked or ticket_of_branch(branch.name) == c.ticket


def _with_work(c: Clues, candidates: Sequence[TicketBranch]) -> Iterator[TicketBranch]:
    """Those with a commit over every trunk they could go to, which no merged PR brought there already."""
    against = {b.name: _could_go_to(c, b) for b in candidates}
    missing = [(t.sha, b.sha) for b in candidates for t in against[b.name] if (t.sha, b.sha) not in c.compared]
    if missing:
        raise _Unsettled(ToCompare(tuple(missing)))
    for branch in candidates:
        if any(p.state == "MERGED" and p.head_sha == branch.sha for p in _own(branch)):
            continue
        if any(branch.sha == trunk.sha for trunk in c.trunks):
            continue
        beside = [c.compared[(t.sha, branch.sha)] for t in against[branch.name]]
        if not any(isinstance(one, Compared) and one.ahead == 0 for one in beside):
            yield branch


def _could_go_to(c: Clues, branch: TicketBranch) -> tuple[Branch, ...]:
    """The trunk that is named, or all of them where they are few enough to ask about each."""
    named = {p.base for p in _own(branch) if p.state == "OPEN"}
    if c.release is not None and not any(trunk.name in named for trunk in c.trunks):
        named = {t.name for t in c.trunks if names_release(c.release.text, t.name)}
    chosen = tuple(trunk for trunk in c.trunks if trunk.name in named)
    return chosen or (c.trunks if len(c.trunks) <= MOST_TRUNKS else ())


def _own(branch: TicketBranch) -> list[PullClue]:
    """Its PRs, the newest first. Anybody's fork may have a branch of the same name."""
    return sorted((p for p in branch.pulls if p.own_repository), key=lambda p: -p.number)


def _open_pull(c: Clues, branch: TicketBranch) -> PullClue | None:
    pulls = _own(branch)
    standing = [p for p in pulls if p.state == "OPEN"]
    if len(standing) > 1:
        listed = ", ".join(f"#{p.number} onto {p.base!r}" for p in standing)
        reason = f"several open pull requests come from {branch.name!r}: {listed}"
        raise _Unsettled(Uncertain(Gap.SEVERAL_PULLS, reason, "close those that are not the ticket's"))
    if standing:
        pull = standing[0]
        if pull.names not in (None, c.ticket):
            first = Said(Source.PULL, f"#{pull.number} is for #{pull.names}")
            second = Said(Source.LINKED_BRANCH if branch.linked else Source.BRANCH_NAME, f"it is for #{c.ticket}")
            remedy = "put the right number into the first line of the pull request, or give the ticket its own branch"
            raise _Unsettled(_contradiction(first, second, remedy))
        return pull
    if pulls and pulls[0].state == "CLOSED" and pulls[0].head_sha == branch.sha:
        number = pulls[0].number
        raise _Unsettled(LeftAlone(number, f"PR #{number} was closed by a person: it is left alone until it is opened"))
    return None


def _declared_base(c: Clues, branch: TicketBranch, pull: PullClue | None) -> Waited | None:
    """The ticket onto whose branch a person opened the PR."""
    if pull is None:
        return None
    return next((w for w in c.waits_for if any(b.name == pull.base for b in w.branches)), None)


def _trunk(c: Clues, branch: TicketBranch, pull: PullClue | None) -> tuple[Branch, Said]:
    standing = {t.name: t for t in c.trunks}
    said: list[tuple[str, Said]] = []
    if c.recorded is not None:
        said.append((c.recorded.trunk, Said(Source.RECORD, f"the trunk is {c.recorded.trunk!r}")))
    if pull is not None:
        if pull.base not in standing:
            reason = f"PR #{pull.number} of {branch.name!r} goes to {pull.base!r}, which is no trunk by the policy"
            remedy = "change the base of the pull request to a trunk, or let trunks in the policy match its base"
            raise _Unsettled(Uncertain(Gap.BASE_IS_NO_TRUNK, reason, remedy))
        said.append((pull.base, Said(Source.PULL, f"the trunk is {pull.base!r}")))
    if c.release is not None:
        name = _released(c)
        said.append((name, Said(Source.PROJECT, f"{c.release.field} is {c.release.text!r}: the trunk is {name!r}")))
    if not said:
        return _only_trunk(c)
    name, first = said[0]
    for other, second in said[1:]:
        if other != name:
            raise _Unsettled(_contradiction(first, second, "make the two agree: a person decides which is right"))
    if name not in standing:
        reason = f"{first}, and no branch of this name is a trunk"
        raise _Unsettled(Uncertain(Gap.NO_TRUNK, reason, "create the release branch, or let the policy's trunks match"))
    return standing[name], first


def _released(c: Clues) -> str:
    assert c.release is not None
    field = f"{c.release.field} of Project {c.release.project} says {c.release.text!r}"
    named = [t.name for t in c.trunks if names_release(c.release.text, t.name)]
    if len(named) == 1:
        return named[0]
    if not named:
        remedy = "create the release branch, or choose another target release"
        raise _Unsettled(Uncertain(Gap.NO_TRUNK, f"{field}, and no trunk is of this name", remedy))
    listed = ", ".join(map(repr, named))
    remedy = "delete all of them but one, or name the release as only one of them is named"
    raise _Unsettled(Uncertain(Gap.TRUNK_UNCLEAR, f"{field}, and several trunks are of this name: {listed}", remedy))


def _only_trunk(c: Clues) -> tuple[Branch, Said]:
    if len(c.trunks) == 1:
        return c.trunks[0], Said(Source.POLICY, f"{c.trunks[0].name!r} is the only one")
    if not c.trunks:
        reason = "no existing branch is a trunk by the policy"
        raise _Unsettled(Uncertain(Gap.NO_TRUNK, reason, "create the release branch, or let the policy's trunks match"))
    listed = ", ".join(repr(t.name) for t in c.trunks[:5])
    reason = f"nothing says on which trunk #{c.ticket} lands; there are {listed}"
    remedy = "set its target release in the Project, open the pull request, or claim the ticket with --trunk"
    raise _Unsettled(Uncertain(Gap.TRUNK_UNCLEAR, reason, remedy))


def _predecessor(
    c: Clues, branch: TicketBranch, trunk: Branch, declared: Waited | None
) -> tuple[Predecessor, str] | None:
    """The ticket that the work builds on, with its branch's head: its own commits are in the work."""
    waited = list(c.waits_for[:MOST_BLOCKING])
    found = [(w, b, sha) for w in waited for b in w.branches if (sha := _shared(c, branch, trunk, b)) is not None]
    recorded = c.recorded.predecessor if c.recorded is not None else None
    if recorded is not None and found and all(w.number != recorded for w, _, _ in found):
        first = Said(Source.RECORD, f"the work builds on #{recorded}")
        second = Said(Source.DEPENDENCIES, f"it builds on #{found[0][0].number}")
        raise _Unsettled(_contradiction(first, second, "a person decides which is right"))
    if declared is not None and all(w is not declared for w, _, _ in found):
        first = Said(Source.PULL, f"the work builds on #{declared.number}")
        second = Said(Source.BRANCH_NAME, f"no commit of #{declared.number} is in {branch.name!r}")
        raise _Unsettled(
            _contradiction(first, second, f"merge the branch of #{declared.number} in, or change the base")
        )
    if not found:
        return None
    top = _topmost(c, found)
    waited_for, its_branch, sha = top
    return Predecessor(waited_for.number, its_branch.name, sha), its_branch.sha


def _shared(c: Clues, branch: TicketBranch, trunk: Branch, other: Branch) -> str | None:
    """The newest commit of `other` that the work has, where it is not on the trunk."""
    if other.name in (branch.name, trunk.name) or other.name in c.shared:
        return None
    beside = c.compared.get((other.sha, branch.sha))
    if beside is None:
        raise _Unsettled(ToCompare(((other.sha, branch.sha),)))
    if isinstance(beside, NoCommonHistory):
        return None
    over = c.compared.get((trunk.sha, beside.base))
    if over is None:
        raise _Unsettled(ToCompare(((trunk.sha, beside.base),)))
    return beside.base if isinstance(over, Compared) and over.ahead > 0 else None


def _topmost(c: Clues, found: Sequence[tuple[Waited, Branch, str]]) -> tuple[Waited, Branch, str]:
    """Of several, the one whose shared commit contains all the others'."""
    if len(found) == 1:
        return found[0]
    missing = [(o[2], t[2]) for t in found for o in found if o[2] != t[2] and (o[2], t[2]) not in c.compared]
    if missing:
        raise _Unsettled(ToCompare(tuple(dict.fromkeys(missing))))
    for top in found:
        beside = [c.compared[(o[2], top[2])] for o in found if o[2] != top[2]]
        if len(beside) == len(found) - 1 and all(isinstance(b, Compared) and b.behind == 0 for b in beside):
            return top
    listed = " and ".join(f"#{w.number} ({b.name!r})" for w, b, _ in found)
    reason = f"the work builds on {listed}, and neither contains the other"
    remedy = "land one of them first, or build one on the other"
    raise _Unsettled(Uncertain(Gap.BRANCHING_DEPENDENCIES, reason, remedy))


def _trailers(c: Clues, branch_says: Said, over: Compared, *, stacked_on: int | None) -> tuple[Said, ...]:
    strangers = [n for n in over.names if n not in (c.ticket, stacked_on)]
    if strangers:
        named = ", ".join(f"#{n}" for n in strangers)
        says = Said(Source.TRAILERS, f"its commits are for {named}")
        remedy = f"say in #{c.ticket} which Issue it is blocked by, or give each ticket a branch of its own"
        raise _Unsettled(_contradiction(branch_says, says, remedy))
    if c.ticket not in over.names:
        return ()
    rest = "" if over.read_all else ", as far as they were read"
    return (Said(Source.TRAILERS, f"its commits are for #{c.ticket}{rest}"),)


def _compare(c: Clues, base: str, head: str) -> Compared:
    beside = c.compared.get((base, head))
    if beside is None:
        raise _Unsettled(ToCompare(((base, head),)))
    if isinstance(beside, NoCommonHistory):
        reason = f"the branch of #{c.ticket} has no commit in common with the branch it would go to"
        raise _Unsettled(Uncertain(Gap.UNRELATED, reason, "begin the branch at the trunk, and put the work there"))
    return beside


def _several(c: Clues, branches: Sequence[TicketBranch]) -> Uncertain:
    listed = ", ".join(repr(b.name) for b in branches[:5])
    reason = f"several branches are for #{c.ticket}, and each has work: {listed}"
    return Uncertain(Gap.SEVERAL_BRANCHES, reason, _NAME_OTHERS)


def _contradiction(first: Said, second: Said, remedy: str) -> Uncertain:
    return Uncertain(Gap.CONTRADICTION, f"{first}, but {second}", remedy)
