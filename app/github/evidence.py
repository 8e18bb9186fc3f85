"""What stands on GitHub of things that others made: the probes of effects. Reads only.

Text of strangers is never taken for a proof: a marker counts in what a named account or our App wrote.
"""

from dataclasses import dataclass
from datetime import datetime

from pydantic import AwareDatetime

from app.domain.model import Message, Sha, instant_text
from app.github.access import RepositoryAccess
from app.github.errors import NotFound
from app.github.session import PER_PAGE
from app.github.shapes import Account, CheckRunShape, ObjectWithId, read
from app.github.wire import Call

_COMMENTS = "/repos/{owner}/{repo}/issues/{number}/comments"
_ISSUES = "/repos/{owner}/{repo}/issues"
_RELEASE = "/repos/{owner}/{repo}/releases/tags/{+tag}"
_DEPLOYMENTS = "/repos/{owner}/{repo}/deployments"
_STATUSES = "/repos/{owner}/{repo}/deployments/{id}/statuses"
_CHECK_RUNS = "/repos/{owner}/{repo}/commits/{sha}/check-runs"
LOOKED_AT = 5
"""Deployments of one commit to one environment whose statuses are read."""


@dataclass(frozen=True)
class Trace:
    """Something that stands on GitHub: where people see it, and the state it is in, where it has one."""

    url: str
    state: str = ""


class _Written(Message):
    """An Issue or a comment: a text, and who wrote it."""

    body: str | None = None
    html_url: str = ""
    user: Account | None = None
    performed_via_github_app: ObjectWithId | None = None
    pull_request: dict[str, object] | None = None


class _Release(Message):
    html_url: str = ""
    draft: bool = False
    published_at: AwareDatetime | None = None


class _Deployment(Message):
    id: int
    sha: Sha
    environment: str
    url: str = ""


class _Status(Message):
    id: int = 0
    state: str


class _NamedRun(CheckRunShape):
    html_url: str | None = None


class _NamedRuns(Message):
    check_runs: tuple[_NamedRun, ...]


class Evidence(RepositoryAccess):
    """Traces of effects. All raise GitHubError; Forbidden where the App was not given the permission to look."""

    async def written_comment(self, number: int, marker: str, author: str, since: datetime) -> Trace | None:
        """The first comment on an Issue or PR, touched since `since`, that holds `marker` and that `author` or our App
        wrote. Raises NotFound where there is no such Issue or PR.
        """
        pages = await self.session.pages(_COMMENTS, self._at(number=number), {"since": instant_text(since)})
        call = Call("GET", _COMMENTS)
        return self._marked([w for page in pages for w in read(list[_Written], page.body, call)], marker, author)

    async def written_issue(self, marker: str, author: str, since: datetime) -> Trace | None:
        """The first Issue, touched since `since`, that holds `marker` and that `author` or our App opened."""
        query = {"state": "all", "since": instant_text(since), "sort": "created", "direction": "asc"}
        pages = await self.session.pages(_ISSUES, self._at(), query)
        written = [w for page in pages for w in read(list[_Written], page.body, Call("GET", _ISSUES))]
        return self._marked([w for w in written if w.pull_request is None], marker, author)

    async def published_release(self, tag: str) -> Trace | None:
        """The published release of a tag; GitHub shows no drafts here."""
        try:
            answer = await self.session.get(_RELEASE, self._at(tag=tag))
        except NotFound:
            return None
        release = read(_Release, answer.body, Call("GET", _RELEASE))
        return None if release.draft else Trace(release.html_url)

    async def deployment(self, environment: str, sha: str) -> Trace | None:
        """A deployment of a commit to an environment: the newest of which a status ever said `success` (a later
        deployment makes it inactive), else the newest with the `state` of its latest status, `` where it has none.
        GitHub promises no order of either list, so the ids decide.
        """
        query: dict[str, str | int] = {"environment": environment, "sha": sha, "per_page": PER_PAGE}
        answer = await self.session.get(_DEPLOYMENTS, self._at(), query)
        found = read(list[_Deployment], answer.body, Call("GET", _DEPLOYMENTS))
        ours = [d for d in found if (d.environment, d.sha) == (environment, sha)]
        traces = []
        for deployment in sorted(ours, key=lambda d: -d.id)[:LOOKED_AT]:
            answer = await self.session.get(_STATUSES, self._at(id=deployment.id), {"per_page": PER_PAGE})
            said = sorted(read(list[_Status], answer.body, Call("GET", _STATUSES)), key=lambda status: -status.id)
            if any(status.state == "success" for status in said):
                return Trace(deployment.url, "success")
            traces.append(Trace(deployment.url, said[0].state if said else ""))
        return traces[0] if traces else None

    async def named_check_run(self, name: str, sha: str) -> Trace | None:
        """The latest check-run of this name on a commit, whichever App's; its `state` is its conclusion, `` while it
        runs. Raises NotFound or Validation where there is no such commit.
        """
        query = {"check_name": name, "filter": "latest"}
        answer = await self.session.get(_CHECK_RUNS, self._at(sha=sha), query)
        runs = [r for r in read(_NamedRuns, answer.body, Call("GET", _CHECK_RUNS)).check_runs if r.name == name]
        newest = max(runs, key=lambda run: run.id, default=None)
        return Trace(newest.html_url or "", newest.conclusion or "") if newest is not None else None

    def _marked(self, written: list[_Written], marker: str, author: str) -> Trace | None:
        found = (w for w in written if marker in (w.body or "") and self._is_by(w, author))
        return next((Trace(w.html_url) for w in found), None)

    def _is_by(self, written: _Written, author: str) -> bool:
        via = written.performed_via_github_app
        if via is not None and via.id == self.app_id:
            return True
        return written.user is not None and written.user.login.lower() == author.lower()
