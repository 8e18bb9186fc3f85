"""Refs, commits, trees, blobs, tags."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pygit2

from app.emulator.acts.required_checks import latest_statuses
from app.emulator.acts.statuses import combined_state
from app.emulator.associations import pulls_with_commit
from app.emulator.clock import to_stamp
from app.emulator.graphql.connections import connection, ordered
from app.emulator.graphql.views import View, shows, view, viewer_of
from app.emulator.ids import node_id
from app.emulator.people import account_of
from app.emulator.rest.checks import select_runs
from app.emulator.state import CheckSuite, Repository

_TEXT_LIMIT = 512_000


@dataclass(frozen=True)
class GitThing:
    """A git object of a repository."""

    repo: Repository
    oid: str


class CommitThing(GitThing):
    """A commit."""


class TreeThing(GitThing):
    """A tree."""


class BlobThing(GitThing):
    """A blob."""


class TagThing(GitThing):
    """An annotated tag."""


@dataclass(frozen=True)
class RefThing:
    """A branch or tag."""

    repo: Repository
    name: str
    oid: str


_KINDS: dict[str, type[GitThing]] = {
    "commit": CommitThing,
    "tree": TreeThing,
    "blob": BlobThing,
    "tag": TagThing,
}


def git_thing(repo: Repository, oid: str | None) -> GitThing | None:
    """The git object, or None when there is none."""
    kind = repo.git.kind(oid) if oid is not None else None
    return _KINDS[kind](repo, oid) if kind is not None and oid is not None else None


def ref_thing(repo: Repository, name: str) -> RefThing | None:
    """A ref by its full or short name: GraphQL knows branches and tags and nothing else."""
    names = [name] if name.startswith("refs/") else [f"refs/heads/{name}", f"refs/tags/{name}"]
    for full in names:
        oid = repo.git.ref(full) if full.startswith(("refs/heads/", "refs/tags/")) else None
        if oid is not None:
            return RefThing(repo, full, oid)
    return None


class GitObjectView(View):
    """What all git objects share."""

    thing: GitThing
    prefix = ""

    def __init__(self, request: Any, thing: GitThing) -> None:
        super().__init__(request, thing)
        self.oid, self.abbreviatedOid = thing.oid, thing.oid[:7]
        self.id = node_id(self.prefix, thing.repo.id, thing.oid)
        self.resourcePath = f"/{thing.repo.full_name}/commit/{thing.oid}"
        self.url = self.commitUrl = request.world.url + self.resourcePath
        self.git = thing.repo.git.object(thing.oid)

    @property
    def repository(self) -> Any:
        return view(self.request, self.thing.repo)


@shows(CommitThing)
class CommitView(GitObjectView):
    """A commit."""

    __typename = "Commit"
    prefix = "C"

    @property
    def message(self) -> str:
        return str(self.git.message)

    @property
    def messageHeadline(self) -> str:
        return self.message.split("\n", 1)[0]

    @property
    def messageBody(self) -> str:
        return self.message.partition("\n")[2].strip()

    @property
    def author(self) -> dict[str, Any]:
        return git_actor(self.request, self.git.author)

    def authors(self, info: Any, **page: Any) -> Any:
        """Its author and those whom `Co-authored-by` names."""
        named = re.findall(r"^Co-authored-by: (.+) <(.+)>$", self.git.message, re.MULTILINE | re.IGNORECASE)
        when = self.git.author
        people = [when, *(pygit2.Signature(name, email, when.time, when.offset) for name, email in named)]
        return connection("authors", people, lambda signed: git_actor(self.request, signed), **page)

    @property
    def committer(self) -> dict[str, Any]:
        return git_actor(self.request, self.git.committer)

    @property
    def authoredDate(self) -> str:
        return to_stamp(self.git.author.time)

    @property
    def committedDate(self) -> str:
        return to_stamp(self.git.commit_time)

    @property
    def tree(self) -> Any:
        return view(self.request, TreeThing(self.thing.repo, str(self.git.tree_id)))

    def parents(self, info: Any, **page: Any) -> Any:
        return connection("parents", [str(p) for p in self.git.parent_ids], self._commit, **page)

    def history(
        self,
        info: Any,
        path: str | None = None,
        since: str | None = None,
        until: str | None = None,
        author: dict[str, Any] | None = None,
        **page: Any,
    ) -> Any:
        email = ((author or {}).get("emails") or [None])[0]
        shas = self.thing.repo.git.log(self.oid, path=path, since=since, until=until, author=email)
        return connection("history", shas, self._commit, **page)

    def _commit(self, oid: str) -> Any:
        return view(self.request, CommitThing(self.thing.repo, oid))

    def file(self, info: Any, path: str) -> Any:
        try:
            entry = self.git.tree[path]
        except KeyError:
            return None
        return tree_entry(self.request, self.thing.repo, entry, path)

    @property
    def _stats(self) -> Any:
        parents = self.git.parents
        diff = (
            self.thing.repo.git.pg.diff(parents[0].tree, self.git.tree)
            if parents
            else self.git.tree.diff_to_tree(swap=True)
        )
        return diff.stats

    @property
    def additions(self) -> int:
        return int(self._stats.insertions)

    @property
    def deletions(self) -> int:
        return int(self._stats.deletions)

    @property
    def changedFilesIfAvailable(self) -> int:
        return int(self._stats.files_changed)

    def associatedPullRequests(self, info: Any, orderBy: dict[str, Any] | None = None, **page: Any) -> Any:
        pulls = pulls_with_commit(self.thing.repo, self.oid)
        return connection("associatedPullRequests", ordered(pulls, orderBy), viewer_of(self.request), **page)

    def checkSuites(self, info: Any, filterBy: dict[str, Any] | None = None, **page: Any) -> Any:
        wanted = filterBy or {}
        suites = [s for s in self.thing.repo.suites if s.head_sha == self.oid]
        if wanted.get("appId") is not None:
            suites = [s for s in suites if s.app.id == wanted["appId"]]
        if wanted.get("checkName") is not None:
            suites = [s for s in suites if any(r.name == wanted["checkName"] for r in s.runs)]
        return connection("checkSuites", suites, viewer_of(self.request), **page)

    @property
    def statusCheckRollup(self) -> Any:
        return rollup(self.request, self.thing)

    @property
    def status(self) -> Any:
        statuses = latest_statuses(self.thing.repo, self.oid)
        if not statuses:
            return None
        return {
            "id": node_id("ST", self.thing.repo.id, self.oid),
            "state": combined_state(statuses).upper(),
            "contexts": [view(self.request, s) for s in statuses],
        }


def rollup(request: Any, thing: GitThing) -> Any:
    """All statuses and latest check-runs of a commit under one state; None when there are none."""
    suites: list[CheckSuite] = [s for s in thing.repo.suites if s.head_sha == thing.oid]
    contexts: list[Any] = [*select_runs(suites, None, None, "latest")]
    statuses = latest_statuses(thing.repo, thing.oid)
    if not contexts and not statuses:
        return None
    states = {s.state.upper() for s in statuses}
    for run in contexts:
        if run.status != "completed":
            states.add("PENDING")
        elif run.conclusion in ("success", "neutral", "skipped"):
            states.add("SUCCESS")
        else:
            states.add("FAILURE")
    worst = next(s for s in ("ERROR", "FAILURE", "PENDING", "SUCCESS") if s in states)
    every = [*contexts, *statuses]
    return {
        "id": node_id("SCR", thing.repo.id, thing.oid),
        "state": worst,
        "commit": lambda info: view(request, thing),
        "contexts": lambda info, **page: connection("contexts", every, viewer_of(request), **page),
    }


@shows(TreeThing)
class TreeView(GitObjectView):
    """A tree."""

    __typename = "Tree"
    prefix = "T"

    @property
    def entries(self) -> list[dict[str, Any]]:
        return [tree_entry(self.request, self.thing.repo, e, e.name) for e in self.git]


def tree_entry(request: Any, repo: Repository, entry: Any, path: str) -> dict[str, Any]:
    """An entry of a tree."""
    name = path.rpartition("/")[2]
    return {
        "name": name,
        "path": path,
        "oid": str(entry.id),
        "type": entry.type_str,
        "mode": int(entry.filemode),
        "size": entry.size if entry.type_str == "blob" else 0,
        "extension": "." + name.rpartition(".")[2] if "." in name else "",
        "isGenerated": False,
        "object": lambda info: view(request, git_thing(repo, str(entry.id))),
    }


@shows(BlobThing)
class BlobView(GitObjectView):
    """A blob; long texts are cut as GitHub cuts them."""

    __typename = "Blob"
    prefix = "B"

    @property
    def byteSize(self) -> int:
        return int(self.git.size)

    @property
    def isBinary(self) -> bool:
        return bool(self.git.is_binary)

    @property
    def isTruncated(self) -> bool:
        return self.byteSize > _TEXT_LIMIT

    @property
    def text(self) -> str | None:
        if self.isBinary:
            return None
        try:
            return bytes(self.git.data)[:_TEXT_LIMIT].decode()
        except UnicodeDecodeError:
            return bytes(self.git.data)[:_TEXT_LIMIT].decode(errors="replace") if self.isTruncated else None


@shows(TagThing)
class TagView(GitObjectView):
    """An annotated tag."""

    __typename = "Tag"
    prefix = "TA"

    @property
    def name(self) -> str:
        return str(self.git.name)

    @property
    def message(self) -> str:
        return str(self.git.message)

    @property
    def tagger(self) -> Any:
        return git_actor(self.request, self.git.tagger) if self.git.tagger else None

    @property
    def target(self) -> Any:
        return view(self.request, git_thing(self.thing.repo, str(self.git.target)))


@shows(RefThing)
class RefView(View):
    """A branch or tag."""

    thing: RefThing
    __typename = "Ref"

    def __init__(self, request: Any, thing: RefThing) -> None:
        super().__init__(request, thing)
        self.id = node_id("REF", thing.repo.id, thing.name)
        kind, _, self.name = thing.name.removeprefix("refs/").partition("/")
        self.prefix = f"refs/{kind}/"

    @property
    def target(self) -> Any:
        return view(self.request, git_thing(self.thing.repo, self.thing.oid))

    @property
    def repository(self) -> Any:
        return view(self.request, self.thing.repo)

    @property
    def branchProtectionRule(self) -> Any:
        # Its view shows queues, whose entries show commits: imported when first needed.
        from app.emulator.graphql.protection_views import protection_thing

        identity = self.request.identity
        if identity.user is not None and self.thing.repo.role_of(identity.user) != "admin":
            return None
        if not identity.allows(self.thing.repo, "administration", "read"):
            return None
        return view(self.request, protection_thing(self.thing.repo, self.name))

    def associatedPullRequests(self, info: Any, **arguments: Any) -> Any:
        return self.repository.pullRequests(info, **({"headRefName": self.name} | arguments))

    def compare(self, info: Any, headRef: str) -> Any:
        git = self.thing.repo.git
        head = git.resolve_commit(headRef)
        if head is None or git.commit(self.thing.oid) is None:
            return None
        ahead, behind = git.ahead_behind(head, self.thing.oid)
        status = "DIVERGED" if ahead and behind else "AHEAD" if ahead else "BEHIND" if behind else "IDENTICAL"
        return {
            "id": node_id("CMP", self.thing.repo.id, head),
            "aheadBy": ahead,
            "behindBy": behind,
            "status": status,
        }


def git_actor(request: Any, signed: pygit2.Signature) -> dict[str, Any]:
    """A name, an e-mail and a date of a commit, with the account behind them."""
    account = account_of(request.world, signed.email)
    return {
        "name": signed.name,
        "email": signed.email,
        "date": to_stamp(signed.time),
        "user": view(request, account) if account is not None and account.type == "User" else None,
    }
