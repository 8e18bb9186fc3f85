"""One look at a ticket: everything a decision needs, in a single GraphQL request."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from pydantic import Field

from app.domain.model import Message
from app.domain.observation import Branch, Observation, Pull
from app.domain.surroundings import NOTHING_MORE, Asked
from app.github import pull_acts
from app.github import surroundings as around
from app.github.access import CHECK_NAME
from app.github.errors import GraphQLFailed, GraphQLProblem
from app.github.graphql_shapes import COMMENT_FRAGMENT, IssueNode, PullNode, PullNodes, RefNode, RefNodes
from app.github.listed_refs import ListedRefs
from app.github.policy_history import NOT_TEXT
from app.github.project_items import ProjectItems
from app.github.shapes import read
from app.github.wire import Call

POLICY_FILE = ".github/agent-recovery.yml"
NAMED_READ = 100
"""Branches that the search for a number shows at most."""

_OBSERVE = (
    """
query Observe(
  $owner: String!, $name: String!, $ticket: Int!, $search: String!, $policy: String!,
  $branch: String!, $branchRef: String!, $withBranch: Boolean!,
  $trunk: String!, $trunkRef: String!, $withTrunk: Boolean!,
  $pull: Int!, $withPull: Boolean!, $appId: Int!, $checkName: String!, %(declared)s
) {
  viewer { login }
  repository(owner: $owner, name: $name) {
    databaseId
    isPrivate
    isArchived
    owner { __typename }
    defaultBranchRef { name target { oid } }
    policy: object(expression: $policy) { __typename ... on Blob { text isTruncated } }
    subject: issueOrPullRequest(number: $ticket) {
      __typename
      ... on Issue {
        number title body state stateReason url
        author { login }
        assignees(first: 20) { nodes { login } }
        labels(first: 50) { nodes { name } }
        comments(last: 100) { nodes { ...comment } }
        %(of_issue)s
      }
    }
    named: refs(refPrefix: "refs/heads/", query: $search, first: 100) { nodes { name target { oid } } }
    branch: ref(qualifiedName: $branchRef) @include(if: $withBranch) {
      name
      %(of_branch)s
      target {
        oid
        ... on Commit {
          checkSuites(first: 10, filterBy: {appId: $appId, checkName: $checkName}) {
            nodes {
              app { databaseId }
              checkRuns(first: 50, filterBy: {checkType: ALL, checkName: $checkName}) {
                nodes {
                  databaseId name status conclusion externalId startedAt completedAt title summary text
                }
              }
            }
          }
        }
      }
    }
    stem: ref(qualifiedName: "refs/heads/ticket") { name target { oid } }
    trunk: ref(qualifiedName: $trunkRef) @include(if: $withTrunk) { name target { oid } %(of_trunk)s }
    pulls: pullRequests(headRefName: $branch, first: 10, orderBy: {field: CREATED_AT, direction: DESC})
      @include(if: $withBranch) { nodes { ...pull } }
    recorded: pullRequest(number: $pull) @include(if: $withPull) { ...pull ...acts }
    %(of_repository)s
  }
}
fragment pull on PullRequest {
  number id state isDraft title body url headRefName headRefOid baseRefName mergeable
  headRepository { nameWithOwner }
  assignees(first: 20) { nodes { login } }
  labels(first: 50) { nodes { name } }
  author { login }
  comments(first: 100) { nodes { ...comment } }
}
"""
    + COMMENT_FRAGMENT
    + pull_acts.FRAGMENTS
    + around.FRAGMENTS
)


@lru_cache(maxsize=64)
def document(objects: int, numbers: int) -> str:
    """The query of a look that resolves so many git expressions and numbers."""
    declared, fields = around.of_decisions(objects, numbers)
    return _OBSERVE % {
        "declared": around.DECLARED + declared,
        "of_issue": around.OF_ISSUE,
        "of_branch": around.OF_BRANCH,
        "of_trunk": around.OF_TRUNK,
        "of_repository": around.OF_REPOSITORY + fields,
    }


_MORE_LINES = (
    """
