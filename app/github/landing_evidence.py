"""What GitHub shows of a pull request that is to land: two GraphQL requests beside the rules of its base, which are
shared by all tickets of the trunk for a minute.

The checks are read first and the pull request afterwards, so that the head which the second answer names is one read
after the checks: what was read for another head counts for nothing.
"""

from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from app.domain.landing_evidence import MOST_FILES, BranchRules, LandingEvidence, Method
from app.domain.model import Message, Sha
from app.domain.required_checks import Checks, RunSeen, StatusSeen
from app.github.branch_rules import GuardedBranches
from app.github.errors import Conflict, GraphQLFailed, NotFound
from app.github.graphql_shapes import PageInfo
from app.github.shapes import ObjectWithId, read
from app.github.wire import Call

_CHECK_RUNS = "/repos/{owner}/{repo}/commits/{sha}/check-runs"
_FILES = "/repos/{owner}/{repo}/pulls/{number}/files"
_COMPARE = "/repos/{owner}/{repo}/compare/{+base}...{+head}"

# `mergeable` is asked for here although nobody reads it: asking makes GitHub compute it for the second request.
_CHECKS = """
query LandingChecks($owner: String!, $name: String!, $number: Int!, $sha: GitObjectID!) {
  repository(owner: $owner, name: $name) {
    databaseId mergeCommitAllowed squashMergeAllowed rebaseMergeAllowed
    pullRequest(number: $number) { mergeable }
    commit: object(oid: $sha) {
      __typename
      ... on Commit {
        checkSuites(first: 50) {
          pageInfo { hasNextPage }
          nodes {
            databaseId
            app { databaseId }
            checkRuns(first: 100, filterBy: {checkType: ALL}) {
              pageInfo { hasNextPage }
              nodes { databaseId name status conclusion startedAt }
            }
          }
        }
        status { contexts { context state } }
      }
    }
  }
}
"""
_PULL = """
query LandingPull($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    databaseId
    pullRequest(number: $number) {
      headRefOid baseRefName reviewDecision mergeable mergeStateStatus isInMergeQueue isMergeQueueEnabled changedFiles
      headRef { target { oid } }
      autoMergeRequest { enabledAt }
      reviewThreads(first: 100) { pageInfo { hasNextPage endCursor } nodes { isResolved } }
      files(first: 100) { pageInfo { hasNextPage } nodes { path changeType } }
    }
  }
}
"""
_THREADS = """
query LandingThreads($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    databaseId
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $after) { pageInfo { hasNextPage endCursor } nodes { isResolved } }
    }
  }
}
"""
_RENAMES = ("RENAMED", "COPIED")


