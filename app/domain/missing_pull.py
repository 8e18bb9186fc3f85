"""Where a ticket's work is and where it goes, rebuilt from evidence: for a branch that has work and no PR.

The evidence, in this order: the record, a branch linked to the Issue, the branch's name, the trailers of its own
commits, the Project's target release, the Issues it waits for. Each piece that was used is named in the answer. Where
two contradict each other, or nothing says it, the answer is what is missing and who can say it: never a guess, because
a PR on the wrong branch or for the wrong ticket does more harm than none.

A branch without a commit of its own is not started, which is no fault. What a person did to a PR of the branch (opened
it onto another branch, closed it) is that person's word.
"""

from app.domain.branch_clues import Clues, Compared, NoCommonHistory
from app.domain.observation import Branch
from app.domain.pull_evidence import (
    Found,
    Gap,
    NoTicket,
    NotStarted,
    Rebuilt,
    Said,
    Source,
    ToCompare,
    Uncertain,
    Unsettled,
    contradiction,
)
from app.domain.work_base import declared_base_of, predecessor_of, trunk_of
from app.domain.work_branch import branch_of, open_pull


def rebuild(clues: Clues) -> Found:
    """What the evidence says together. `ToCompare` asks for more; nothing else does."""
    try:
        return _rebuilt(clues)
    except Unsettled as unsettled:
        return unsettled.answer


def held_against_record(clues: Clues) -> Uncertain | ToCompare | None:
    """What contradicts the record of a ticket that was claimed (`clues.recorded`); None where nothing does. What is
    only missing stops no PR of such a ticket: the claim decided its branch and trunk. `ToCompare` asks for more.
    """
    found = rebuild(clues)
    if isinstance(found, Uncertain):
        return found if found.gap is Gap.CONTRADICTION else None
    if isinstance(found, ToCompare):
        return found
    recorded = clues.recorded
    if isinstance(found, Rebuilt) and found.predecessor and recorded is not None and recorded.predecessor is None:
        number = found.predecessor.number
        first = Said(Source.RECORD, "the work builds on no other ticket")
        second = Said(Source.DEPENDENCIES, f"it waits for #{number} and has commits of {found.predecessor.branch!r}")
        remedy = f"let the holder record #{number} as its predecessor, or take those commits out"
        return contradiction(first, second, remedy)
    return None


def _rebuilt(c: Clues) -> Rebuilt:
    if c.subject != "open issue":
        raise Unsettled(NoTicket(_NO_TICKET[c.subject].format(c.ticket)))
    branch, said = branch_of(c)
    pull = open_pull(c, branch)
    stacked = declared_base_of(c, branch, pull)
    trunk, why = trunk_of(c, branch, pull if stacked is None else None)
    predecessor = predecessor_of(c, branch, trunk, stacked)
    base = Branch(predecessor[0].branch, predecessor[1]) if predecessor else trunk
    over = _compare(c, base.sha, branch.sha)
    if over.ahead == 0:
        raise Unsettled(NotStarted(f"the branch {branch.name!r} has no commit of its own over {base.name!r}"))
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


def _trailers(c: Clues, branch_says: Said, over: Compared, *, stacked_on: int | None) -> tuple[Said, ...]:
    strangers = [n for n in over.names if n not in (c.ticket, stacked_on)]
    if strangers:
        named = ", ".join(f"#{n}" for n in strangers)
        says = Said(Source.TRAILERS, f"its commits are for {named}")
        remedy = f"say in #{c.ticket} which Issue it is blocked by, or give each ticket a branch of its own"
        raise Unsettled(contradiction(branch_says, says, remedy))
    if c.ticket not in over.names:
        return ()
    rest = "" if over.read_all else ", as far as they were read"
    return (Said(Source.TRAILERS, f"its commits are for #{c.ticket}{rest}"),)


def _compare(c: Clues, base: str, head: str) -> Compared:
    beside = c.compared.get((base, head))
    if beside is None:
        raise Unsettled(ToCompare(((base, head),)))
    if isinstance(beside, NoCommonHistory):
        reason = f"the branch of #{c.ticket} has no commit in common with the branch it would go to"
        raise Unsettled(Uncertain(Gap.UNRELATED, reason, "begin the branch at the trunk, and put the work there"))
    return beside
