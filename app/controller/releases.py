"""Releases as the rest of the controller sees them: the round of a trunk, what persons say about one, and the guard on
everything else that would go into the base of releases.
"""

import structlog

from app.controller.authors import Authors
from app.controller.clock import Clock
from app.controller.keyring import Keyring
from app.controller.pokes import PokeStore
from app.controller.release_acting import ReleaseActor
from app.controller.release_guarding import ReleaseGuarding, Spoken
from app.controller.release_hearing import DoneRelease, ReleaseHearing, ReleaseWord
from app.controller.release_journal import ReleaseJournal
from app.controller.release_looks import ReleaseLooks
from app.controller.release_merging import ReleaseMerger
from app.controller.release_rebuilding import BegunAnew, ReleaseRebuilding
from app.controller.release_showing import spoken_of
from app.controller.release_witnessing import ReleaseWitnessing
from app.controller.releasing import Releasing
from app.controller.standing_trunks import standing_trunks
from app.controller.sweep_marks import SweepMarks
from app.controller.turn import Ended
from app.controller.view import Views
from app.controller.witnesses import Witnesses
from app.domain.keys import TrunkKey, is_trunk_name

log = structlog.get_logger()


class Releases:
    """Everything the controller does to releases."""

    def __init__(
        self,
        views: Views,
        keys: Keyring,
        witnesses: Witnesses,
        marks: SweepMarks,
        authors: Authors,
        pokes: PokeStore,
        clock: Clock,
    ) -> None:
        witnessing = ReleaseWitnessing(witnesses)
        self._pokes = pokes
        self._looks = ReleaseLooks(views, keys, witnessing, marks)
        self._guarding = ReleaseGuarding(clock)
        journal = ReleaseJournal(witnessing)
        actor = ReleaseActor(ReleaseMerger(self._looks))
        self._releasing = Releasing(self._looks, journal, self._guarding, actor, authors)
        self._hearing = ReleaseHearing(self._looks, journal, self._releasing)
        self._rebuilding = ReleaseRebuilding(self._looks, witnessing, self._releasing)

    async def round(self, key: TrunkKey) -> Ended:
        """Bring one release to where it should be. Raises GitHubError."""
        return await self._releasing.run(key)

    async def hear(self, owner: str, name: str, pull: int, word: ReleaseWord, *, dry_run: bool = False) -> DoneRelease:
        """Carry out what a person says on a release PR; the release is looked at again after that, whatever came of it.
        With `dry_run` nothing is written. Raises Refused, GitHubError.
        """
        branch: str | None = None
        try:
            branch = await self._hearing.branch(owner, name, pull)
            return await self._hearing.hear(owner, name, pull, branch, word, dry_run=dry_run)
        finally:
            if branch is not None and not dry_run:
                await self._pokes.poke(str(TrunkKey(f"{owner}/{name}", branch)))

    async def status(self, owner: str, name: str, pull: int) -> str:
        """How a release stands, in Markdown. Raises Refused, GitHubError."""
        return await self._hearing.status(owner, name, pull)

    async def rebuild(
        self, owner: str, name: str, branch: str, *, id: str, by: str, dry_run: bool = False
    ) -> BegunAnew:
        """Begin a release's frozen ledger anew, because the person `by` says so in the command `id`. Raises Refused,
        GitHubError.
        """
        made = await self._rebuilding.rebuild(owner, name, branch, id=id, by=by, dry_run=dry_run)
        if not dry_run:
            await self._pokes.poke(str(TrunkKey(f"{owner}/{name}", branch)))
        return made

    async def guard_all(self, owner: str, name: str) -> int:
        """Show the guard on everything that would go into the base of releases and is no release's, and poke the
        releases whose heads show no verdict; returns how many runs were written. Raises GitHubError.
        """
        place = await self._looks.place(owner, name)
        policy = place.usable
        if policy is None:
            return 0
        ground = place.ground(policy)
        look = await self._guarding.look(place.repo, ground)
        if not look.heads:
            return 0

        async def also(branch: str) -> Spoken:
            seen = await self._looks.look(place, branch)
            return Spoken() if isinstance(seen, str) else spoken_of(seen)

        trunks = {b.name: b.sha for b in await standing_trunks(place.repo, policy) if b.name != ground.into}
        answers, ask = await self._guarding.of_others(place.repo, look, trunks, ground, policy, also)
        written = await self._guarding.write(place.repo, answers)
        names = sorted(branch for branch in ask if is_trunk_name(branch))
        await self._pokes.poke(*(str(TrunkKey(place.repo.full_name, branch)) for branch in names))
        return written
