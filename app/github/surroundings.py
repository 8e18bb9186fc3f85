"""The part of a look that goes beyond the ticket: what is asked of GraphQL, and how it becomes the domain's words."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field

from app.domain.model import Message, Sha
from app.domain.surroundings import (
    MOST_STOREYS,
    Asked,
    Distance,
    Linked,
    OtherPull,
    Predecessor,
    Surroundings,
    Tip,
)
from app.github.project_items import ProjectItems

DECLARED = """
  $intoRef: String!, $into: String!, $withProject: Boolean!, $work: String!, $workOid: GitObjectID, $withWork: Boolean!,
  $predecessor: Int!, $predecessorSearch: String!, $withPredecessor: Boolean!,
  $predecessorSha: String!, $withPredecessorSha: Boolean!
"""
"""The variables of every look's surroundings, save those of decisions."""

PROJECT_LINES = """
fragment projectLines on ProjectV2ItemConnection {
  pageInfo { hasNextPage endCursor }
  nodes {
    project {
      number title
      owner { ... on Organization { login } ... on User { login } }
      fields(first: 50) {
        nodes {
          ... on ProjectV2FieldCommon { name dataType }
          ... on ProjectV2SingleSelectField { options { name } }
        }
      }
    }
    fieldValues(first: 30) {
      nodes {
        __typename
        ... on ProjectV2ItemFieldSingleSelectValue { name field { ...projectField } }
        ... on ProjectV2ItemFieldTextValue { text field { ...projectField } }
        ... on ProjectV2ItemFieldNumberValue { number field { ...projectField } }
        ... on ProjectV2ItemFieldDateValue { date field { ...projectField } }
        ... on ProjectV2ItemFieldIterationValue { title field { ...projectField } }
      }
    }
  }
}
fragment projectField on ProjectV2FieldConfiguration { ... on ProjectV2FieldCommon { name } }
"""
OF_ISSUE = """
        stateReason
        milestone { title }
        parent { ...linked }
        subIssues(first: 100) { nodes { ...linked } }
        blockedBy(first: 50) { nodes { ...linked } }
        blocking(first: 50) { nodes { ...linked } }
        further: blockedBy(first: 10) { nodes { ...linked blockedBy(first: 10) { nodes { ...linked } } } }
        projectItems(first: 10, includeArchived: false) @include(if: $withProject) {
          ...projectLines
        }
"""
OF_BRANCH = """
      toPredecessor: compare(headRef: $predecessorSha) @include(if: $withPredecessorSha) { aheadBy behindBy }
"""
OF_TRUNK = """
      files: target { ... on Commit { tree { oid } } }
      toInto: compare(headRef: $into) { aheadBy behindBy }
      toWork: compare(headRef: $work) @include(if: $withWork) { aheadBy behindBy }
      toPredecessor: compare(headRef: $predecessorSha) @include(if: $withPredecessorSha) { aheadBy behindBy }
"""
OF_REPOSITORY = """
    into: ref(qualifiedName: $intoRef) { ...tip }
    workCommit: object(oid: $workOid) @include(if: $withWork) { ... on Commit { tree { oid } } }
    releases: pullRequests(headRefName: $trunk, states: OPEN, first: 10) @include(if: $withTrunk) {
      nodes { ...otherPull }
    }
    dependents: pullRequests(baseRefName: $branch, states: OPEN, first: 20) @include(if: $withBranch) {
      nodes { ...otherPull }
    }
    stack: pullRequests(headRefName: $branch, states: OPEN, last: 1) @include(if: $withBranch) {
      nodes { ...storey1 }
    }
    predecessor: issueOrPullRequest(number: $predecessor) @include(if: $withPredecessor) {
      __typename
      ... on Issue { state stateReason }
      ... on PullRequest { ...otherPull }
    }
    predecessorBranches: refs(refPrefix: "refs/heads/", query: $predecessorSearch, first: 50)
      @include(if: $withPredecessor) {
      nodes { ...tip associatedPullRequests(first: 3) { nodes { ...otherPull } } }
    }
"""
FRAGMENTS = (
    PROJECT_LINES
    + """
fragment linked on Issue { number state repository { nameWithOwner } }
fragment tip on Ref { name target { oid ... on Commit { tree { oid } } } }
fragment otherPull on PullRequest {
  number state isDraft headRefName headRefOid baseRefName changedFiles
  headRepository { nameWithOwner }
  autoMergeRequest { enabledAt }
}
"""
)


