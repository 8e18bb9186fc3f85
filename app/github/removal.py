"""What our App made in a repository, found again by the App's id, and taken away.

Text and names of strangers are never taken for ours: a comment counts by the App that wrote it, a check-run by the App
that owns it, a ref by its exact place in the ledgers' namespaces.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import Field

from app.domain.model import Message, Sha, instant_text
from app.github.access import RELEASE_CHECK_NAME, RepositoryAccess
from app.github.errors import Forbidden, NotFound
from app.github.graphql_shapes import PageInfo
from app.github.shapes import Account, CheckRunShape, ObjectWithId, read
from app.github.wire import Call

MARKER = "<!-- agent-recovery:"
"""How every comment of ours begins."""
RETIRED = "removed"
"""The `external_id` of a check-run that speaks of no ticket any more."""
RETIRED_TITLE = "Agent Recovery was removed from this repository"

_RULESETS = "/repos/{owner}/{repo}/rulesets"
_RULESET = "/repos/{owner}/{repo}/rulesets/{id}"
_COMMENTS = "/repos/{owner}/{repo}/issues/comments"
_OF_COMMIT = "/repos/{owner}/{repo}/commits/{sha}/check-runs"
_RUN = "/repos/{owner}/{repo}/check-runs/{id}"
_OPEN = """
query OwnOnPulls($owner: String!, $name: String!, $appId: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    databaseId
    pullRequests(states: OPEN, first: 50, after: $after, orderBy: {field: CREATED_AT, direction: ASC}) {
      pageInfo { hasNextPage endCursor }
      nodes {
        number url headRefName headRefOid viewerDidAuthor
        commits(last: 1) {
          nodes {
            commit {
              oid
              checkSuites(first: 10, filterBy: {appId: $appId}) {
                nodes { checkRuns(first: 50, filterBy: {checkType: ALL}) { nodes { databaseId name externalId } } }
              }
            }
          }
        }
      }
    }
  }
}
"""


@dataclass(frozen=True)
class Guard:
    """A ruleset that requires a check of our App: while it stands, nobody else's merge passes it. `ours`: by its name
    and place the App's own.
    """

    id: int
    name: str
    source: str
    ours: bool


@dataclass(frozen=True)
class OwnComment:
    id: int
    number: int


@dataclass(frozen=True)
class OwnRun:
    """A check-run of ours. `guards`: it is the guard of a release."""

    id: int
    head_sha: str
    guards: bool = False


@dataclass(frozen=True)
class OpenPullOfOurs:
    """An open pull request. `by_app`: our App opened it."""

    number: int
    url: str
    head: str
    head_sha: str
    by_app: bool


class Removals(RepositoryAccess):
    """Finding and removing what is ours. All raise GitHubError."""

    async def guards(self) -> list[Guard]:
        """The rulesets that require a check of our App, those of the owner's too. None where the plan has none."""
        try:
            pages = await self.session.pages(_RULESETS, self._at(), {"includes_parents": "true"})
        except (Forbidden, NotFound):
            return []
        listed = [one for page in pages for one in read(list[_Ruleset], page.body, Call("GET", _RULESETS))]
        found = []
        for one in listed:
            answer = await self.session.get(_RULESET, self._at(id=one.id), {"includes_parents": "true"})
            whole = read(_Ruleset, answer.body, Call("GET", _RULESET))
            if self.app_id in set(whole.apps()):
                ours = whole.source.lower() == self.full_name.lower() and whole.name.startswith("Agent Recovery")
                found.append(Guard(one.id, whole.name, whole.source, ours))
        return found

    async def delete_ruleset(self, id: int) -> None:
        """Remove a ruleset; one that is gone already is what was wanted. Needs `administration: write`; without it
        nothing happens, and the caller looks again.

        Done but not heard, or two of us: it is gone. Lease gone: none is involved.
        """
        try:
            await self.session.write("DELETE", _RULESET, self._at(id=id))
        except (Forbidden, NotFound):
            return

    async def own_comments(self) -> tuple[list[OwnComment], set[int]]:
        """Every comment of the repository that our App wrote, and the numbers under which a bot whose App GitHub does
        not name wrote what begins as ours do: GraphQL tells of those. One request for a hundred comments of anybody.
        """
        pages = await self.session.pages(_COMMENTS, self._at(), {"sort": "created", "direction": "asc"})
        shapes = [one for page in pages for one in read(list[_Comment], page.body, Call("GET", _COMMENTS))]
        ours = [OwnComment(one.id, one.number()) for one in shapes if one.is_by(self.app_id)]
        return ours, {one.number() for one in shapes if one.may_be_ours()}

    async def own_on_pulls(self) -> tuple[list[OpenPullOfOurs], list[OwnRun]]:
        """All open pull requests, and our App's check-runs on their heads that still speak; fifty a request."""
        pulls: list[OpenPullOfOurs] = []
        runs: list[OwnRun] = []
        after: str | None = None
        while True:
            values = {"owner": self.owner, "name": self.name, "appId": self.app_id, "after": after}
            answer = await self.session.query("OwnOnPulls", _OPEN, values)
            repository = answer.body["data"].get("repository") or {}
            self._same_repository(repository, "OwnOnPulls")
            page = read(_Seen, repository, Call("POST", "OwnOnPulls", kind="graphql")).pulls
            for pull in page.nodes:
                pulls.append(OpenPullOfOurs(pull.number, pull.url, pull.head, pull.head_sha, pull.by_app))
                runs += pull.runs()
            if not page.page.has_next:
                return pulls, runs
            after = page.page.cursor

    async def own_on_commit(self, sha: str) -> list[OwnRun]:
        """Our App's check-runs on a commit that still speak; none where there is no such commit."""
        try:
            pages = await self.session.pages(_OF_COMMIT, self._at(sha=sha), {"app_id": self.app_id, "filter": "all"})
        except NotFound:
            return []
        shapes = [run for page in pages for run in read(_Runs, page.body, Call("GET", _OF_COMMIT)).check_runs]
        ours = [run for run in shapes if run.is_from(self.app_id) and run.external_id != RETIRED]
        return [OwnRun(run.id, run.head_sha, run.name == RELEASE_CHECK_NAME) for run in ours]

    async def retire_check_run(self, run: OwnRun, when: datetime) -> None:
        """End a check-run of ours for good: it can be changed, and not removed. It passes where it is required, because
        nothing will ever look at its commit again; the guard of a release does not, because somebody else's rule that
        still requires it would let a release through that nobody authorized.

        Done but not heard, or two of us: values are set, and `external_id` tells. Lease gone: leases end with the
        removal.
        """
        said = {
            "status": "completed",
            "conclusion": "cancelled" if run.guards else "neutral",
            "completed_at": instant_text(when),
            "external_id": RETIRED,
            "output": {"title": RETIRED_TITLE, "summary": "It says nothing about this commit any more.", "text": ""},
        }
        await self.session.write("PATCH", _RUN, self._at(id=run.id), said)