class LandingEvidences(GuardedBranches):
    """Reading what a landing depends on."""

    async def landing_evidence(self, number: int, head_sha: str, base: str, into: str) -> LandingEvidence:
        """Everything that decides whether the pull request may land on `base` with exactly `head_sha`. `into`: the base
        of releases.

        Two requests where the rules are known; more where there are more than a hundred files, conversations or runs of
        one suite, where a file was renamed (only REST tells from what), or a conflict. `checks.head_after` is another
        SHA than `head_sha` where the head moved. Raises NotFound where there is no such pull request or commit,
        Conflict where its base is another one by now, GraphQLFailed where the answer is incomplete, other
        GitHubErrors.
        """
        rules = await self.branch_rules(base)
        guard = await self.release_guard(into)
        methods, runs, statuses = await self._reported(number, head_sha)
        pull = await self._pull_to_land(number)
        if pull.base != base:
            raise Conflict("the pull request has another base now", route="LandingPull")
        conflicting = pull.mergeable == "CONFLICTING"
        return LandingEvidence(
            rules=_for_this_pull(rules, methods, pull),
            checks=Checks(head_sha, pull.head_after(head_sha), runs, statuses),
            review=pull.review,
            open_conversations=await self._open_conversations(number, pull.threads),
            mergeable=pull.mergeable,
            merge_state=pull.merge_state,
            files=await self._files(number, pull),
            base_files=await self._changed_by_base(head_sha, base) if conflicting else (),
            queued=pull.queued,
            auto_merge=pull.auto_merge is not None,
            release_guard=guard,
        )

    async def _reported(
        self, number: int, sha: str
    ) -> tuple[frozenset[Method], tuple[RunSeen, ...], tuple[StatusSeen, ...]]:
        answer = await self._ask("LandingChecks", _CHECKS, {"number": number, "sha": sha})
        seen = read(_Reported, answer, Call("POST", "LandingChecks", kind="graphql"))
        if seen.commit is None or seen.commit.typename != "Commit":
            raise NotFound("there is no such commit", route="LandingChecks")
        statuses = seen.commit.status.contexts if seen.commit.status else ()
        whole = seen.commit.suites.runs_if_whole()
        runs = whole if whole is not None else await self._all_runs(sha)
        return seen.methods(), runs, tuple(one.seen() for one in statuses)

    async def _all_runs(self, sha: str) -> tuple[RunSeen, ...]:
        """All of a commit's runs by REST. `latest`, the default of the filter, would leave out a run that another suite
        repeats under its name.
        """
        pages = await self.session.pages(_CHECK_RUNS, self._at(sha=sha), {"filter": "all"})
        call = Call("GET", _CHECK_RUNS)
        return tuple(run.seen() for page in pages for run in read(_RunsByRest, page.body, call).check_runs)

    async def _pull_to_land(self, number: int) -> "_Pull":
        answer = await self._ask("LandingPull", _PULL, {"number": number})
        return read(_Pull, answer.get("pullRequest"), Call("POST", "LandingPull", kind="graphql"))

    async def _open_conversations(self, number: int, threads: "_Threads") -> int:
        count = threads.unresolved()
        while threads.page.has_next:
            answer = await self._ask("LandingThreads", _THREADS, {"number": number, "after": threads.page.cursor})
            pull = read(_Conversations, answer.get("pullRequest"), Call("POST", "LandingThreads", kind="graphql"))
            threads = pull.threads
            count += threads.unresolved()
        return count

    async def _files(self, number: int, pull: "_Pull") -> tuple[str, ...] | None:
        if pull.changed_files > MOST_FILES:
            return None
        listed = pull.files.nodes if pull.files is not None else ()
        renamed = any(file.change in _RENAMES for file in listed)
        if len(listed) == pull.changed_files and not renamed:
            return tuple(file.path for file in listed)
        pages = await self.session.pages(_FILES, self._at(number=number))
        files = [file for page in pages for file in read(list[_FileByRest], page.body, Call("GET", _FILES))]
        # Fewer than were counted is a list cut short: no list at all.
        return _paths(files) if len(files) >= pull.changed_files else None

    async def _changed_by_base(self, head_sha: str, base: str) -> tuple[str, ...]:
        """Of the paths the base changed GitHub tells the first three hundred."""
        answer = await self.session.get(_COMPARE, self._at(base=head_sha, head=base))
        return _paths(read(_Compared, answer.body, Call("GET", _COMPARE)).files)

    async def _ask(self, operation: str, document: str, of: dict[str, Any]) -> dict[str, Any]:
        """The repository's fields. Raises NotFound where the pull request is missing."""
        try:
            answer = await self.session.query(operation, document, {"owner": self.owner, "name": self.name, **of})
        except GraphQLFailed as e:
            if missing := e.as_not_found("repository", "pullRequest"):
                raise missing from None
            raise
        repository: dict[str, Any] = answer.body["data"].get("repository") or {}
        self._same_repository(repository, operation)
        return repository


class _Run(Message):
    id: int | None = Field(default=None, alias="databaseId")
    name: str
    status: str
    conclusion: str | None = None
    started_at: str | None = Field(default=None, alias="startedAt")


class _Runs(Message):
    page: PageInfo = Field(alias="pageInfo")
    nodes: tuple[_Run, ...] = ()


class _App(Message):
    id: int | None = Field(default=None, alias="databaseId")


class _Suite(Message):
    id: int | None = Field(default=None, alias="databaseId")
    app: _App | None = None
    runs: _Runs = Field(alias="checkRuns")

    def seen(self, place: int) -> tuple[RunSeen, ...]:
        """`place` stands for a number that has outgrown GraphQL's Int: within one answer it tells suites apart."""
        return tuple(
            RunSeen(
                name=run.name,
                status=run.status.lower(),
                conclusion=run.conclusion.lower() if run.conclusion else None,
                app_id=self.app.id if self.app else None,
                suite=self.id if self.id is not None else -place,
                id=run.id if run.id is not None else at,
                started_at=run.started_at or "",
            )
            for at, run in enumerate(self.runs.nodes)
        )


