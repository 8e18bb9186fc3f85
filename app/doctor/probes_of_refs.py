"""Probes of refs: everything the ledger's compare-and-set stands on."""

import asyncio

from app.doctor.finding import State
from app.doctor.probe import Seen, as_relied_on, probe
from app.doctor.sandbox import Sandbox
from app.domain.model import ZERO_SHA
from app.github.errors import GitHubError, RefsUndecided
from app.github.refs import RefUpdate

SETTLED_S = 3
_BY_NAME = """
query ProbeRef($owner: String!, $name: String!, $ref: String!, $oid: GitObjectID!) {
  repository(owner: $owner, name: $name) {
    ref(qualifiedName: $ref) { name }
    object(oid: $oid) { __typename ... on Commit { oid message } }
  }
}
"""


@probe("custom-refs", "An installation token may write custom refs by updateRefs, and they show at once")
async def custom_refs(box: Sandbox) -> Seen:
    name, first, second = box.ref("cas"), await box.commit("first"), await box.commit("second")
    await box.repo.update_refs([RefUpdate(name, ZERO_SHA, first)])
    if await box.repo.exact_ref(name) != first:
        return Seen(State.OTHERWISE, "created, but not shown by the next read")
    await box.repo.update_refs([RefUpdate(name, first, second, force=True)])
    moved = await box.repo.exact_ref(name) == second
    return Seen(State.AS_RELIED_ON if moved else State.OTHERWISE, "created, moved and read back")


@probe("lost-update", "A wrong beforeOid is refused and nothing moves")
async def lost_update(box: Sandbox) -> Seen:
    name, held, wanted = box.ref("lost"), await box.commit("held"), await box.commit("wanted")
    await box.repo.update_refs([RefUpdate(name, ZERO_SHA, held)])
    told = []
    for before in (ZERO_SHA, wanted):
        try:
            await box.repo.update_refs([RefUpdate(name, before, box.base, force=True)])
        except RefsUndecided as refused:
            told.append(refused.message)
            continue
        return Seen(State.OTHERWISE, "an update from a wrong old value was accepted")
    stands = await box.repo.exact_ref(name) == held
    return Seen(State.AS_RELIED_ON if stands else State.OTHERWISE, f"refused: {told[0]}")


@probe("all-or-nothing", "updateRefs moves all refs or none")
async def all_or_nothing(box: Sandbox) -> Seen:
    good, stale = box.ref("both-a"), box.ref("both-b")
    sha = await box.commit("both")
    await box.repo.update_refs([RefUpdate(stale, ZERO_SHA, sha)])
    try:
        await box.repo.update_refs([RefUpdate(good, ZERO_SHA, sha), RefUpdate(stale, ZERO_SHA, sha)])
    except RefsUndecided:
        pass
    else:
        return Seen(State.OTHERWISE, "an update with one stale old value was accepted")
    half = await box.repo.exact_ref(good) is not None
    return Seen(State.OTHERWISE if half else State.AS_RELIED_ON, "half of it was done" if half else "nothing moved")


@probe("branch-and-ledger", "A branch and a custom ref move together in one update")
async def branch_and_ledger(box: Sandbox) -> Seen:
    branch, ledger = f"refs/heads/{box.branch('pair')}", box.ref("pair")
    sha = await box.commit("pair")
    await box.repo.update_refs([RefUpdate(branch, ZERO_SHA, sha), RefUpdate(ledger, ZERO_SHA, sha)])
    both = [await box.repo.exact_ref(name) for name in (branch, ledger)]
    return Seen(State.AS_RELIED_ON if both == [sha, sha] else State.OTHERWISE, f"both at {sha[:12]}")


@probe("receive-pack", "Receive-pack takes an atomic command list with an empty pack from an App, with reasons")
async def receive_pack(box: Sandbox) -> Seen:
    name, sha = box.ref("pushed"), await box.commit("pushed")
    first = await box.repo.receive_pack([RefUpdate(name, ZERO_SHA, sha)])
    if first[name] is not None:
        return Seen(State.OTHERWISE, f"refused: {first[name]}")
    again = await box.repo.receive_pack([RefUpdate(name, ZERO_SHA, box.base)])
    if again[name] is None:
        return Seen(State.OTHERWISE, "a command from a wrong old value was accepted")
    return Seen(State.AS_RELIED_ON, f"pushed; the second was refused: {again[name]}")