def _storeys() -> str:
    """Fragments that go down a stack by its bases; GraphQL has no recursion, so every storey has its own."""
    written = []
    for storey in range(1, MOST_STOREYS + 1):
        below = f" ...storey{storey + 1}" if storey < MOST_STOREYS else ""
        pulls = f"associatedPullRequests(states: [OPEN, MERGED], last: 1) {{ nodes {{ ...otherPull{below} }} }}"
        written.append(f"fragment storey{storey} on PullRequest {{ baseRef {{ {pulls} }} }}\n")
    return "".join(written)


FRAGMENTS += _storeys()


@lru_cache(maxsize=64)
def of_decisions(objects: int, numbers: int) -> tuple[str, str]:
    """The variables and the fields that look up so many objects and numbers."""
    declared = [f"$object{n}: String!" for n in range(objects)] + [f"$number{n}: Int!" for n in range(numbers)]
    fields = [f"object{n}: object(expression: $object{n}) {{ oid }}" for n in range(objects)]
    fields += [f"number{n}: issueOrPullRequest(number: $number{n}) {{ __typename }}" for n in range(numbers)]
    return ", ".join(declared), "\n    ".join(fields)


def variables_of(asked: Asked, default_branch: str) -> dict[str, Any]:
    """The values of `DECLARED` and of the decisions' variables."""
    into = asked.into or default_branch
    return {
        "intoRef": f"refs/heads/{into}",
        "into": into,
        "withProject": asked.project,
        "work": asked.work or "",
        "workOid": asked.work,
        "withWork": asked.work is not None,
        "predecessor": asked.predecessor or 0,
        "predecessorSearch": str(asked.predecessor or ""),
        "withPredecessor": asked.predecessor is not None,
        "predecessorSha": asked.predecessor_sha or "",
        "withPredecessorSha": asked.predecessor_sha is not None,
        **{f"object{n}": expression for n, expression in enumerate(asked.objects)},
        **{f"number{n}": number for n, number in enumerate(asked.numbers)},
    }


def may_be_missing(path: tuple[str | int, ...]) -> bool:
    """Whether a null with an error at `path` is an answer: GraphQL reports a number that nothing has, and a commit it
    cannot resolve, as errors beside the rest. All of these are named by agents, so one wrong name must not hide a
    ticket.
    """
    if path[:1] != ("repository",) or len(path) < 2:
        return False
    if path[1] in ("trunk", "branch"):
        return path[2:3] in (("toWork",), ("toPredecessor",), ("toInto",))
    name = str(path[1])
    return len(path) == 2 and (name in ("predecessor", "workCommit") or name.startswith(("object", "number")))


class _Repository(Message):
    full_name: str = Field(alias="nameWithOwner")


class LinkedNode(Message):
    number: int
    state: str
    repository: _Repository | None = None
    blocked_by: "LinkedNodes | None" = Field(default=None, alias="blockedBy")

    def linked(self, home: str) -> Linked:
        """The Issue; its repository only where it is another one than `home`."""
        name = self.repository.full_name if self.repository else home
        waits_for = self.blocked_by.linked(home) if self.blocked_by else ()
        return Linked(self.number, self.state, None if name.lower() == home.lower() else name, waits_for)


class LinkedNodes(Message):
    nodes: tuple[LinkedNode | None, ...] = ()

    def linked(self, home: str) -> tuple[Linked, ...]:
        return tuple(node.linked(home) for node in self.nodes if node is not None)


class Milestone(Message):
    title: str


