"""What GitHub shows of one release: the trunk, the base of releases, the pull requests between them, the tickets that
the trunk brings. Who may authorize what is asked elsewhere; nothing here permits anything.

A look costs three requests, one more where tickets are included, and more only for what does not fit on a page of a
hundred. Pull requests are listed by REST, whose filter names the head's owner: whatever forks call their branches, they
push nothing out of the list.
"""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime

from app.domain.model import Message
from app.domain.release_observation import Account, GuardRun, ReleaseObservation, Unread
from app.domain.surroundings import Tip
from app.github.access import RELEASE_CHECK_NAME
from app.github.release_shapes import DETAILS, RELEASE, GuardedCommit, PullSeen, PullsSeen, ReleaseSeen
from app.github.release_tickets import Ahead, ReleaseTickets
from app.github.shapes import CheckRunsShape, read
from app.github.wire import Call

MOST_CLOSED = 20
"""Closed pull requests that are looked at closely, the latest first."""
NOT_LOOKED_AT = Unread("nobody has looked at who held a lease yet")

_AT_ONCE = 25
_PAGE = 100
_PULLS = "/repos/{owner}/{repo}/pulls"
_CHECK_RUNS = "/repos/{owner}/{repo}/commits/{sha}/check-runs"
_ACTIVITY = "/repos/{owner}/{repo}/activity"