@probe("ref-order", "matching-refs lists refs in order, a name before all that it begins")
async def ref_order(box: Sandbox) -> Seen:
    names = [box.ref(name) for name in ("4", "42", "42.docs-1", "421", "5")]
    await box.repo.update_refs([RefUpdate(name, ZERO_SHA, box.base) for name in reversed(names)])
    listed = [ref.name for ref in await box.repo.matching_refs(box.ref("4"))]
    return Seen(State.AS_RELIED_ON if listed == names[:4] else State.OTHERWISE, f"{len(listed)} refs, in order")


@probe("ref-by-graphql", "Repository.ref() is null for a custom ref, and object(oid) reads its commit")
async def ref_by_graphql(box: Sandbox) -> Seen:
    name, sha = box.ref("seen"), await box.commit("seen")
    await box.repo.update_refs([RefUpdate(name, ZERO_SHA, sha)])
    variables = {"owner": box.repo.owner, "name": box.repo.name, "ref": name, "oid": sha}
    answer = await box.repo.session.query("ProbeRef", _BY_NAME, variables)
    found = answer.body["data"]["repository"]
    readable = found["object"] is not None and found["object"].get("oid") == sha
    shown = "null" if found["ref"] is None else "the ref"
    state = State.AS_RELIED_ON if readable and found["ref"] is None else State.OTHERWISE
    return Seen(state, f"ref() is {shown}, the commit is {'' if readable else 'not '}readable by its id")


@probe("one-level-ref", "A ref of one level and a hidden ref are refused")
async def one_level_ref(box: Sandbox) -> Seen:
    refused = []
    for name in (f"refs/probe-{box.word}", "refs/pull/999999/head"):
        try:
            await box.repo.update_refs([RefUpdate(name, ZERO_SHA, box.base)])
        except GitHubError as error:
            refused.append(error.message)
    return Seen(State.AS_RELIED_ON if len(refused) == 2 else State.OTHERWISE, "; ".join(refused) or "accepted")


@probe("nothing-late", "An update of refs that was answered with an error leaves nothing running")
async def nothing_late(box: Sandbox) -> Seen:
    held, fresh, sha = box.ref("late-held"), box.ref("late-fresh"), await box.commit("late")
    await box.repo.update_refs([RefUpdate(held, ZERO_SHA, sha)])
    for _ in range(3):
        try:
            await box.repo.update_refs([RefUpdate(fresh, ZERO_SHA, sha), RefUpdate(held, box.base, sha, force=True)])
        except RefsUndecided:
            continue
        return Seen(State.OTHERWISE, "an update with one stale old value was accepted")
    for second in range(SETTLED_S):
        seen = [await box.repo.exact_ref(name) for name in (held, fresh)]
        if seen != [sha, None]:
            return Seen(State.OTHERWISE, f"a ref moved within {second} s after the refusal")
        await asyncio.sleep(1)
    return Seen(State.AS_RELIED_ON, f"nothing moved for {SETTLED_S} s after three refusals")


@probe("hidden-beside", "A push of a hidden ref is refused, whatever is pushed beside it")
async def hidden_beside(box: Sandbox) -> Seen:
    name, sha = box.ref("beside-hidden"), await box.commit("beside")
    hidden = "refs/pull/999999/head"
    told = await box.repo.receive_pack([RefUpdate(name, ZERO_SHA, sha), RefUpdate(hidden, ZERO_SHA, sha)])
    beside = "moved" if await box.repo.exact_ref(name) == sha else "did not move"
    words = "; ".join(f"{ref}: {reason or 'moved'}" for ref, reason in told.items())
    return as_relied_on(told[hidden] is not None, f"the ref beside it {beside}; {words}")


@probe("unknown-commit", "A ref is not moved to a commit that is not there: POST says 422, PATCH 422 or 500")
async def unknown_commit(box: Sandbox) -> Seen:
    name, nowhere = box.ref("unknown"), "d" * 40
    created = await box.ask("POST", "/git/refs", {"ref": name, "sha": nowhere})
    await box.repo.update_refs([RefUpdate(name, ZERO_SHA, box.base)])
    below = name.removeprefix("refs/")
    moved = await box.ask("PATCH", "/git/refs/{+ref}", {"sha": nowhere, "force": True}, ref=below)
    stands = await box.repo.exact_ref(name) == box.base
    fine = created.status == 422 and moved.status in (422, 500) and stands
    return as_relied_on(fine, f"POST: {created.told}; PATCH: {moved.told}")


@probe("ref-again", "By REST a custom ref is made once; the second time is refused with 422")
async def ref_again(box: Sandbox) -> Seen:
    body = {"ref": box.ref("by-rest"), "sha": box.base}
    first, second = [await box.ask("POST", "/git/refs", body) for _ in range(2)]
    return as_relied_on((first.status, second.status) == (201, 422), f"first: {first.told}; second: {second.told}")
