"""Probes of pull requests between two branches of a run: test merges, merging, updating, a base that goes.

Nothing here touches the default branch.
"""

import asyncio
from typing import Any

from app.doctor.finding import State
from app.doctor.probe import Seen, as_relied_on, probe
from app.doctor.sandbox import Sandbox
from app.domain.model import ZERO_SHA
from app.domain.observation import Pull
from app.github.pulls import PullRefused
from app.github.refs import RefUpdate

PATIENCE_S = 20
MOVED = "Base branch was modified"
STALE = "Head branch was modified"
FORBIDDEN_METHOD = "not allowed on this repository"


async def _based(box: Sandbox, name: str, *, draft: bool = False) -> Pull | PullRefused:
    base = await box.make_branch(f"{name}-base", await box.commit("base", file="base"))
    return await box.make_pull(name, base=base, draft=draft)


async def _known(box: Sandbox, number: int) -> dict[str, Any]:
    """The pull request once GitHub knows whether it can be merged; as it is when that takes too long."""
    waited = 0.0
    while True:
        shown: dict[str, Any] = (await box.ask("GET", "/pulls/{number}", number=number)).body or {}
        if shown.get("mergeable") is not None or waited >= PATIENCE_S:
            return shown
        await asyncio.sleep(0.5)
        waited += 0.5


async def _gone(box: Sandbox, ref: str) -> bool:
    for _ in range(PATIENCE_S):
        if await box.repo.exact_ref(ref) is None:
            return True
        await asyncio.sleep(0.5)
    return False


@probe("test-merge", "A test merge stands at `refs/pull/N/merge` while the pull request is open, and then goes")
async def test_merge(box: Sandbox) -> Seen:
    pull = await _based(box, "test-merge")
    if isinstance(pull, PullRefused):
        return Seen(State.OTHERWISE, pull.message)
    shown, ref = await _known(box, pull.number), f"refs/pull/{pull.number}/merge"
    sha = await box.repo.exact_ref(ref)
    if not shown.get("mergeable") or sha is None:
        return Seen(State.OTHERWISE, f"mergeable is {shown.get('mergeable')}, and {ref} is {sha}")
    commit = (await box.ask("GET", "/git/commits/{sha}", sha=sha)).body
    author, parents = commit["author"]["name"], [p["sha"] for p in commit["parents"]]
    await box.repo.close_pull(pull.number)
    gone = await _gone(box, ref)
    fine = gone and parents[-1] == pull.head_sha and shown.get("merge_commit_sha") == sha
    return as_relied_on(fine, f"by {author!r}; {'gone' if gone else 'still there'} after closing")


@probe("base-moved", "A merge right after the base moved lands, or is refused as “Base branch was modified”")
async def base_moved(box: Sandbox) -> Seen:
    pull = await _based(box, "base-moved")
    if isinstance(pull, PullRefused):
        return Seen(State.OTHERWISE, pull.message)
    await _known(box, pull.number)
    old = await box.repo.commit_of_branch(pull.base) or ZERO_SHA
    moved = await box.commit("moved", old, file="moved")
    await box.repo.update_refs([RefUpdate(f"refs/heads/{pull.base}", old, moved)])
    tries = []
    for _ in range(3):
        answer = await box.ask("PUT", "/pulls/{number}/merge", {"sha": pull.head_sha}, number=pull.number)
        tries.append(answer.told)
        if FORBIDDEN_METHOD in answer.words:
            return Seen(State.NOT_TRIED, answer.told)
        if answer.status == 200:
            return Seen(State.AS_RELIED_ON, f"landed at try {len(tries)}; before that: {tries[:-1] or 'nothing'}")
        if not (answer.status == 405 and MOVED in answer.words):
            break
        await asyncio.sleep(1)
    return Seen(State.OTHERWISE, "; ".join(tries))


@probe("merge-refusals", "A merge with a stale head is 409, of a draft 405; `merge-async` of a draft is 400")
async def merge_refusals(box: Sandbox) -> Seen:
    pull, stale = await _based(box, "refused"), {"sha": box.base}
    if isinstance(pull, PullRefused):
        return Seen(State.OTHERWISE, pull.message)
    await _known(box, pull.number)
    late = await box.ask("PUT", "/pulls/{number}/merge", stale, number=pull.number)
    await box.repo.set_draft(pull.node_id, True)
    own = {"sha": pull.head_sha}
    draft = await box.ask("PUT", "/pulls/{number}/merge", own, number=pull.number)
    behind = await box.ask("PUT", "/pulls/{number}/merge-async", own, number=pull.number)
    told = f"stale: {late.told}; draft: {draft.told}; merge-async: {behind.told}"
    return as_relied_on((late.status, draft.status, behind.status) == (409, 405, 400) and STALE in late.words, told)


@probe("update-branch", "update-branch takes an App's token, is 422 for another head and for a closed pull request")
async def update_branch(box: Sandbox) -> Seen:
    pull = await _based(box, "update")
    if isinstance(pull, PullRefused):
        return Seen(State.OTHERWISE, pull.message)
    old = await box.repo.commit_of_branch(pull.base) or ZERO_SHA
    moved = await box.commit("moved", old, file="moved")
    await box.repo.update_refs([RefUpdate(f"refs/heads/{pull.base}", old, moved)])
    route, right = "/pulls/{number}/update-branch", {"expected_head_sha": pull.head_sha}
    wrong = await box.ask("PUT", route, {"expected_head_sha": old}, number=pull.number)
    await _known(box, pull.number)
    taken = await box.ask("PUT", route, right, number=pull.number)
    head = pull.head_sha
    for _ in range(PATIENCE_S):
        if (head := await box.repo.commit_of_branch(pull.head) or ZERO_SHA) != pull.head_sha:
            break
        await asyncio.sleep(0.5)
    await box.repo.close_pull(pull.number)
    closed = await box.ask("PUT", route, {"expected_head_sha": head}, number=pull.number)
    fine = (wrong.status, taken.status, closed.status) == (422, 202, 422) and head != pull.head_sha
    words = f"another head: {wrong.told}; this head: {taken.told}; closed: {closed.told}"
    return as_relied_on(fine, words if head != pull.head_sha else f"{words}; the head did not move")


@probe("base-deleted", "A base branch that is deleted by API closes the pull requests that stand on it")
async def base_deleted(box: Sandbox) -> Seen:
    pull = await _based(box, "base-deleted")
    if isinstance(pull, PullRefused):
        return Seen(State.OTHERWISE, pull.message)
    deleted = await box.ask("DELETE", "/git/refs/heads/{+branch}", branch=pull.base)
    shown: dict[str, Any] = {}
    for _ in range(PATIENCE_S):
        shown = (await box.ask("GET", "/pulls/{number}", number=pull.number)).body
        if shown["state"] == "closed":
            break
        await asyncio.sleep(0.5)
    fine = shown["state"] == "closed" and shown["base"]["ref"] == pull.base
    return as_relied_on(fine, f"deleted: {deleted.told}; it is {shown['state']} on {shown['base']['ref']}")