class _Ruleset(Message):
    id: int
    name: str = ""
    source: str = ""
    rules: tuple[dict[str, Any], ...] = ()

    def apps(self) -> Iterator[int]:
        for rule in self.rules:
            parameters = rule.get("parameters") if rule.get("type") == "required_status_checks" else None
            for check in (parameters or {}).get("required_status_checks") or ():
                app = check.get("integration_id")
                if isinstance(app, int):
                    yield app


class _Comment(Message):
    id: int
    issue_url: str
    body: str | None = None
    user: Account | None = None
    through: ObjectWithId | None = Field(default=None, alias="performed_via_github_app")

    def may_be_ours(self) -> bool:
        is_bots = self.user is not None and self.user.type == "Bot"
        return is_bots and self.through is None and (self.body or "").startswith(MARKER)

    def number(self) -> int:
        tail = self.issue_url.rpartition("/")[2]
        return int(tail) if tail.isdecimal() else 0

    def is_by(self, app_id: int) -> bool:
        # A person may write through the App's user tokens: that is the person's comment.
        return (
            self.through is not None
            and self.through.id == app_id
            and self.user is not None
            and (self.user.type == "Bot")
        )


class _Runs(Message):
    check_runs: tuple[CheckRunShape, ...]


class _Run(Message):
    id: int = Field(alias="databaseId")
    name: str = ""
    external_id: str | None = Field(default=None, alias="externalId")


class _RunNodes(Message):
    nodes: tuple[_Run, ...] = ()


class _Suite(Message):
    runs: _RunNodes = Field(default=_RunNodes(), alias="checkRuns")


class _Suites(Message):
    nodes: tuple[_Suite, ...] = ()


class _Commit(Message):
    oid: Sha
    suites: _Suites | None = Field(default=None, alias="checkSuites")


class _PullCommit(Message):
    commit: _Commit


class _PullCommits(Message):
    nodes: tuple[_PullCommit, ...] = ()


class _Pull(Message):
    number: int
    url: str = ""
    head: str = Field(alias="headRefName")
    head_sha: Sha = Field(alias="headRefOid")
    by_app: bool = Field(default=False, alias="viewerDidAuthor")
    commits: _PullCommits = _PullCommits()

    def runs(self) -> list[OwnRun]:
        commits = [node.commit for node in self.commits.nodes]
        return [
            OwnRun(run.id, commit.oid, run.name == RELEASE_CHECK_NAME)
            for commit in commits
            for suite in (commit.suites.nodes if commit.suites else ())
            for run in suite.runs.nodes
            if run.external_id != RETIRED
        ]


class _Pulls(Message):
    page: PageInfo = Field(alias="pageInfo")
    nodes: tuple[_Pull, ...] = ()


class _Seen(Message):
    pulls: _Pulls = Field(alias="pullRequests")