class ReleaseEvidences(ReleaseTickets):
    """Reading what a release is. All raise GitHubError where GitHub does not answer: half a look is no look."""

    async def release_observation(self, branch: str, into: str | None = None) -> ReleaseObservation:
        """One release as GitHub shows it now. `into`: the base of releases, the default branch where it is None.

        What other looks bring (comments that words came from, roles, leases, evidence for a merge, the last pusher) is
        left open: `lease_accounts` is Unread and permits nobody anything.

        `files` is 0 where the trees are equal, and where everything the trunk brings was merged into the base as a
        release already, though under other commits (squashed, rebased).
        """
        base = into or self.default_branch
        listed, ahead = await asyncio.gather(self._pulls_from(branch), self.ahead_of(base, branch))
        wanted = _looked_at_closely(listed)
        seen, date = await self._look_at_release(branch, base, wanted[:_AT_ONCE])
        if into is None and seen.default is not None and seen.default.name != base:
            self.default_branch = seen.default.name
            return await self.release_observation(branch)
        nodes = [*seen.pulls, *await self._pulls_by_id(wanted[_AT_ONCE:])]
        own = [node for node in nodes if node.home is not None and node.home.id == self.id and node.head == branch]
        trunk, target = seen.trunk_tip(), seen.target
        base_tip = seen.into.tip() if seen.into is not None else None
        released = _released(own, base)
        fresh = await self.unreleased(ahead, released, branch) if ahead is not None and released else ahead
        included, more, named = await self.included_in(branch, fresh, seen.merged)
        app = seen.viewer.login
        return ReleaseObservation(
            now=date,
            repository_id=self.id,
            owner=self.owner,
            name=self.name,
            branch=branch,
            default_branch=seen.default.name if seen.default else self.default_branch,
            into_name=base,
            trunk=trunk,
            into=base_tip,
            files=_files(fresh, trunk, base_tip),
            ahead=fresh.ahead if fresh is not None else None,
            pulls=tuple(sorted((node.pull(app) for node in own), key=lambda pull: -pull.number)),
            included=included,
            included_more=more,
            named=named,
            guard_runs=await self._release_guard_runs(
                [*(node.guarded() for node in own if node.state == "OPEN"), target]
            ),
            lease_accounts=NOT_LOOKED_AT,
        )

    async def last_pusher(self, branch: str, head_sha: str) -> Account | None:
        """Who brought this commit to the branch as its head: by a push, a merge, or when it was made. None where
        GitHub's list of activities does not say, or its account is gone. One request.
        """
        for one in await self._activities(branch):
            if one.after == head_sha:
                return Account(one.actor.login, one.actor.id, one.actor.type) if one.actor is not None else None
        return None

    async def heads_of(self, branch: str) -> tuple[str, ...]:
        """The heads that a branch had, the newest first, as far as GitHub's list of activities tells. One request."""
        moves = [sha for one in await self._activities(branch) for sha in (one.after, one.before)]
        return tuple(dict.fromkeys(sha for sha in moves if sha.strip("0")))

    async def _activities(self, branch: str) -> list["_Activity"]:
        query: dict[str, str | int] = {"ref": f"refs/heads/{branch}", "per_page": _PAGE}
        answer = await self.session.get(_ACTIVITY, self._at(), query)
        found = read(list[_Activity], answer.body, Call("GET", _ACTIVITY))
        return [one for one in found if one.ref == f"refs/heads/{branch}"]

    async def _pulls_from(self, branch: str) -> list["_Listed"]:
        """All pull requests from the trunk, whatever their base, the one that changed last first."""
        query = {"head": f"{self.owner}:{branch}", "state": "all", "sort": "updated", "direction": "desc"}
        pages = await self.session.pages(_PULLS, self._at(), query)
        return [one for page in pages for one in read(list[_Listed], page.body, Call("GET", _PULLS))]

    async def _look_at_release(self, branch: str, base: str, ids: Sequence[str]) -> tuple[ReleaseSeen, datetime]:
        variables = {
            "owner": self.owner,
            "name": self.name,
            "trunkRef": f"refs/heads/{branch}",
            "intoRef": f"refs/heads/{base}",
            "trunk": branch,
            "ids": list(ids),
            "appId": self.app_id,
            "checkName": RELEASE_CHECK_NAME,
            "after": None,
        }
        answer = await self.session.query("Release", RELEASE, variables)
        repository = answer.body["data"].get("repository") or {}
        self._same_repository(repository, "Release")
        whole = {**repository, "viewer": answer.body["data"].get("viewer"), "nodes": answer.body["data"].get("nodes")}
        return read(ReleaseSeen, whole, Call("POST", "Release", kind="graphql")), answer.date

    async def _pulls_by_id(self, ids: Sequence[str]) -> list[PullSeen]:
        found: list[PullSeen] = []
        for start in range(0, len(ids), _AT_ONCE):
            some = {"ids": ids[start : start + _AT_ONCE], "appId": self.app_id, "checkName": RELEASE_CHECK_NAME}
            answer = await self.session.query("ReleasePulls", DETAILS, some)
            call = Call("POST", "ReleasePulls", kind="graphql")
            found += [node for node in read(PullsSeen, answer.body["data"], call).nodes if node is not None]
        return found

    async def _release_guard_runs(self, commits: Iterable[GuardedCommit | None]) -> tuple[GuardRun, ...]:
        """Our App's runs of the guard's name on these commits, each once, oldest first."""
        by_sha = {commit.oid: commit for commit in commits if commit is not None}
        found: dict[int, GuardRun] = {}
        for sha, commit in by_sha.items():
            runs = commit.runs(self.app_id) if commit.is_whole else await self._all_guard_runs(sha)
            found |= {run.id: run for run in runs}
        return tuple(found[id] for id in sorted(found))

    async def _all_guard_runs(self, sha: str) -> list[GuardRun]:
        query: dict[str, str | int] = {"check_name": RELEASE_CHECK_NAME, "app_id": self.app_id, "filter": "all"}
        pages = await self.session.pages(_CHECK_RUNS, self._at(sha=sha), query)
        shapes = [run for page in pages for run in read(CheckRunsShape, page.body, Call("GET", _CHECK_RUNS)).check_runs]
        ours = [run.check_run() for run in shapes if run.is_from(self.app_id) and run.name == RELEASE_CHECK_NAME]
        return [
            GuardRun(run.id, run.sha, run.status, run.conclusion, run.external_id, run.title, run.summary)
            for run in ours
        ]


def _looked_at_closely(listed: Sequence["_Listed"]) -> list[str]:
    """GraphQL's ids of all open pull requests, and of the closed ones that changed last."""
    distinct = {one.node_id: one for one in listed}
    closed = [id for id, one in distinct.items() if one.state != "open"]
    return [*(id for id, one in distinct.items() if one.state == "open"), *closed[:MOST_CLOSED]]


def _released(own: Sequence[PullSeen], base: str) -> str | None:
    """The head of the release that was merged last."""
    merged = [(node.merged_at, node.number, node.head_sha) for node in own if node.merged_at and node.base == base]
    return max(merged)[2] if merged else None


def _files(ahead: Ahead | None, trunk: Tip | None, into: Tip | None) -> int | None:
    if trunk is not None and into is not None and trunk.tree is not None and trunk.tree == into.tree:
        return 0
    return ahead.files if ahead is not None else None


class _Listed(Message):
    node_id: str
    state: str


class _ActivityActor(Message):
    login: str
    id: int
    type: str = "User"


class _Activity(Message):
    ref: str
    before: str = ""
    after: str
    actor: _ActivityActor | None = None
