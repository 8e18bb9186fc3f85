"""Showing what the policy file says: the check-run `Agent Recovery / policy`, completed when it is made (the ownership
protocol, R18: no ledger, so no permit).

Only where a policy that lets the App write is or was in force: elsewhere nothing is written at all. What if it happened
and we did not hear: the run is looked for, by name, commit and App, before one is made. What if two of us do it: both
say the same. There is no lease.
"""

from collections import OrderedDict

import structlog

from app.controller.view import Views
from app.domain.observation import Observation
from app.domain.policy import PATH, Mode
from app.domain.policy_check import EXTERNAL_ID, NAME, PolicyAt, Verdict, of_default_branch, of_pull
from app.domain.policy_in_force import InForce
from app.github.checks import CheckRunWrite
from app.github.errors import NotFound, Validation
from app.github.policy_checks import TOUCHED_AT_ONCE, PolicyHead, PolicyState
from app.github.policy_history import NOT_TEXT, TEXTS_AT_ONCE
from app.github.repository import Repository

MOST_PULLS_JUDGED = TEXTS_AT_ONCE
"""Pull requests with another policy that one look reads; those touched last come first, the rest with the next look."""
_KEPT = 4096

log = structlog.get_logger()


class PolicyShowing:
    """Keeps the policy's check-runs. Remembers which heads have nothing to show; losing that costs one look each."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self._quiet: OrderedDict[tuple[int, str, str | None], None] = OrderedDict()

    async def bring_right(self, owner: str, name: str) -> int:
        """Make the check-runs say what the files say; returns how many were written. Raises Gone, GitHubError."""
        repo, _ = await self._views.ledger(owner, name)
        state = await repo.policy_state(PATH)
        if state.archived or state.default is None:
            return 0
        in_force = await self._views.policy_of(repo, _shown(repo, state))
        if in_force.policy is None or in_force.policy.mode is Mode.OBSERVE:
            return 0
        return sum([await self._show(repo, verdict, state) for verdict in await self.verdicts(repo, state, in_force)])

    async def verdicts(self, repo: Repository, state: PolicyState, in_force: InForce) -> list[Verdict]:
        """What is still to be shown. Reads only. Raises GitHubError."""
        found = [self._of_default(state, in_force), *await self._of_pulls(repo, state)]
        return [verdict for verdict in found if verdict is not None]

    def _of_default(self, state: PolicyState, in_force: InForce) -> Verdict | None:
        default = state.default
        if default is None:
            return None
        changed = default.head.blob != default.blob_before
        return of_default_branch(PolicyAt(default.head.sha, default.text, changed, default.head.runs), in_force)

    async def _of_pulls(self, repo: Repository, state: PolicyState) -> list[Verdict | None]:
        base = state.default.head.blob if state.default is not None else None
        differ = {n: head for n, head in state.pulls.items() if head.blob != base}
        asked = [n for n, head in differ.items() if self._key(repo, head, base) not in self._quiet]
        touching = await repo.pulls_that_touch(PATH, asked[:TOUCHED_AT_ONCE]) if asked else set()
        for number in asked[:TOUCHED_AT_ONCE]:
            if number not in touching:
                # Its branch is older than the policy on the default branch, and changes nothing of it.
                self._be_quiet(repo, differ[number], base)
        judged = sorted(touching, key=asked.index)[:MOST_PULLS_JUDGED]
        blobs = {head.blob for n in judged if (head := differ[n]).blob is not None}
        texts = await repo.blob_texts(sorted(blob for blob in blobs if blob is not None)) if blobs else {}
        verdicts = []
        for number in judged:
            head = differ[number]
            text = texts.get(head.blob, NOT_TEXT) if head.blob is not None else None
            verdict = of_pull(PolicyAt(head.sha, text, True, head.runs))
            if verdict is None:
                self._be_quiet(repo, head, base)
            verdicts.append(verdict)
        return verdicts

    async def _show(self, repo: Repository, verdict: Verdict, state: PolicyState) -> int:
        run = CheckRunWrite(
            name=NAME,
            head_sha=verdict.sha,
            status="completed",
            conclusion=verdict.conclusion,
            external_id=EXTERNAL_ID,
            title=verdict.title,
            summary=verdict.summary,
            completed_at=state.now,
        )
        try:
            standing = verdict.run
            if standing is None:
                found = await repo.find_check_runs(verdict.sha, NAME)
                standing = max((one.id for one in found), default=None)
            if standing is None:
                await repo.create_check_run(run)
            else:
                await repo.update_check_run(standing, run)
        except (NotFound, Validation) as refusal:
            # The commit is gone, or is none that GitHub lets us speak about.
            log.warning("policy not shown", repository=repo.full_name, sha=verdict.sha, answer=str(refusal))
            return 0
        log.info("policy shown", repository=repo.full_name, sha=verdict.sha, conclusion=verdict.conclusion)
        return 1

    def _key(self, repo: Repository, head: PolicyHead, base: str | None) -> tuple[int, str, str | None]:
        return repo.id, head.sha, base

    def _be_quiet(self, repo: Repository, head: PolicyHead, base: str | None) -> None:
        self._quiet[self._key(repo, head, base)] = None
        while len(self._quiet) > _KEPT:
            self._quiet.popitem(last=False)


def _shown(repo: Repository, state: PolicyState) -> Observation:
    default = state.default
    return Observation(
        now=state.now,
        repository_id=repo.id,
        owner=repo.owner,
        name=repo.name,
        default_branch=default.branch if default is not None else repo.default_branch,
        default_head=default.head.sha if default is not None else None,
        policy_text=default.text if default is not None else None,
        issue=None,
    )