class _Suites(Message):
    page: PageInfo = Field(default=PageInfo(), alias="pageInfo")
    nodes: tuple[_Suite, ...] = ()

    def runs_if_whole(self) -> tuple[RunSeen, ...] | None:
        """All runs; None where there are more than were asked for."""
        if self.page.has_next or any(suite.runs.page.has_next for suite in self.nodes):
            return None
        return tuple(run for place, suite in enumerate(self.nodes, 1) for run in suite.seen(place))


class _Context(Message):
    context: str
    state: str

    def seen(self) -> StatusSeen:
        # `EXPECTED`: required and not reported yet.
        state = self.state.lower()
        return StatusSeen(self.context, "pending" if state == "expected" else state)


class _Status(Message):
    contexts: tuple[_Context, ...] = ()


class _Commit(Message):
    typename: str = Field(alias="__typename")
    suites: _Suites = Field(default=_Suites(), alias="checkSuites")
    status: _Status | None = None


class _Reported(Message):
    merge: bool = Field(alias="mergeCommitAllowed")
    squash: bool = Field(alias="squashMergeAllowed")
    rebase: bool = Field(alias="rebaseMergeAllowed")
    commit: _Commit | None = None

    def methods(self) -> frozenset[Method]:
        allowed: dict[Method, bool] = {"merge": self.merge, "squash": self.squash, "rebase": self.rebase}
        return frozenset(method for method, on in allowed.items() if on)


class _RunByRest(Message):
    id: int
    name: str
    status: str
    conclusion: str | None = None
    started_at: str | None = None
    app: ObjectWithId | None = None
    check_suite: ObjectWithId | None = None

    def seen(self) -> RunSeen:
        return RunSeen(
            name=self.name,
            status=self.status,
            conclusion=self.conclusion,
            app_id=self.app.id if self.app else None,
            suite=self.check_suite.id if self.check_suite else None,
            id=self.id,
            started_at=self.started_at or "",
        )


class _RunsByRest(Message):
    check_runs: tuple[_RunByRest, ...]


class _Thread(Message):
    resolved: bool = Field(alias="isResolved")


class _Threads(Message):
    page: PageInfo = Field(alias="pageInfo")
    nodes: tuple[_Thread, ...] = ()

    def unresolved(self) -> int:
        return sum(not thread.resolved for thread in self.nodes)


class _Conversations(Message):
    threads: _Threads = Field(alias="reviewThreads")


class _File(Message):
    path: str
    change: str = Field(alias="changeType")


class _Files(Message):
    nodes: tuple[_File, ...] = ()


class _FileByRest(Message):
    filename: str
    previous_filename: str | None = None


class _Compared(Message):
    files: tuple[_FileByRest, ...] = ()


class _Oid(Message):
    oid: Sha


class _Tip(Message):
    target: _Oid | None = None


class _Pull(_Conversations):
    head: Sha = Field(alias="headRefOid")
    base: str = Field(alias="baseRefName")
    branch: _Tip | None = Field(default=None, alias="headRef")
    review: Literal["APPROVED", "CHANGES_REQUESTED", "REVIEW_REQUIRED"] | None = Field(alias="reviewDecision")
    mergeable: Literal["MERGEABLE", "CONFLICTING", "UNKNOWN"]
    merge_state: str = Field(alias="mergeStateStatus")
    queued: bool = Field(alias="isInMergeQueue")
    has_queue: bool = Field(alias="isMergeQueueEnabled")
    auto_merge: dict[str, Any] | None = Field(default=None, alias="autoMergeRequest")
    changed_files: int = Field(alias="changedFiles")
    files: _Files | None = None

    def head_after(self, sha: str) -> str:
        """The head now. The branch may have moved before its pull request knows: the one that differs is the newer."""
        tip = self.branch.target.oid if self.branch and self.branch.target else self.head
        return tip if tip != sha else self.head


def _for_this_pull(rules: BranchRules, methods: frozenset[Method], pull: _Pull) -> BranchRules:
    return replace(rules, methods=rules.methods & methods, queue=rules.queue or pull.has_queue)


def _paths(files: list[_FileByRest] | tuple[_FileByRest, ...]) -> tuple[str, ...]:
    found = [name for file in files for name in (file.filename, file.previous_filename) if name]
    return tuple(dict.fromkeys(found))
