"""Showing the release guard: the check-run `Agent Recovery / release` on every head of every open pull request into the
base of releases, and on every commit that a merge queue built for it.

No permit is involved (the ownership protocol, R18): a run is born red, by whomever, and turns green by its id alone.
What if it happened and we did not hear: runs are looked for, by name, commit and App, before one is made. What if two
of us do it: both runs stand, and all runs of ours on a commit are made to say the same. What if what we say is outdated
by the time it is written: whoever writes green reads the release's ledger right before, and looks again right after.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog

from app.controller.clock import Clock
from app.domain.authorization import Authorized, NotYet
from app.domain.policy import Policy
from app.domain.pull_class import Ground, PullClass, class_of
from app.domain.release_external_id import UNBORN, ReleaseWitness
from app.domain.release_guard import BORN, GUARD_NAME, GuardAnswer, GuardedHead, GuardPull, GuardVerdict, answer
from app.domain.release_observation import GuardRun
from app.github.checks import CheckRunWrite
from app.github.errors import NotFound, Validation
from app.github.guarded_pulls import GuardedPull
from app.github.repository import Repository

MOST_GROUPS = 20
"""Commits of a merge queue that one look shows the guard on; the others have none, and wait."""

log = structlog.get_logger()


@dataclass(frozen=True)
class Spoken:
    """What a release's own look says of it. `judged`: by the number of its pull request; `trunk`: the head of its
    branch; `recorded`: the pull request of its ledger, whatever was done to it; `left`: what the pull request was like
    at commits that were authorized and that it has left, which somebody may bring back.
    """

    judged: Mapping[int, Authorized | NotYet] = field(default_factory=dict)
    witness: ReleaseWitness | None = None
    trunk: str | None = None
    recorded: GuardPull | None = None
    left: tuple[GuardPull, ...] = ()


SpokenOf = Callable[[str], Awaitable[Spoken]]
"""A release's own look, by its branch."""


@dataclass(frozen=True)
class GuardLook:
    """Every commit that would go into the base of releases. `pulls`: all open pull requests there; `unread`: heads of
    which no list says what stands on them; `groups`: commits of a merge queue.
    """

    pulls: tuple[GuardedPull, ...]
    heads: Mapping[str, GuardedHead]
    unread: frozenset[str]
    groups: tuple[GuardedHead, ...] = ()

    def releases_at(self, sha: str, ground: Ground) -> frozenset[str]:
        """The trunks whose pull requests have this head."""
        return frozenset(p.refs.head for p in self.pulls if p.head_sha == sha and is_release(p, ground))