class DistanceNode(Message):
    """A comparison of a branch (its base) with something: `aheadBy` counts what the something has over the branch."""

    ahead: int = Field(alias="aheadBy")
    behind: int = Field(alias="behindBy")

    def of_base(self) -> Distance:
        return Distance(ahead=self.behind, behind=self.ahead)


class _Tree(Message):
    oid: Sha


class WithTree(Message):
    """A commit's tree; empty where the object is no commit."""

    tree: _Tree | None = None


class _TipTarget(WithTree):
    oid: Sha


class TipNode(Message):
    name: str
    target: _TipTarget | None = None

    def tip(self) -> Tip | None:
        if self.target is None:
            return None
        return Tip(self.name, self.target.oid, self.target.tree.oid if self.target.tree else None)


class OtherPullNode(Message):
    number: int
    state: Literal["OPEN", "CLOSED", "MERGED"]
    is_draft: bool = Field(default=False, alias="isDraft")
    head: str = Field(alias="headRefName")
    head_sha: Sha = Field(alias="headRefOid")
    base: str = Field(alias="baseRefName")
    changed_files: int | None = Field(default=None, alias="changedFiles")
    head_repository: _Repository | None = Field(default=None, alias="headRepository")
    auto_merge: dict[str, Any] | None = Field(default=None, alias="autoMergeRequest")

    def pull(self, home: str) -> OtherPull:
        """The pull request; `home` is the repository that was asked."""
        name = self.head_repository.full_name if self.head_repository else ""
        return OtherPull(
            number=self.number,
            state=self.state,
            is_draft=self.is_draft,
            head=self.head,
            head_sha=self.head_sha,
            base=self.base,
            own_repository=name.lower() == home.lower(),
            changed_files=self.changed_files,
            auto_merge=self.auto_merge is not None,
        )


class OtherPullNodes(Message):
    nodes: tuple[OtherPullNode | None, ...] = ()

    def pulls(self, home: str) -> tuple[OtherPull, ...]:
        return tuple(node.pull(home) for node in self.nodes if node is not None)


class _Below(Message):
    pulls: "_Storeys" = Field(alias="associatedPullRequests")


class _Storey(OtherPullNode):
    below: _Below | None = Field(default=None, alias="baseRef")


class _Storeys(Message):
    nodes: tuple[_Storey | None, ...] = ()

    def found(self, home: str) -> list[OtherPull]:
        """The upper storeys first."""
        here = [node for node in self.nodes if node is not None]
        further = [pull for node in here if node.below for pull in node.below.pulls.found(home)]
        return [*(node.pull(home) for node in here), *further]


class _Stacked(Message):
    below: _Below | None = Field(default=None, alias="baseRef")


class StackNodes(Message):
    """The ticket's newest open PR with what it is stacked on."""

    nodes: tuple[_Stacked | None, ...] = ()

    def below(self, home: str) -> tuple[OtherPull, ...]:
        found = {p.number: p for n in self.nodes if n and n.below for p in n.below.pulls.found(home)}
        return tuple(found.values())


class _PredecessorNode(Message):
    typename: Literal["Issue", "PullRequest"] = Field(alias="__typename")
    state: str
    state_reason: str | None = Field(default=None, alias="stateReason")


class _PredecessorBranch(TipNode):
    pulls: OtherPullNodes = Field(default=OtherPullNodes(), alias="associatedPullRequests")


class _PredecessorBranches(Message):
    nodes: tuple[_PredecessorBranch, ...] = ()


class SurroundingsOfIssue(Message):
    """What an Issue's own fields say of what surrounds it."""

    milestone: Milestone | None = None
    parent: LinkedNode | None = None
    sub_issues: LinkedNodes = Field(default=LinkedNodes(), alias="subIssues")
    blocked_by: LinkedNodes = Field(default=LinkedNodes(), alias="blockedBy")
    blocking: LinkedNodes = LinkedNodes()
    further: LinkedNodes = LinkedNodes()
    project_items: ProjectItems | None = Field(default=None, alias="projectItems")

    def dependencies(self, home: str) -> tuple[Linked, ...]:
        """What the Issue waits for; the first ones with what those wait for."""
        further = {(linked.repository, linked.number): linked for linked in self.further.linked(home)}
        return tuple(further.get((one.repository, one.number), one) for one in self.blocked_by.linked(home))


