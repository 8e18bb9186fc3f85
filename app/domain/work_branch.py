"""Which branch holds a ticket's work, and its open pull request, by the evidence there is: see `missing_pull`."""

from collections.abc import Iterator, Sequence

from app.domain.branch_clues import MOST_CANDIDATES, MOST_TRUNKS, Clues, Compared, PullClue, TicketBranch
from app.domain.branches import owner_of_branch, ticket_of_branch
from app.domain.observation import Branch
from app.domain.pull_evidence import (
    Gap,
    LeftAlone,
    NotStarted,
    Said,
    Source,
    ToCompare,
    Uncertain,
    Unsettled,
    contradiction,
)
from app.domain.ticket_evidence import names_release

_NAME_OTHERS = "delete or rename the others, or let an agent claim the ticket"


def branch_of(c: Clues) -> tuple[TicketBranch, tuple[Said, ...]]:
    """The one branch with work, and what says that it is the ticket's. Raises Unsettled."""
    if c.recorded is not None:
        known = next((b for b in c.branches if b.name == c.recorded.branch), None)
        if known is None:
            raise Unsettled(NotStarted(f"the recorded branch {c.recorded.branch!r} does not stand"))
        said = Said(Source.RECORD, f"{known.name!r} is the branch of #{c.ticket}")
        _require_none_beside(c, known, said)
        return known, (said,)
    candidates = [b for b in c.branches if _may_be(c, b)]
    if not candidates:
        if c.elsewhere:
            reason = f"the branch linked to #{c.ticket} is in another repository: {c.elsewhere[0]!r}"
            remedy = "push the work to a branch of this repository, named as the tickets' branches are or linked"
            raise Unsettled(Uncertain(Gap.BRANCH_ELSEWHERE, reason, remedy))
        raise Unsettled(NotStarted(f"no branch of #{c.ticket} stands"))
    if len(candidates) > MOST_CANDIDATES:
        raise Unsettled(_several(c, candidates))
    with_work = list(_with_work(c, candidates))
    if not with_work:
        names = ", ".join(repr(b.name) for b in candidates)
        raise Unsettled(NotStarted(f"no commit of its own is on the branch of #{c.ticket}: {names}"))
    if len(with_work) > 1:
        raise Unsettled(_several(c, with_work))
    chosen = with_work[0]
    named = owner_of_branch(chosen.name)
    linked = Said(Source.LINKED_BRANCH, f"{chosen.name!r} is the branch of #{c.ticket}")
    by_name = Said(Source.BRANCH_NAME, f"it is the branch of #{named}")
    if chosen.linked and named is not None and named != c.ticket:
        raise Unsettled(contradiction(linked, by_name, "rename the branch, or link it to the Issue it is for"))
    if named == c.ticket:
        by_name = Said(Source.BRANCH_NAME, f"{chosen.name!r} is the branch of #{c.ticket}")
        return chosen, (linked, by_name) if chosen.linked else (by_name,)
    return chosen, (linked,)


def _require_none_beside(c: Clues, known: TicketBranch, said: Said) -> None:
    """Raises Unsettled where a person linked another branch to the Issue, and work is on it that the recorded branch
    does not have: a PR of either would leave the other's work behind.
    """
    linked = [b for b in c.branches if b.linked and b.name != known.name and _may_be(c, b)][:MOST_CANDIDATES]
    missing = [(known.sha, b.sha) for b in linked if b.sha != known.sha and (known.sha, b.sha) not in c.compared]
    if missing:
        raise Unsettled(ToCompare(tuple(missing)))
    for other in _with_work(c, [b for b in linked if b.sha != known.sha]):
        beside = c.compared[(known.sha, other.sha)]
        if not (isinstance(beside, Compared) and beside.ahead == 0):
            by_link = Said(Source.LINKED_BRANCH, f"{other.name!r} is the branch of #{c.ticket}")
            remedy = "let the holder merge the linked branch in, or unlink or delete it"
            raise Unsettled(contradiction(said, by_link, remedy))


def _may_be(c: Clues, branch: TicketBranch) -> bool:
    if branch.name in c.shared or any(branch.name == trunk.name for trunk in c.trunks):
        return False
    return branch.linked or ticket_of_branch(branch.name) == c.ticket


def _with_work(c: Clues, candidates: Sequence[TicketBranch]) -> Iterator[TicketBranch]:
    """Those with a commit over every trunk they could go to, which no merged PR brought there already."""
    against = {b.name: _could_go_to(c, b) for b in candidates}
    missing = [(t.sha, b.sha) for b in candidates for t in against[b.name] if (t.sha, b.sha) not in c.compared]
    if missing:
        raise Unsettled(ToCompare(tuple(missing)))
    for branch in candidates:
        if any(p.state == "MERGED" and p.head_sha == branch.sha for p in own_pulls(branch)):
            continue
        if any(branch.sha == trunk.sha for trunk in c.trunks):
            continue
        beside = [c.compared[(t.sha, branch.sha)] for t in against[branch.name]]
        if not any(isinstance(one, Compared) and one.ahead == 0 for one in beside):
            yield branch


def _could_go_to(c: Clues, branch: TicketBranch) -> tuple[Branch, ...]:
    """The trunk that is named, or all of them where they are few enough to ask about each."""
    named = {p.base for p in own_pulls(branch) if p.state == "OPEN"}
    if c.release is not None and not any(trunk.name in named for trunk in c.trunks):
        named = {t.name for t in c.trunks if names_release(c.release.text, t.name)}
    chosen = tuple(trunk for trunk in c.trunks if trunk.name in named)
    return chosen or (c.trunks if len(c.trunks) <= MOST_TRUNKS else ())


def own_pulls(branch: TicketBranch) -> list[PullClue]:
    """Its PRs, the newest first. Anybody's fork may have a branch of the same name."""
    return sorted((p for p in branch.pulls if p.own_repository), key=lambda p: -p.number)


def open_pull(c: Clues, branch: TicketBranch) -> PullClue | None:
    """Its open PR. Raises Unsettled."""
    pulls = own_pulls(branch)
    standing = [p for p in pulls if p.state == "OPEN"]
    if len(standing) > 1:
        listed = ", ".join(f"#{p.number} onto {p.base!r}" for p in standing)
        reason = f"several open pull requests come from {branch.name!r}: {listed}"
        raise Unsettled(Uncertain(Gap.SEVERAL_PULLS, reason, "close those that are not the ticket's"))
    if standing:
        pull = standing[0]
        if pull.names not in (None, c.ticket):
            first = Said(Source.PULL, f"#{pull.number} is for #{pull.names}")
            second = Said(Source.LINKED_BRANCH if branch.linked else Source.BRANCH_NAME, f"it is for #{c.ticket}")
            remedy = "put the right number into the first line of the pull request, or give the ticket its own branch"
            raise Unsettled(contradiction(first, second, remedy))
        return pull
    if pulls and pulls[0].state == "CLOSED" and pulls[0].head_sha == branch.sha:
        number = pulls[0].number
        raise Unsettled(LeftAlone(number, f"PR #{number} was closed by a person: it is left alone until it is opened"))
    return None


def _several(c: Clues, branches: Sequence[TicketBranch]) -> Uncertain:
    listed = ", ".join(repr(b.name) for b in branches[:5])
    reason = f"several branches are for #{c.ticket}, and each has work: {listed}"
    return Uncertain(Gap.SEVERAL_BRANCHES, reason, _NAME_OTHERS)