class ReleaseGuarding:
    """Writes guard runs. Keeps nothing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def look(self, repo: Repository, ground: Ground) -> GuardLook:
        """Read what would go into the base of releases. Raises GitHubError."""
        pulls = await repo.pulls_into(ground.into)
        heads: dict[str, GuardedHead] = {}
        for pull in sorted(pulls, key=lambda p: p.number):
            known = heads.get(pull.head_sha, GuardedHead(pull.head_sha, ()))
            runs = {run.id: run for run in (*known.runs, *(pull.runs or ()))}
            brought = (*(known.pulls or ()), _guard_pull(pull))
            heads[pull.head_sha] = GuardedHead(pull.head_sha, brought, tuple(runs[id] for id in sorted(runs)))
        unread = frozenset(p.head_sha for p in pulls if p.runs is None)
        return GuardLook(pulls, heads, unread, await self._groups(repo, ground, pulls))

    async def of_release(
        self,
        repo: Repository,
        look: GuardLook,
        branch: str,
        spoken: Spoken,
        ground: Ground,
        policy: Policy,
        also: SpokenOf,
    ) -> tuple[GuardAnswer, ...]:
        """What is still to be written about one release. `also`: the look of another one with the same commit."""
        mine = {p.head_sha for p in look.pulls if is_release(p, ground) and p.refs.head == branch}
        if spoken.trunk is not None and spoken.trunk in look.heads:
            mine.add(spoken.trunk)
        recorded = spoken.recorded
        if recorded is not None and (recorded.is_open or recorded.head_sha == spoken.trunk):
            mine.add(recorded.head_sha)
        heads = []
        for sha in sorted(mine):
            head = look.heads.get(sha, GuardedHead(sha, ()))
            if sha in look.unread or not head.pulls:
                head = replace(head, runs=await _runs_on(repo, sha))
            heads.append(_with_recorded(head, recorded, spoken.trunk, ground))
        for pull in spoken.left:
            if pull.head_sha not in mine and (runs := await _runs_on(repo, pull.head_sha)):
                heads.append(GuardedHead(pull.head_sha, (pull,), runs))
        if any(p.queued and p.refs.head == branch for p in look.pulls):
            heads += look.groups
        return await self._answers(heads, look, {branch: spoken}, ground, policy, also)

    async def of_others(
        self,
        repo: Repository,
        look: GuardLook,
        trunks: Mapping[str, str],
        ground: Ground,
        policy: Policy,
        also: SpokenOf,
    ) -> tuple[tuple[GuardAnswer, ...], frozenset[str]]:
        """What is still to be written about everything that no release's own look speaks of, and the releases that have
        to be looked at because something of theirs shows no verdict. `trunks`: heads of the trunks by name.
        """
        answers: list[GuardAnswer] = []
        ask: set[str] = set()
        for sha, head in look.heads.items():
            seen = replace(head, runs=await _runs_on(repo, sha)) if sha in look.unread else head
            owners = look.releases_at(sha, ground) | {name for name, at in trunks.items() if at == sha}
            if not owners:
                answers += await self._answers([seen], look, {}, ground, policy, also)
            elif not seen.runs:
                answers.append(GuardAnswer(sha, BORN, "", create=True))
                ask |= owners
            elif any(run.status != "completed" or run.title == BORN.title for run in seen.runs):
                ask |= owners
        answers += await self._answers(look.groups, look, {}, ground, policy, also)
        return tuple(answers), frozenset(ask)

    async def write(self, repo: Repository, answers: Iterable[GuardAnswer]) -> int:
        """Write these; returns how many runs were written. Raises GitHubError."""
        written = 0
        for one in answers:
            try:
                written += await self._write(repo, one)
            except (NotFound, Validation) as refusal:
                # The commit is gone, or is none that GitHub lets us speak about: without a run it passes nothing.
                log.warning("guard not shown", repository=repo.full_name, sha=one.sha, answer=str(refusal))
        return written

    async def _write(self, repo: Repository, one: GuardAnswer) -> int:
        verdict, edit = one.verdict, one.edit
        written = 0
        if one.create:
            # A list may show late, and nobody is helped by a second run.
            standing = await _runs_on(repo, one.sha)
            edit = tuple(run.id for run in standing)
            if not standing:
                born = BORN if verdict.conclusion == "success" else verdict
                made = await repo.create_check_run(self._run(one.sha, born, one.external_id))
                edit = (made,) if born != verdict else ()
                written = 1
        for id in edit:
            try:
                await repo.update_check_run(id, self._run(one.sha, verdict, one.external_id))
            except Validation as refusal:
                if verdict.conclusion == "success":
                    raise
                # A green must not stand because GitHub does not take what we would say of it.
                log.warning("guard shown without its words", sha=one.sha, run=id, answer=str(refusal))
                await repo.update_check_run(id, self._run(one.sha, BORN, UNBORN))
            written += 1
        log.info("guard shown", repository=repo.full_name, sha=one.sha, conclusion=verdict.conclusion, runs=written)
        return written

    def _run(self, sha: str, verdict: GuardVerdict, external_id: str) -> CheckRunWrite:
        return CheckRunWrite(
            name=GUARD_NAME,
            head_sha=sha,
            status="completed",
            conclusion=verdict.conclusion,
            external_id=external_id,
            title=verdict.title,
            summary=verdict.summary,
            completed_at=self._clock(),
        )

    async def _answers(
        self,
        heads: Iterable[GuardedHead],
        look: GuardLook,
        known: Mapping[str, Spoken],
        ground: Ground,
        policy: Policy,
        also: SpokenOf,
    ) -> tuple[GuardAnswer, ...]:
        spoken = dict(known)
        found = []
        for head in heads:
            for branch in sorted(
                {p.refs.head for p in head.pulls or () if class_of(p.refs, ground).kind is PullClass.RELEASE}
            ):
                if branch not in spoken:
                    spoken[branch] = await also(branch)
            judged = {number: verdict for one in spoken.values() for number, verdict in one.judged.items()}
            witnesses = {branch: one.witness for branch, one in spoken.items() if one.witness is not None}
            wanted = answer(head, ground, policy, judged, witnesses)
            if wanted is not None:
                found.append(wanted)
        return tuple(found)

    async def _groups(self, repo: Repository, ground: Ground, pulls: Sequence[GuardedPull]) -> tuple[GuardedHead, ...]:
        """A group may bring everything that stands before it in the queue: it is judged by all that is queued."""
        queued = tuple(_guard_pull(p) for p in pulls if p.queued)
        if not queued:
            return ()
        prefix = f"refs/heads/gh-readonly-queue/{ground.into}/"
        values = await repo.matching_refs(prefix)
        if len(values) > MOST_GROUPS:
            log.warning("merge queue not read to its end", repository=repo.full_name, groups=len(values))
        return tuple(
            [GuardedHead(value.sha, queued, await _runs_on(repo, value.sha)) for value in values[:MOST_GROUPS]]
        )


def is_release(pull: GuardedPull, ground: Ground) -> bool:
    """Whether an open pull request brings a release branch into the base of releases."""
    return class_of(pull.refs, ground).kind is PullClass.RELEASE


def _guard_pull(pull: GuardedPull) -> GuardPull:
    return GuardPull(pull.number, pull.refs, pull.head_sha)


def _with_recorded(head: GuardedHead, recorded: GuardPull | None, trunk: str | None, ground: Ground) -> GuardedHead:
    """The head with the release's own pull request, wherever that goes. Where only others bring the trunk's own commit,
    they bring the release: what they show must not let its pull request through once it is there.
    """
    pulls = {p.number: p for p in head.pulls or ()}
    if recorded is not None and recorded.head_sha == head.sha:
        pulls[recorded.number] = recorded
    brought = tuple(pulls.values())
    stands = any(p.recorded or class_of(p.refs, ground).kind is PullClass.RELEASE for p in brought)
    if head.sha == trunk and not stands:
        brought = tuple(replace(p, recorded=True) for p in brought)
    return replace(head, pulls=brought)


async def _runs_on(repo: Repository, sha: str) -> tuple[GuardRun, ...]:
    """The guard's runs of our App on a commit, oldest first."""
    return tuple(
        GuardRun(run.id, sha, run.status, run.conclusion, run.external_id, run.title, run.summary)
        for run in await repo.find_check_runs(sha, GUARD_NAME)
    )
