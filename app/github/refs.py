"""Refs: read by name, moved only by compare-and-set.

Custom refs are invisible to GraphQL's `ref()`, so they are read by REST; they are written by `updateRefs` with the
expected old value always given, or by receive-pack where that is refused (the ownership protocol, R8 and R10).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.observation import Branch
from app.github.access import RepositoryAccess
from app.github.errors import (
    Conflict,
    GitHubError,
    GraphQLFailed,
    NotFound,
    RefsUndecided,
    ServerError,
    Unanswered,
    Validation,
)
from app.github.receive_pack import advertised_capabilities, report_of, request_body
from app.github.session import PER_PAGE
from app.github.shapes import RefShape, read
from app.github.wire import Call

_MATCHING = "/repos/{owner}/{repo}/git/matching-refs/{+ref}"
_REF = "/repos/{owner}/{repo}/git/ref/heads/{+branch}"
_RECEIVE_PACK = "/{owner}/{repo}.git/git-receive-pack"
_UPDATE_REFS = """
mutation UpdateRefs($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }
"""


@dataclass(frozen=True)
class RefValue:
    """A ref by its full name (`refs/…`) and what it points to."""

    name: str
    sha: str


@dataclass(frozen=True)
class Occupied:
    """No ref of the name can be made: this one stands below it."""

    by: str


@dataclass(frozen=True)
class RefUpdate:
    """One command: `name` from `before` to `after`. `ZERO_SHA` before: must not exist; after: delete.
    `force` allows an `after` that does not descend from `before`.
    """

    name: str
    before: str
    after: str
    force: bool = False


class Refs(RepositoryAccess):
    """Reading and moving refs."""

    async def matching_refs(self, ref: str) -> list[RefValue]:
        """All refs whose full name starts with `ref`: a prefix match, so `…/4` also finds `…/42`; filter for equality.

        Every page is read; a page that is no list of refs raises ServerError and is never an empty answer.
        """
        full = ref if ref.startswith("refs/") else f"refs/{ref}"
        pages = await self.session.pages(_MATCHING, self._at(ref=full.removeprefix("refs/")))
        shapes = [shape for page in pages for shape in read(list[RefShape], page.body, Call("GET", _MATCHING))]
        return [RefValue(shape.ref, shape.object.sha) for shape in shapes if shape.ref.startswith(full)]

    async def exact_ref(self, name: str) -> str | None:
        """What exactly this ref (full name) points to; None where it does not stand. One request, as `place_of_ref`."""
        place = await self.place_of_ref(name)
        return place.sha if isinstance(place, RefValue) else None

    async def place_of_ref(self, name: str) -> RefValue | Occupied | None:
        """What stands at exactly this name (full): the ref, or refs below it, which leave no room for it.

        One request, however many refs begin with the name: git lists refs in order, and a name comes before all that it
        begins. Only a page that is out of order makes the rest be read.
        """
        return (await self.place_and_branches_of_ref(name))[0]

    async def place_and_branches_of_ref(self, name: str) -> tuple[RefValue | Occupied | None, tuple[RefValue, ...]]:
        """`place_of_ref`, and from the same answer every ref whose name goes on with a dot (`…/42` → `…/42.docs-1`).
        More of them than a page holds make one request more.
        """
        values = {"ref": name.removeprefix("refs/")}
        first = await self.session.get(_MATCHING, self._at(**values), {"per_page": PER_PAGE})
        shapes = read(list[RefShape], first.body, Call("GET", _MATCHING))
        values_read = [RefValue(shape.ref, shape.object.sha) for shape in shapes]
        names = [value.name for value in values_read]
        # A dot comes before every digit: what follows `…/42.` in order is `…/420`.
        goes_on = bool(names) and names[-1].startswith(f"{name}.")
        if first.has_next_page and name not in names and names != sorted(names):
            values_read = await self.matching_refs(name)
        elif first.has_next_page and (goes_on or names != sorted(names)):
            further = await self.matching_refs(f"{name}.")
            values_read = [*(value for value in values_read if not value.name.startswith(f"{name}.")), *further]
        return placed(name, values_read)

    async def find_branches(self, prefix: str) -> list[Branch]:
        """Branches whose name starts with `prefix`."""
        found = await self.matching_refs(f"refs/heads/{prefix}")
        return [Branch(value.name.removeprefix("refs/heads/"), value.sha) for value in found]

    async def commit_of_branch(self, name: str) -> str | None:
        """The commit a branch points to; None where there is no branch of exactly this name."""
        try:
            answer = await self.session.get(_REF, self._at(branch=name))
        except NotFound:
            return None
        call = Call("GET", _REF)
        # Older servers answer with the list of refs that begin with the name: that is not the branch.
        if isinstance(answer.body, list):
            return None
        shape = read(RefShape, answer.body, call)
        if shape.ref != f"refs/heads/{name}":
            raise ServerError("another branch was answered", route=_REF)
        return shape.object.sha

    async def update_refs(self, updates: Sequence[RefUpdate]) -> None:
        """Move all refs or none, each only from its `before`.

        Returns only where GitHub said yes. RefsUndecided for everything else it may have acted on: its error text
        never says why, so the refs themselves are read next. ValueError before anything is sent for an empty list,
        a name twice, or a command that changes nothing (0→0 would be an unchecked delete).

        Done but not heard: the refs show it, and the same commands sent again are refused by their `before`.
        Two of us: one wins, the other's `before` is wrong. Lease gone: the ledger's ref, part of the same update, has
        moved, so the whole update is refused.
        """
        _check(updates)
        commands = [{"name": u.name, "beforeOid": u.before, "afterOid": u.after, "force": u.force} for u in updates]
        variables = {"input": {"repositoryId": self.node_id, "refUpdates": commands}}
        try:
            await self.session.mutate("UpdateRefs", _UPDATE_REFS, variables)
        except (GraphQLFailed, Unanswered, Validation, Conflict) as e:
            raise RefsUndecided(e.message, status=e.status, route="updateRefs") from e

    async def receive_pack(self, updates: Sequence[RefUpdate]) -> dict[str, str | None]:
        """The same through git's own protocol: ref name → None (moved) or the refusal in git's words.

        The objects must be on the server already; the pack sent is empty. All or nothing, with the old values checked
        by the server. Raises ValueError as `update_refs`, RefsUndecided where the report is missing or incomplete,
        and GitHub's refusals (NotFound, Forbidden …) where nothing was tried. The three answers are those of
        `update_refs`.
        """
        _check(updates)
        service = {"Accept": "*/*", "Cache-Control": "no-cache"}
        advertisement = await self.session.git(
            "GET",
            f"{self._git_url}/info/refs?service=git-receive-pack",
            route="/{owner}/{repo}.git/info/refs",
            headers=service,
        )
        missing = {"report-status", "atomic", "delete-refs"} - advertised_capabilities(advertisement)
        if missing:
            raise ServerError(f"the git server does not offer {', '.join(sorted(missing))}", route=_RECEIVE_PACK)
        try:
            report = await self.session.git(
                "POST",
                f"{self._git_url}/git-receive-pack",
                route=_RECEIVE_PACK,
                headers={
                    "Content-Type": "application/x-git-receive-pack-request",
                    "Accept": "application/x-git-receive-pack-result",
                },
                content=request_body([(u.name, u.before, u.after) for u in updates]),
            )
            return report_of(report, [u.name for u in updates])
        except (Unanswered, ValueError) as e:
            status = e.status if isinstance(e, GitHubError) else None
            raise RefsUndecided(str(e), status=status, route=_RECEIVE_PACK) from e

    @property
    def _git_url(self) -> str:
        return self.clone_url


def placed(name: str, values: Sequence[RefValue]) -> tuple[RefValue | Occupied | None, tuple[RefValue, ...]]:
    """What stands at exactly this name among the refs that begin with it, and those whose name goes on with a dot."""
    below = next((Occupied(value.name) for value in values if value.name.startswith(f"{name}/")), None)
    place = next((value for value in values if value.name == name), below)
    return place, tuple(value for value in values if value.name.startswith(f"{name}."))


def _check(updates: Sequence[RefUpdate]) -> None:
    names = [update.name for update in updates]
    if not names or len(set(names)) != len(names):
        raise ValueError("an update names each of its refs once, and at least one")
    for update in updates:
        if not update.name.startswith("refs/"):
            raise ValueError(f"not a full ref name: {update.name}")
        if update.before == update.after:
            raise ValueError(f"a command that changes nothing is never sent: {update.name}")
