"""Probes of tokens, budgets and lists: who may do what, and what an answer carries beside its body."""

import asyncio
import re
import time

import jwt

from app.doctor.asking import said
from app.doctor.finding import State
from app.doctor.probe import Seen, as_relied_on, probe
from app.doctor.sandbox import Sandbox

APP_BUDGET = 5000
PAGE_DEFAULT = 30
PATIENCE_S = 45
AT_ONCE_S = 5
_PREV = re.compile(r'[?&]page=(\d+)[^>]*>;\s*rel="?prev"?')


@probe("revoked-token", "A token that was revoked is refused from the next request on")
async def revoked_token(box: Sandbox) -> Seen:
    minted = await box.token({"contents": "read"})
    if minted.status != 201:
        return Seen(State.NOT_TRIED, f"no second token: {minted.told}")
    holder = box.holder(f"token {minted.body['token']}")
    before = await box.ask_as(holder, "GET", "")
    gone = await said(holder.write("DELETE", "/installation/token", {}))
    started = time.monotonic()
    after = await box.ask_as(holder, "GET", "")
    while after.status == 200 and time.monotonic() - started < PATIENCE_S:
        await asyncio.sleep(0.5)
        after = await box.ask_as(holder, "GET", "")
    waited = time.monotonic() - started
    fine = (before.status, gone.status, after.status) == (200, 204, 401) and waited < AT_ONCE_S
    return as_relied_on(fine, f"revoked: {gone.told}; {waited:.1f} s later: {after.told}")


@probe("token-levels", "A token with a permission level that is none is refused, and one with more than the App holds")
async def token_levels(box: Sandbox) -> Seen:
    unknown = await box.token({"contents": "everything"})
    more = await box.token({"administration": "write"})
    fine = unknown.status == 422 and more.status in (201, 422)
    held = "the App holds administration, so that was not tried" if more.status == 201 else more.told
    return as_relied_on(fine, f"no level: {unknown.told}; more: {held}")


@probe("readers-ref", "Who may only read is refused with 403 when making a ref")
async def readers_ref(box: Sandbox) -> Seen:
    reader = await box.token({"contents": "read"})
    if reader.status != 201:
        return Seen(State.NOT_TRIED, f"no second token: {reader.told}")
    holder = box.holder(f"token {reader.body['token']}")
    body = {"ref": box.ref("by-reader"), "sha": box.base}
    answer = await box.ask_as(holder, "POST", "/git/refs", body)
    await said(holder.write("DELETE", "/installation/token", {}))
    return as_relied_on(answer.status == 403, answer.told)


@probe("jwt-without-issuer", "An App's JWT that names no issuer is refused with 401, in a sentence that says so")
async def jwt_without_issuer(box: Sandbox) -> Seen:
    now = int(box.repo.session.wire.clock.now().timestamp())
    header = jwt.encode({"iat": now - 60, "exp": now + 300}, box.keys[0], algorithm="RS256")
    answer = await said(box.holder(f"Bearer {header}").get("/app", {}))
    return as_relied_on(answer.status == 401 and "iss" in answer.words, answer.told)


@probe("app-budget", f"The App's own JWT has {APP_BUDGET} requests an hour")
async def app_budget(box: Sandbox) -> Seen:
    answer = await said(box.as_app().get("/rate_limit", {}))
    if answer.status != 200:
        return Seen(State.OTHERWISE, answer.told)
    limit = int(answer.body["resources"]["core"]["limit"])
    return as_relied_on(limit == APP_BUDGET, f"{limit} requests an hour")


@probe("page-links", f"A page beyond the end links back to the last one; a page size below 1 is {PAGE_DEFAULT}")
async def page_links(box: Sandbox) -> Seen:
    for name in ("page-1", "page-2"):
        await box.make_branch(name, box.base)
    route, values = "/repos/{owner}/{repo}/branches", {"owner": box.repo.owner, "repo": box.repo.name}
    branches = sum(len(page.body) for page in await box.repo.session.pages(route, values))
    beyond = await box.repo.session.get(route, values, {"per_page": 1, "page": branches + 1000})
    link = _PREV.search(beyond.headers.get("link", ""))
    none = await box.repo.session.get(route, values, {"per_page": 0})
    back, shown = int(link[1]) if link else None, len(none.body)
    fine = back == branches and shown == min(branches, PAGE_DEFAULT)
    return as_relied_on(fine, f"prev is page {back} of {branches}; with per_page=0 it showed {shown} of {branches}")
