"""Probes of what people see: pull requests, comments, check-runs, and who we are to GitHub."""

import asyncio
from datetime import UTC, datetime

from app.doctor.finding import State
from app.doctor.probe import Seen, probe
from app.doctor.sandbox import Sandbox
from app.domain.model import ZERO_SHA
from app.domain.observation import Pull
from app.github.checks import CheckRunWrite
from app.github.errors import Forbidden, GitHubError, NotFound, Unauthorized, Validation
from app.github.pulls import PullRefusal, PullRefused
from app.github.refs import RefUpdate

LONGEST_COMMENT = 65_536
CLOCKS_APART_S = 60
PATIENCE_S = 20


@probe("draft", "Draft pull requests can be made, and an App turns them ready and back")
async def draft(box: Sandbox) -> Seen:
    pull = await box.make_pull("draft", draft=True)
    if isinstance(pull, PullRefused):
        known = pull.kind is PullRefusal.DRAFT_UNSUPPORTED
        return Seen(State.NOT_TRIED if known else State.OTHERWISE, pull.message)
    await box.repo.set_draft(pull.node_id, False)
    await box.repo.set_draft(pull.node_id, True)
    return Seen(State.AS_RELIED_ON, f"#{pull.number} was a draft, ready, and a draft again")


@probe("second-pull", "A second pull request of one head and base is refused, and one without commits")
async def second_pull(box: Sandbox) -> Seen:
    first = await box.make_pull("second")
    if isinstance(first, PullRefused):
        return Seen(State.OTHERWISE, first.message)
    again = await box.repo.create_pull(first.head, first.base, "again", "", False)
    empty = await box.make_branch("empty", box.base)
    none = await box.repo.create_pull(empty, box.repo.default_branch, "empty", "", False)
    kinds = [answer.kind if isinstance(answer, PullRefused) else None for answer in (again, none)]
    expected = kinds == [PullRefusal.ALREADY_EXISTS, PullRefusal.NO_COMMITS]
    words = "; ".join(answer.message for answer in (again, none) if isinstance(answer, PullRefused))
    return Seen(State.AS_RELIED_ON if expected else State.OTHERWISE, words or "accepted")


@probe("reopen", "Deleting the head branch closes a pull request; once it is back at the old head, it opens again")
async def reopen(box: Sandbox) -> Seen:
    pull = await box.make_pull("reopen")
    if isinstance(pull, PullRefused):
        return Seen(State.OTHERWISE, pull.message)
    name = f"refs/heads/{pull.head}"
    await box.repo.update_refs([RefUpdate(name, pull.head_sha, ZERO_SHA)])
    waited = 0
    while (await _state(box, pull)) == "OPEN" and waited < PATIENCE_S:
        await asyncio.sleep(1)
        waited += 1
    if waited >= PATIENCE_S:
        return Seen(State.OTHERWISE, f"still open {PATIENCE_S} s after its branch was deleted")
    await box.repo.update_refs([RefUpdate(name, ZERO_SHA, pull.head_sha)])
    answer = await box.repo.reopen_pull(pull.number)
    if isinstance(answer, PullRefused):
        return Seen(State.OTHERWISE, f"closed; reopening refused: {answer.message}")
    return Seen(State.AS_RELIED_ON, f"closed after {waited} s, open again")


async def _state(box: Sandbox, pull: Pull) -> str:
    found = await box.repo.find_pulls(pull.head, pull.base)
    return next((p.state for p in found if p.number == pull.number), "MISSING")


@probe("comment-size", f"A comment holds {LONGEST_COMMENT} characters and not one more")
async def comment_size(box: Sandbox) -> Seen:
    number = int((await box.make_issue())["number"])
    longest = await box.repo.create_comment(number, "x" * LONGEST_COMMENT)
    await box.repo.delete_comment(longest.id)
    try:
        longer = await box.repo.create_comment(number, "x" * (LONGEST_COMMENT + 1))
    except Validation as refusal:
        return Seen(State.AS_RELIED_ON, f"refused: {'; '.join(refusal.sentences)}")
    await box.repo.delete_comment(longer.id)
    return Seen(State.OTHERWISE, "a longer one was accepted")


@probe("check-run", "A check-run keeps its external_id, and the App can change it")
async def check_run(box: Sandbox) -> Seen:
    sha = await box.commit("checked")
    await box.make_branch("checked", sha)
    wanted = f"1:1:1:{box.word}0000"
    run = CheckRunWrite(head_sha=sha, status="queued", external_id="1:1:0:none", title="Probe", summary="A probe.")
    number = await box.repo.create_check_run(run)
    changed = CheckRunWrite(
        head_sha=sha, status="completed", conclusion="success", external_id=wanted, title="Probe", summary="A probe."
    )
    await box.repo.update_check_run(number, changed)
    kept = [r.external_id for r in await box.repo.find_check_runs(sha) if r.id == number]
    return Seen(State.AS_RELIED_ON if kept == [wanted] else State.OTHERWISE, f"external_id is {kept}")


@probe("who-am-i", "GET /user refuses an installation token, so that no App can claim as a person")
async def who_am_i(box: Sandbox) -> Seen:
    try:
        answer = await box.repo.session.get("/user", {})
    except (Forbidden, Unauthorized, NotFound) as refusal:
        return Seen(State.AS_RELIED_ON, f"refused: {refusal.message}")
    return Seen(State.OTHERWISE, f"it answered as {answer.body.get('login')!r}")


@probe("clock", f"The Date header is the time to within {CLOCKS_APART_S} s of this machine's")
async def clock(box: Sandbox) -> Seen:
    answer = await box.repo.session.get("/rate_limit", {})
    apart = abs((datetime.now(UTC) - answer.date).total_seconds())
    close = apart <= CLOCKS_APART_S
    return Seen(State.AS_RELIED_ON if close else State.OTHERWISE, f"{apart:.0f} s apart")


@probe("runs-of-custom-refs", "A custom ref that moves starts no workflow run")
async def runs_of_custom_refs(box: Sandbox) -> Seen:
    sha = await box.commit("no run")
    await box.repo.update_refs([RefUpdate(box.ref("no-run"), ZERO_SHA, sha)])
    route, values = "/repos/{owner}/{repo}/actions/runs", {"owner": box.repo.owner, "repo": box.repo.name}
    try:
        answer = await box.repo.session.get(route, values, {"head_sha": sha})
    except GitHubError as refusal:
        return Seen(State.NOT_TRIED, f"runs cannot be listed: {refusal.message}")
    started = int(answer.body["total_count"])
    return Seen(State.OTHERWISE if started else State.AS_RELIED_ON, f"{started} runs for its commit")
