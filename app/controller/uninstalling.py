"""Taking away from a repository what the App made: rulesets first, so that nothing waits for a check that nobody gives;
then comments and check-runs; ledgers last, because the others are found again without them and they are not.

Before anything is removed the repository is stopped, so that no service makes it anew; it stays stopped. What if it
happened and we did not hear, or the process died in between: the next run reads what is left and removes that. What if
two of us do it: gone is gone, and refs go by compare-and-set. What if a lease is alive: refused, unless a person forces
it; then its holder is fenced out by the missing ledger.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog

from app.controller.stops import KNOWN_FOR_S, Stops
from app.controller.view import Gone, View, Views
from app.controller.witnesses import Witnesses
from app.domain.lease import Live, Suspect, liveness
from app.domain.model import ZERO_SHA, instant_text
from app.domain.outcome import Blocked, Code, Refused
from app.domain.policy import PATH, Policy
from app.domain.proposed_policy import BRANCH
from app.domain.refs import LedgerRefs
from app.domain.removal import NAMESPACES, PLACES, Removal, is_ledger_ref, kept_work
from app.github.errors import RefsUndecided
from app.github.refs import RefUpdate, RefValue
from app.github.removal import MARKER, Guard, OpenPullOfOurs, OwnComment, OwnRun
from app.github.repository import Repository

AT_ONCE = 30
"""Refs deleted in one update."""
TRIES = 4

Progress = Callable[[int, int, str], None]

log = structlog.get_logger()


@dataclass(frozen=True)
class _Found:
    repo: Repository
    guards: tuple[Guard, ...]
    comments: tuple[OwnComment, ...]
    runs: tuple[OwnRun, ...]
    refs: tuple[RefValue, ...]
    pulls: tuple[OpenPullOfOurs, ...]
    held: tuple[str, ...]
    has_policy: bool

    @property
    def removal(self) -> Removal:
        return Removal(
            repository=self.repo.full_name,
            rulesets=[g.name for g in self.guards if g.ours],
            comments=len(self.comments),
            check_runs=len(self.runs),
            refs=len(self.refs),
            held=self.held,
            in_the_way=[f"{g.name} ({g.source})" for g in self.guards if not g.ours],
            kept_work=kept_work([(ref.name, ref.sha) for ref in self.refs]),
            left=_left(self),
        )


class Uninstalling:
    """Removes the App's traces from repositories."""

    def __init__(
        self,
        views: Views,
        witnesses: Witnesses,
        stops: Stops,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._views = views
        self._witnesses = witnesses
        self._stops = stops
        self._sleep = sleep

    async def look(self, owner: str, name: str, progress: Progress) -> Removal:
        """What there is to remove. Reads only. Raises Gone, GitHubError."""
        return (await self._find(owner, name, progress)).removal

    async def carry_out(self, owner: str, name: str, *, by: str, force: bool, progress: Progress) -> Removal:
        """Stop the repository, remove what there is, and say what was removed. Raises Refused where something stands
        against it, GitHubError where GitHub does not answer; either way it may be run again.
        """
        before = await self._find(owner, name, progress)
        _require_free(before.removal, force)
        repo = before.repo
        await self._stops.stop(repo.full_name, repo.id, by=by, reason="uninstalled", now=self._views.now())
        # Until every service knows of it, and what was under way has ended or failed.
        await self._sleep(2 * KNOWN_FOR_S)
        found = await self._find(owner, name, progress)
        _require_free(found.removal, force)
        with self._stops.as_operator():
            await self._remove(found, progress)
        await self._witnesses.forget(repo.id)
        return found.removal

    async def _find(self, owner: str, name: str, progress: Progress) -> _Found:
        repo, _ = await self._views.ledger(owner, name)
        progress(0, 0, "rulesets")
        guards = await repo.guards()
        progress(0, 0, "comments")
        comments, doubtful = await repo.own_comments()
        for number in sorted(doubtful):
            comments += [OwnComment(one.id, number) for one in await repo.find_comments(number, MARKER)]
        progress(0, 0, "open pull requests")
        pulls, on_pulls = await repo.own_on_pulls()
        refs = [
            ref
            for namespace in NAMESPACES
            for place in PLACES
            for ref in await repo.matching_refs(f"{namespace}/{place}/")
            if is_ledger_ref(ref.name)
        ]
        looked_at = await self._active(repo, refs, progress)
        held = [words for view in looked_at if (words := _held(view)) is not None]
        heads = {sha for view in looked_at for sha in _heads(view)} - {pull.head_sha for pull in pulls}
        default = await repo.commit_of_branch(repo.default_branch)
        progress(0, 0, "check-runs")
        runs = {run.id: run for run in on_pulls}
        for sha in sorted(heads | ({default} if default is not None else set())):
            runs |= {run.id: run for run in await repo.own_on_commit(sha)}
        return _Found(
            repo=repo,
            guards=tuple(guards),
            comments=tuple(comments),
            runs=tuple(runs.values()),
            refs=tuple(refs),
            pulls=tuple(pulls),
            held=tuple(held),
            has_policy=default is not None and await _has_policy(repo, default),
        )

    async def _active(self, repo: Repository, refs: Sequence[RefValue], progress: Progress) -> list[View]:
        """A look at each ticket in progress, in the namespace where its ledger lies."""
        views: list[View] = []
        for namespace in NAMESPACES:
            named = LedgerRefs(namespace)
            active = [ref.name for ref in refs if ref.name.startswith(named.active_prefix)]
            tickets = [ticket for ticket in map(named.ticket_of, active) if ticket is not None]
            # Whatever the policy says now: what stands there is to be judged.
            self._views.assume(repo, Policy.model_validate({"ledger": {"namespace": namespace}}))
            for at, ticket in enumerate(tickets):
                progress(at, len(tickets), f"#{ticket}")
                try:
                    views.append(await self._views.look(repo.owner, repo.name, ticket))
                except Gone:
                    continue
        return views

    async def _remove(self, found: _Found, progress: Progress) -> None:
        repo = found.repo
        ours = [guard for guard in found.guards if guard.ours]
        for guard in ours:
            await repo.delete_ruleset(guard.id)
        if ours and any(guard.ours for guard in await repo.guards()):
            reason = f"the App may not remove its ruleset {ours[0].name}; nothing else was removed"
            raise Refused(Blocked(Code.FORBIDDEN, reason, "an administrator deletes it; then run this again"))
        for at, comment in enumerate(found.comments):
            progress(at, len(found.comments), "comments")
            await repo.delete_comment(comment.id)
        for at, run in enumerate(found.runs):
            progress(at, len(found.runs), "check-runs")
            await repo.retire_check_run(run, self._views.now())
        refs = list(found.refs)
        for start in range(0, len(refs), AT_ONCE):
            progress(start, len(refs), "ledgers")
            await self._delete(repo, refs[start : start + AT_ONCE])
        log.info("uninstalled", repository=repo.full_name, comments=len(found.comments), refs=len(refs))

    async def _delete(self, repo: Repository, refs: Sequence[RefValue]) -> None:
        """All of them go, each from where it was seen. An answer that says nothing is decided by the refs."""
        left = list(refs)
        for number in range(TRIES):
            if number:
                await self._sleep(0.5 * 2.0**number)
            try:
                await repo.update_refs([RefUpdate(ref.name, ref.sha, ZERO_SHA) for ref in left])
                return
            except RefsUndecided as undecided:
                log.info("removal undecided", repository=repo.full_name, answer=str(undecided))
            now = {ref.name: await repo.exact_ref(ref.name) for ref in left}
            moved = [ref.name for ref in left if now[ref.name] not in (None, ref.sha)]
            if moved:
                meanwhile = f"{moved[0]} moved while it was to be removed"
                raise Refused(Blocked(Code.LOST_RACE, meanwhile, "run this again", retryable=True))
            left = [ref for ref in left if now[ref.name] is not None]
            if not left:
                return
        refused = await repo.receive_pack([RefUpdate(ref.name, ref.sha, ZERO_SHA) for ref in left])
        words = next((why for why in refused.values() if why is not None), None)
        if words is not None:
            kept = f"GitHub keeps {left[0].name}: {words}"
            raise Refused(Blocked(Code.FORBIDDEN, kept, "let the App delete it, then run this again"))


def _require_free(removal: Removal, force: bool) -> None:
    if removal.refusal is not None and not force:
        remedy = "wait for them, or take that away, and run this again; --force does it all the same"
        code = Code.LEASE_LIVE if removal.held else Code.FORBIDDEN
        raise Refused(Blocked(code, removal.refusal, remedy))


def _held(view: View) -> str | None:
    record = view.record
    lease = record.lease if record is not None else None
    if record is None or lease is None:
        return None
    policy = view.usable_policy or Policy()
    state = liveness(record, policy, now=view.now, heartbeat_at=view.heartbeat_at, run_ended=view.run_ended)
    if not isinstance(state, Live | Suspect):
        return None
    return f"#{view.ticket} is held by {lease.login} until {instant_text(lease.expires_at)}"


def _heads(view: View) -> list[str]:
    branch = view.record.branch if view.record is not None else None
    found = view.observation.branch(branch) if branch is not None else None
    return [found.sha] if found is not None else []


async def _has_policy(repo: Repository, head: str) -> bool:
    page = await repo.policy_line(head, PATH)
    return any(at.blob is not None for at in page.commits if at.commit == head)


def _left(found: _Found) -> tuple[str, ...]:
    left = [
        f"pull request #{p.number} ({p.url}): the App opened it, and its branch {p.head} holds people's work"
        for p in found.pulls
        if p.by_app and p.head != BRANCH
    ]
    left += [
        f"pull request #{p.number} ({p.url}): close it to drop the proposal" for p in found.pulls if p.head == BRANCH
    ]
    if found.has_policy:
        left.append(f"{PATH}: the file is the repository's own; delete it, or the App begins anew once it is started")
    left.append(
        "branch protection rules, which this command does not read: where one requires a check of the App, take that "
        "check out, or every new commit waits for it for ever"
    )
    left.append("Issues, labels, assignees and branches: they are people's, whoever touched them last")
    left.append("the stop with which it begins: `agent-recovery start --repo OWNER/NAME` takes it back")
    left.append("the installation itself: an owner removes the App on its page on GitHub")
    return tuple(left)