query MoreProjectLines($owner: String!, $name: String!, $ticket: Int!, $after: String!) {
  repository(owner: $owner, name: $name) {
    databaseId
    issue(number: $ticket) {
      projectItems(first: 50, after: $after, includeArchived: false) { ...projectLines }
    }
  }
}
"""
    + around.PROJECT_LINES
)
MOST_MORE_LINES = 10
"""Pages of an Issue's lines in Projects that are read after the first. Anybody may put a public Issue into Projects of
their own, and must not hide the one that the policy names by that.
"""


class Queries(ListedRefs):
    """Looking at a ticket."""

    async def observe(
        self,
        ticket: int,
        branch: str | None,
        trunk: str | None,
        pull: int | None = None,
        asked: Asked = NOTHING_MORE,
    ) -> Observation:
        """What GitHub shows of a ticket now; `branch`, `trunk` and `pull` are the recorded ones. The recorded PR is
        asked for by its number: anybody may open pull requests of forks whose branch has the same name. `asked`: what
        surrounds the ticket.

        One request, a second one without Projects where the App may not read them, and one for each further page of an
        Issue that is in more than ten Projects. Where no Issue or pull request
        has the number, `issue` is None. Raises GraphQLFailed where the answer is incomplete: what is missing from such
        an answer is unknown and not absent.
        """
        variables = {
            "owner": self.owner,
            "name": self.name,
            "ticket": ticket,
            "search": str(ticket),
            "policy": f"HEAD:{POLICY_FILE}",
            "branch": branch or "",
            "branchRef": f"refs/heads/{branch or ''}",
            "withBranch": branch is not None,
            "trunk": trunk or "",
            "trunkRef": f"refs/heads/{trunk or ''}",
            "withTrunk": trunk is not None,
            "pull": pull or 0,
            "withPull": pull is not None,
            "appId": self.app_id,
            "checkName": CHECK_NAME,
            **around.variables_of(asked, self.default_branch),
        }
        try:
            answer = await self.session.query("Observe", document(len(asked.objects), len(asked.numbers)), variables)
            data, now = answer.body["data"], answer.date
        except GraphQLFailed as e:
            if asked.project and all("projectItems" in problem.path for problem in e.errors):
                return await self.observe(ticket, branch, trunk, pull, replace(asked, project=False))
            if not isinstance(e.partial, dict) or not all(_may_be_missing(p) for p in e.errors):
                raise
            data, now = e.partial, self.session.wire.clock.now()
        repository = data.get("repository") or {}
        self._same_repository(repository, "Observe")
        seen = read(_Seen, repository, Call("POST", "Observe", kind="graphql"))
        self.private = seen.private
        self.default_branch = seen.default.name if seen.default else self.default_branch
        app = (data.get("viewer") or {}).get("login")
        recorded = seen.branch
        issue = seen.subject if isinstance(seen.subject, IssueNode) else None
        if issue is not None and issue.project_items is not None and issue.project_items.page.goes_on:
            issue = issue.model_copy(update={"project_items": await self._all_lines(ticket, issue.project_items)})
        return Observation(
            now=now,
            repository_id=self.id,
            owner=self.owner,
            name=self.name,
            archived=seen.archived,
            default_branch=self.default_branch,
            default_head=seen.default.target.oid if seen.default and seen.default.target else None,
            policy_text=seen.policy.content() if seen.policy else None,
            issue=issue.issue() if issue else None,
            is_pull_request=isinstance(seen.subject, _PullRequest),
            of_organization=seen.owner.typename == "Organization" if seen.owner else None,
            branches=await self._branches(ticket, branch, seen),
            trunk=_branch(seen.trunk),
            pulls=_pulls(seen.recorded, seen.pulls.nodes, branch, app),
            check_runs=recorded.target.check_runs(self.app_id, CHECK_NAME) if recorded and recorded.target else (),
            issue_comments=issue.comments.ours() if issue else (),
            around=seen.surroundings(asked, repository, self.full_name, issue, seen.trunk, seen.branch),
        )

    async def _all_lines(self, ticket: int, first: ProjectItems) -> ProjectItems:
        nodes, page = first.nodes, first.page
        for _ in range(MOST_MORE_LINES):
            if not page.goes_on or page.end is None:
                break
            variables = {"owner": self.owner, "name": self.name, "ticket": ticket, "after": page.end}
            answer = await self.session.query("MoreProjectLines", _MORE_LINES, variables)
            repository = answer.body["data"].get("repository") or {}
            self._same_repository(repository, "MoreProjectLines")
            further = (repository.get("issue") or {}).get("projectItems") or {}
            more = read(ProjectItems, further, Call("POST", "MoreProjectLines", kind="graphql"))
            nodes, page = (*nodes, *more.nodes), more.page
        return first.model_copy(update={"nodes": nodes, "page": page})

    async def _branches(self, ticket: int, recorded: str | None, seen: "_Seen") -> tuple[Branch, ...]:
        """Those with the number in their names, and the recorded one. The search finds `4` in `ticket/140` as well, so
        of a low number it may not show them all; one request more then finds a branch that nobody recorded.
        """
        nodes = (*seen.named.nodes, seen.branch, seen.stem)
        found = {shown.name: shown for node in nodes if (shown := _branch(node))}
        if recorded is None and len(seen.named.nodes) >= NAMED_READ:
            found |= {more.name: more for more in await self.branches_of_ticket(ticket)}
        return tuple(found.values())


def _may_be_missing(problem: GraphQLProblem) -> bool:
    no_issue = (problem.type, problem.path) == ("NOT_FOUND", ("repository", "subject"))
    return no_issue or around.may_be_missing(problem.path)


class _Policy(Message):
    typename: str = Field(alias="__typename")
    text: str | None = None
    is_truncated: bool = Field(default=False, alias="isTruncated")

    def content(self) -> str:
        return NOT_TEXT if self.text is None or self.is_truncated else self.text


class _Owner(Message):
    typename: str = Field(alias="__typename")


class _PullRequest(Message):
    typename: Literal["PullRequest"] = Field(alias="__typename")


class _TrunkNode(RefNode, around.SurroundingsOfTrunk):
    pass


class _BranchNode(RefNode, around.SurroundingsOfBranch):
    pass


class _Seen(around.SurroundingsOfRepository):
    private: bool = Field(alias="isPrivate")
    archived: bool = Field(default=False, alias="isArchived")
    owner: _Owner | None = None
    default: RefNode | None = Field(default=None, alias="defaultBranchRef")
    policy: _Policy | None = None
    subject: IssueNode | _PullRequest | None = None
    named: RefNodes
    branch: _BranchNode | None = None
    stem: RefNode | None = None
    trunk: _TrunkNode | None = None
    pulls: PullNodes = PullNodes()
    recorded: PullNode | None = None


def _branch(node: RefNode | None) -> Branch | None:
    return Branch(node.name, node.target.oid) if node and node.target else None


def _pulls(
    recorded: PullNode | None, named: Sequence[PullNode], branch: str | None, app: str | None
) -> tuple[Pull, ...]:
    found = {node.number: node.pull() for node in named}
    if recorded is not None:
        # Asked for by its number, it came with its timeline.
        found[recorded.number] = recorded.pull(app)
    return tuple(sorted((p for p in found.values() if p.head == branch), key=lambda p: -p.number))
