"""Where a ticket's work goes, its trunk and the ticket it builds on, by the evidence there is: see `missing_pull`."""

from collections.abc import Sequence

from app.domain.branch_clues import (
    MOST_BLOCKING,
    Clues,
    Compared,
    NoCommonHistory,
    PullClue,
    TicketBranch,
    Waited,
)
from app.domain.observation import Branch
from app.domain.pull_evidence import (
    Gap,
    Predecessor,
    Said,
    Source,
    ToCompare,
    Uncertain,
    Unsettled,
    contradiction,
)
from app.domain.ticket_evidence import names_release


def declared_base_of(c: Clues, branch: TicketBranch, pull: PullClue | None) -> Waited | None:
    """The ticket onto whose branch a person opened the PR."""
    if pull is None:
        return None
    return next((w for w in c.waits_for if any(b.name == pull.base for b in w.branches)), None)


def trunk_of(c: Clues, branch: TicketBranch, pull: PullClue | None) -> tuple[Branch, Said]:
    """The trunk, and what says it. Raises Unsettled."""
    standing = {t.name: t for t in c.trunks}
    said: list[tuple[str, Said]] = []
    if c.recorded is not None:
        said.append((c.recorded.trunk, Said(Source.RECORD, f"the trunk is {c.recorded.trunk!r}")))
    if pull is not None:
        if pull.base not in standing:
            reason = f"PR #{pull.number} of {branch.name!r} goes to {pull.base!r}, which is no trunk by the policy"
            remedy = "change the base of the pull request to a trunk, or let trunks in the policy match its base"
            raise Unsettled(Uncertain(Gap.BASE_IS_NO_TRUNK, reason, remedy))
        said.append((pull.base, Said(Source.PULL, f"the trunk is {pull.base!r}")))
    if c.release is not None:
        name = _released(c)
        said.append((name, Said(Source.PROJECT, f"{c.release.field} is {c.release.text!r}: the trunk is {name!r}")))
    if not said:
        return _only_trunk(c)
    name, first = said[0]
    for other, second in said[1:]:
        if other != name:
            raise Unsettled(contradiction(first, second, "make the two agree: a person decides which is right"))
    if name not in standing:
        reason = f"{first}, and no branch of this name is a trunk"
        raise Unsettled(Uncertain(Gap.NO_TRUNK, reason, "create the release branch, or let the policy's trunks match"))
    return standing[name], first


def _released(c: Clues) -> str:
    assert c.release is not None
    field = f"{c.release.field} of Project {c.release.project} says {c.release.text!r}"
    named = [t.name for t in c.trunks if names_release(c.release.text, t.name)]
    if len(named) == 1:
        return named[0]
    if not named:
        remedy = "create the release branch, or choose another target release"
        raise Unsettled(Uncertain(Gap.NO_TRUNK, f"{field}, and no trunk is of this name", remedy))
    listed = ", ".join(map(repr, named))
    remedy = "delete all of them but one, or name the release as only one of them is named"
    raise Unsettled(Uncertain(Gap.TRUNK_UNCLEAR, f"{field}, and several trunks are of this name: {listed}", remedy))


def _only_trunk(c: Clues) -> tuple[Branch, Said]:
    if len(c.trunks) == 1:
        return c.trunks[0], Said(Source.POLICY, f"{c.trunks[0].name!r} is the only one")
    if not c.trunks:
        reason = "no existing branch is a trunk by the policy"
        raise Unsettled(Uncertain(Gap.NO_TRUNK, reason, "create the release branch, or let the policy's trunks match"))
    listed = ", ".join(repr(t.name) for t in c.trunks[:5])
    reason = f"nothing says on which trunk #{c.ticket} lands; there are {listed}"
    remedy = "set its target release in the Project, open the pull request, or claim the ticket with --trunk"
    raise Unsettled(Uncertain(Gap.TRUNK_UNCLEAR, reason, remedy))


def predecessor_of(
    c: Clues, branch: TicketBranch, trunk: Branch, declared: Waited | None
) -> tuple[Predecessor, str] | None:
    """The ticket that the work builds on, with its branch's head: its own commits are in the work. Raises Unsettled."""
    waited = list(c.waits_for[:MOST_BLOCKING])
    found = [(w, b, sha) for w in waited for b in w.branches if (sha := _shared(c, branch, trunk, b)) is not None]
    recorded = c.recorded.predecessor if c.recorded is not None else None
    if recorded is not None and found and all(w.number != recorded for w, _, _ in found):
        first = Said(Source.RECORD, f"the work builds on #{recorded}")
        second = Said(Source.DEPENDENCIES, f"it builds on #{found[0][0].number}")
        raise Unsettled(contradiction(first, second, "a person decides which is right"))
    if declared is not None and all(w is not declared for w, _, _ in found):
        first = Said(Source.PULL, f"the work builds on #{declared.number}")
        second = Said(Source.BRANCH_NAME, f"no commit of #{declared.number} is in {branch.name!r}")
        raise Unsettled(contradiction(first, second, f"merge the branch of #{declared.number} in, or change the base"))
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
        raise Unsettled(ToCompare(((other.sha, branch.sha),)))
    if isinstance(beside, NoCommonHistory):
        return None
    over = c.compared.get((trunk.sha, beside.base))
    if over is None:
        raise Unsettled(ToCompare(((trunk.sha, beside.base),)))
    return beside.base if isinstance(over, Compared) and over.ahead > 0 else None


def _topmost(c: Clues, found: Sequence[tuple[Waited, Branch, str]]) -> tuple[Waited, Branch, str]:
    """Of several, the one whose shared commit contains all the others'."""
    if len(found) == 1:
        return found[0]
    missing = [(o[2], t[2]) for t in found for o in found if o[2] != t[2] and (o[2], t[2]) not in c.compared]
    if missing:
        raise Unsettled(ToCompare(tuple(dict.fromkeys(missing))))
    for top in found:
        beside = [c.compared[(o[2], top[2])] for o in found if o[2] != top[2]]
        if len(beside) == len(found) - 1 and all(isinstance(b, Compared) and b.behind == 0 for b in beside):
            return top
    listed = " and ".join(f"#{w.number} ({b.name!r})" for w, b, _ in found)
    reason = f"the work builds on {listed}, and neither contains the other"
    remedy = "land one of them first, or build one on the other"
    raise Unsettled(Uncertain(Gap.BRANCHING_DEPENDENCIES, reason, remedy))