class SurroundingsOfBranch(Message):
    to_predecessor: DistanceNode | None = Field(default=None, alias="toPredecessor")


class SurroundingsOfTrunk(Message):
    files: WithTree | None = None
    to_into: DistanceNode | None = Field(default=None, alias="toInto")
    to_work: DistanceNode | None = Field(default=None, alias="toWork")
    to_predecessor: DistanceNode | None = Field(default=None, alias="toPredecessor")


class SurroundingsOfRepository(Message):
    """The rest, as the repository's fields say it."""

    into: TipNode | None = None
    work_commit: WithTree | None = Field(default=None, alias="workCommit")
    releases: OtherPullNodes = OtherPullNodes()
    dependents: OtherPullNodes = OtherPullNodes()
    stack: StackNodes = StackNodes()
    predecessor_branches: _PredecessorBranches = Field(default=_PredecessorBranches(), alias="predecessorBranches")

    def surroundings(
        self,
        asked: Asked,
        answer: Mapping[str, Any],
        home: str,
        issue: SurroundingsOfIssue | None,
        trunk: SurroundingsOfTrunk | None,
        branch: SurroundingsOfBranch | None,
    ) -> Surroundings:
        """All of it. `answer`: the raw fields of the repository, for those whose names depend on what was asked."""
        found = issue or SurroundingsOfIssue()
        reached = trunk or SurroundingsOfTrunk()
        distances = (reached.to_into, reached.to_work, reached.to_predecessor)
        over_into, over_work, over_predecessor = (d.of_base() if d else None for d in distances)
        items = found.project_items
        return Surroundings(
            asked=asked,
            into=self.into.tip() if self.into else None,
            trunk_tree=reached.files.tree.oid if reached.files and reached.files.tree else None,
            trunk_over_into=over_into,
            trunk_over_work=over_work,
            trunk_over_predecessor=over_predecessor,
            branch_over_predecessor=branch.to_predecessor.of_base() if branch and branch.to_predecessor else None,
            work_tree=self.work_commit.tree.oid if self.work_commit and self.work_commit.tree else None,
            release_pulls=self.releases.pulls(home),
            dependents=self.dependents.pulls(home),
            below=self.stack.below(home),
            milestone=found.milestone.title if found.milestone else None,
            parent=found.parent.linked(home) if found.parent else None,
            sub_issues=found.sub_issues.linked(home),
            blocked_by=found.dependencies(home),
            blocking=found.blocking.linked(home),
            project_items=items.items(home.partition("/")[0]) if items is not None and asked.project else None,
            predecessor=self._predecessor(asked, answer.get("predecessor"), home),
            objects={name: _oid(answer.get(f"object{n}")) for n, name in enumerate(asked.objects)},
            numbers={number: answer.get(f"number{n}") is not None for n, number in enumerate(asked.numbers)},
        )

    def _predecessor(self, asked: Asked, answer: Any, home: str) -> Predecessor | None:
        if asked.predecessor is None or answer is None:
            return None
        node = _PredecessorNode.model_validate(answer)
        if node.typename == "PullRequest":
            pull = OtherPullNode.model_validate(answer).pull(home)
            return Predecessor(asked.predecessor, "pull", node.state, pull=pull)
        branches = self.predecessor_branches.nodes
        return Predecessor(
            number=asked.predecessor,
            kind="issue",
            state=node.state,
            closed_because=node.state_reason,
            branches=tuple(tip for branch in branches if (tip := branch.tip())),
            pulls=tuple(pull for branch in branches for pull in branch.pulls.pulls(home)),
        )


def _oid(answer: Any) -> str | None:
    return answer.get("oid") if isinstance(answer, dict) else None
