"""Published faults about GitHub's answers, with the emulator giving the answers and not a mock of our own client.

Where a case tells the answer, the emulator must give that answer to the same deed; what we make of it is judged on what
came over the wire.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.approvals import Review, approvers
from app.domain.merge_answer import Meaning, Seen, meaning_of, outcome_after
from app.domain.model import ZERO_SHA
from app.domain.observation import Pull
from app.domain.required_checks import Checks, Judged, Required, RunSeen, StatusSeen, judge
from app.emulator.inprocess import URL, InProcess
from app.emulator.repos import RefChange
from app.github.client import GitHub
from app.github.errors import (
    Forbidden,
    GitHubError,
    GraphQLFailed,
    NotFound,
    RateLimited,
    ServerError,
    Suspended,
    Unauthorized,
    Uninstalled,
)
from app.github.graphql_shapes import CommentPage
from app.github.refs import RefUpdate
from app.github.repository import Repository
from app.service.events import Ignored, Poked, keys_of

FIXTURES = Path(__file__).parents[1] / "fixtures"
REPO = "octo-org/demo"
AT = f"/repos/{REPO}"
PERMISSIONS = {
    "metadata": "read",
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "write",
    "statuses": "write",
}
EVENTS = ["push", "create", "delete", "check_run", "issue_comment"]


def cases(file: str) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    read = json.loads((FIXTURES / file).read_text())
    return {c["name"]: (c, read["expected"]["cases"][c["name"]]) for c in read["input"]["cases"]}


MERGES = cases("merge_refusals.json")
WORDS = cases("check_results.json")
HEADS = cases("check_results_of_old_heads.json")
BRANCHES = cases("branch_names_in_urls.json")
PUSHES = cases("push_events.json")
RATES = cases("rate_limit_answers.json")
PEOPLE = cases("missing_people.json")
TOKENS = cases("tokens_and_installations.json")


@dataclass
class Scene:
    """octo-org/demo with an App, its client, and dev-a, who administers it."""

    emulated: InProcess
    app: dict[str, Any]
    installation: int
    github: GitHub
    dev: httpx.AsyncClient
    slept: list[float]

    async def repository(self) -> Repository:
        return await self.github.repository("octo-org", "demo")

    async def commit(self, branch: str, files: dict[str, str]) -> str:
        made = await self.emulated.control("POST", "/commits", repo=REPO, branch=branch, files=files)
        return str(made["sha"])

    def branch(self, name: str, sha: str | None = None) -> None:
        at = sha or self.emulated.git(REPO).branch("main")
        self.emulated.push(REPO, "dev-a", [RefChange(f"refs/heads/{name}", ZERO_SHA, str(at))])

    async def pull(self, name: str = "work", **more: Any) -> dict[str, Any]:
        self.branch(name)
        await self.commit(name, {f"{name}.txt": "x\n"})
        body = {"title": name, "head": name, "base": "main", **more}
        return dict((await self.dev.post(f"{AT}/pulls", json=body)).raise_for_status().json())

    async def known(self, number: int) -> dict[str, Any]:
        for _ in range(5):
            shown: dict[str, Any] = (await self.dev.get(f"{AT}/pulls/{number}")).json()
            if shown["mergeable"] is not None:
                break
        return shown

    async def merge(self, number: int, **more: Any) -> httpx.Response:
        return await self.dev.put(f"{AT}/pulls/{number}/merge", json=more)

    async def rule(self, kind: str, **parameters: Any) -> None:
        body = {
            "name": kind,
            "target": "branch",
            "enforcement": "active",
            "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
            "rules": [{"type": kind, "parameters": parameters}],
        }
        (await self.dev.post(f"{AT}/rulesets", json=body)).raise_for_status()

    async def require(self, name: str, **source: int) -> None:
        checks = [{"context": name, **source}]
        parameters = {"required_status_checks": checks, "strict_required_status_checks_policy": False}
        await self.rule("required_status_checks", **parameters)

    async def fault(self, kind: str, times: int | None = 1, **order: Any) -> None:
        await self.emulated.control("POST", "/faults", kind=kind, times=times, **order)

    async def requests(self, kind: str) -> list[dict[str, Any]]:
        return [entry for entry in await self.emulated.control("GET", "/requests") if entry["kind"] == kind]


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with InProcess(tmp_path) as emulated:
        dev = await emulated.control("POST", "/users", login="dev-a")
        await emulated.control("POST", "/orgs", login="octo-org")
        files, people = {"README.md": "hello\n"}, {"dev-a": "admin"}
        await emulated.control("POST", "/repos", owner="octo-org", name="demo", files=files, collaborators=people)
        hook = {"webhook_url": "http://127.0.0.1:9/webhook", "webhook_secret": "s"}
        app = await emulated.control(
            "POST", "/apps", slug="agent-recovery", permissions=PERMISSIONS, events=EVENTS, **hook
        )
        installation = await emulated.control("POST", "/installations", app="agent-recovery", account="octo-org")
        async with (
            emulated.client(dev["token"]) as person,
            GitHub(app["id"], [app["pem"]], URL, transport=emulated.transport, sleep=sleep) as github,
        ):
            yield Scene(emulated, app, installation["id"], github, person, slept)


# Merges


async def _head_moved(scene: Scene) -> httpx.Response:
    pull = await scene.pull()
    await scene.commit("work", {"more.txt": "y\n"})
    return await scene.merge(pull["number"], sha=pull["head"]["sha"])


async def _base_moved(scene: Scene) -> httpx.Response:
    pull = await scene.pull()
    await scene.known(pull["number"])
    await scene.commit("main", {"other.txt": "y\n"})
    return await scene.merge(pull["number"], sha=pull["head"]["sha"])


async def _method_off(scene: Scene) -> httpx.Response:
    pull = await scene.pull()
    (await scene.dev.patch(AT, json={"allow_squash_merge": False})).raise_for_status()
    return await scene.merge(pull["number"], sha=pull["head"]["sha"], merge_method="squash")


async def _not_mergeable(scene: Scene) -> httpx.Response:
    pull = await scene.pull()
    await scene.commit("main", {"work.txt": "another\n"})
    await scene.known(pull["number"])
    return await scene.merge(pull["number"], sha=pull["head"]["sha"])


async def _check_expected(scene: Scene) -> httpx.Response:
    pull = await scene.pull()
    await scene.require("build")
    return await scene.merge(pull["number"], sha=pull["head"]["sha"])


async def _draft(scene: Scene) -> httpx.Response:
    pull = await scene.pull(draft=True)
    return await scene.merge(pull["number"], sha=pull["head"]["sha"])


async def _other_rule(scene: Scene) -> httpx.Response:
    pull = await scene.pull()
    await scene.rule(
        "pull_request",
        required_approving_review_count=1,
        dismiss_stale_reviews_on_push=False,
        require_code_owner_review=False,
        require_last_push_approval=False,
        required_review_thread_resolution=False,
    )
    return await scene.merge(pull["number"], sha=pull["head"]["sha"])


async def _bad_gateway_but_merged(scene: Scene) -> httpx.Response:
    pull = await scene.pull()
    body = {"message": "Bad Gateway"}
    await scene.fault("status_after", code=502, body=body, match={"method": "PUT", "path_regex": "/merge$"})
    return await scene.merge(pull["number"], sha=pull["head"]["sha"])


async def _bad_gateway_not_merged(scene: Scene) -> httpx.Response:
    pull = await scene.pull()
    body = {"message": "Bad Gateway"}
    await scene.fault("status", code=502, body=body, match={"method": "PUT", "path_regex": "/merge$"})
    return await scene.merge(pull["number"], sha=pull["head"]["sha"])


async def _already_merged_by_human(scene: Scene) -> httpx.Response:
    pull = await scene.pull()
    (await scene.merge(pull["number"])).raise_for_status()
    return await scene.merge(pull["number"], sha=pull["head"]["sha"])


DEEDS = {
    "head_moved": _head_moved,
    "base_moved": _base_moved,
    "method_off": _method_off,
    "not_mergeable": _not_mergeable,
    "check_expected": _check_expected,
    "draft": _draft,
    "other_rule": _other_rule,
    "bad_gateway_but_merged": _bad_gateway_but_merged,
    "bad_gateway_not_merged": _bad_gateway_not_merged,
    "already_merged_by_human": _already_merged_by_human,
}


def test_every_published_answer_to_a_merge_is_played() -> None:
    assert {name for name, (case, _) in MERGES.items() if "response" in case} == set(DEEDS)


@pytest.mark.parametrize("name", DEEDS)
async def test_an_answer_to_a_merge_is_githubs_and_is_understood(scene: Scene, name: str) -> None:
    case, expected = MERGES[name]
    answer = await DEEDS[name](scene)
    assert (answer.status_code, answer.json()["message"]) == (case["response"]["status"], case["response"]["message"])
    understood = meaning_of(answer.status_code, answer.json()["message"])
    assert understood.meaning.value == expected["class"]
    now = (await scene.dev.get(f"{AT}/pulls/1")).json()
    if "then_get" in case:
        assert (now["state"], now["merged"]) == (case["then_get"]["state"], case["then_get"]["merged"])
    if "result" in expected:
        seen = Seen(now["merged"], now["head"]["sha"], now["base"]["ref"])
        outcome = outcome_after(understood, seen, wanted_sha=now["head"]["sha"], wanted_base="main")
        assert outcome is {"merged": Meaning.MERGED, "retry": Meaning.TRANSIENT}[expected["result"]]


async def test_a_base_that_moved_lets_the_next_try_pass(scene: Scene) -> None:
    assert (await _base_moved(scene)).status_code == 405
    assert (await scene.merge(1)).status_code == 200


# Checks


async def _reported(scene: Scene, sha: str) -> Checks:
    runs = (await scene.dev.get(f"{AT}/commits/{sha}/check-runs?filter=all")).json()["check_runs"]
    statuses = (await scene.dev.get(f"{AT}/commits/{sha}/status")).json()["statuses"]
    return Checks(
        sha,
        (await scene.dev.get(f"{AT}/pulls/1")).json()["head"]["sha"],
        tuple(
            RunSeen(
                r["name"],
                r["status"],
                r["conclusion"],
                r["app"]["id"],
                r["check_suite"]["id"],
                r["id"],
                r["started_at"] or "",
            )
            for r in runs
        ),
        tuple(StatusSeen(s["context"], s["state"]) for s in statuses),
    )


async def _report(scene: Scene, sha: str, run: dict[str, Any]) -> httpx.Response:
    repository = await scene.repository()
    body = {"name": run["name"], "head_sha": sha, "status": run.get("status", "completed")}
    if run["conclusion"] is not None:
        body["conclusion"] = run["conclusion"]
    token = (await scene.github._tokens.get(scene.installation)).value
    async with scene.emulated.client(token) as bot:
        return await bot.post(f"/repos/{repository.full_name}/check-runs", json=body)


# Words an App may not report: GitHub alone says `stale`, Actions alone wait, and a word that is none is refused.
NOT_REPORTED = {"waiting_for_approval", "stale", "unknown_word"}


@pytest.mark.parametrize("name", [name for name, (case, _) in WORDS.items() if case["required"]])
async def test_we_and_github_agree_which_checks_pass(scene: Scene, name: str) -> None:
    case, expected = WORDS[name]
    pull = await scene.pull()
    sha = pull["head"]["sha"]
    for run in case["check_runs"]:
        answer = await _report(scene, sha, run)
        assert (answer.status_code == 422) == (name in NOT_REPORTED), answer.text
    for status in case.get("statuses", []):
        (await scene.dev.post(f"{AT}/statuses/{sha}", json=status)).raise_for_status()
    if "combined_status" in case:
        combined = (await scene.dev.get(f"{AT}/commits/{sha}/status")).json()
        assert {k: combined[k] for k in case["combined_status"]} == case["combined_status"]
    verdict = judge([Required(one) for one in case["required"]], await _reported(scene, sha))
    assert isinstance(verdict, Judged)
    assert verdict.outcome == ("pending" if name in NOT_REPORTED else expected["verdict"])
    for one in case["required"]:
        await scene.require(one)
    merged = await scene.merge(pull["number"], sha=sha)
    assert merged.status_code == (200 if verdict.outcome == "pass" else 405), merged.text
    if verdict.outcome == "pending":
        assert meaning_of(405, merged.json()["message"]).meaning is Meaning.PENDING


async def test_green_checks_of_the_head_before_count_for_nothing(scene: Scene) -> None:
    case, expected = HEADS["fresh_head"]
    pull = await scene.pull()
    await _report(scene, pull["head"]["sha"], next(iter(case["checks"].values()))[0])
    fresh = await scene.commit("work", {"more.txt": "y\n"})
    verdict = judge([Required("build")], await _reported(scene, fresh))
    assert isinstance(verdict, Judged)
    assert verdict.outcome == expected["verdict"]
    # And one that comes late, for the head before.
    late, told = HEADS["late_event_for_old_head"]
    assert late["head_sha"] != late["head_now"]
    await _report(scene, pull["head"]["sha"], next(iter(case["checks"].values()))[0])
    assert (judge([Required("build")], await _reported(scene, fresh)) != verdict) is told["state_changed"]
    await scene.require("build")
    assert (await scene.merge(pull["number"], sha=fresh)).status_code == 405


async def test_a_status_and_a_check_of_one_name_must_both_pass(scene: Scene) -> None:
    case, expected = HEADS["status_and_check_same_name"]
    pull = await scene.pull()
    sha = pull["head"]["sha"]
    await _report(scene, sha, case["check"])
    (await scene.dev.post(f"{AT}/statuses/{sha}", json=case["status"])).raise_for_status()
    verdict = judge([Required("build")], await _reported(scene, sha))
    assert isinstance(verdict, Judged)
    assert verdict.outcome == expected["verdict"]
    await scene.require("build")
    assert (await scene.merge(pull["number"], sha=sha)).status_code == 405


async def test_a_name_from_another_app_does_not_stand_for_ours(scene: Scene) -> None:
    case, expected = HEADS["name_from_other_app"]
    pull = await scene.pull()
    sha = pull["head"]["sha"]
    await _report(scene, sha, case["runs"][0])
    other = await scene.emulated.control("POST", "/apps", slug="other", permissions=PERMISSIONS, events=[])
    await scene.emulated.control("POST", "/installations", app="other", account="octo-org")
    verdict = judge([Required(case["required"]["name"], other["id"])], await _reported(scene, sha))
    assert isinstance(verdict, Judged)
    assert verdict.outcome == expected["verdict"]
    await scene.require(case["required"]["name"], integration_id=other["id"])
    assert (await scene.merge(pull["number"], sha=sha)).status_code == 405


# Branch names

PUBLISHED = [case["branch"] for case, _ in BRANCHES.values() if "branch" in case]
SIBLINGS = ["a#", "#", "%", "50%", "%23", "a%20b", "a+b", "a&b=c", "a;b", "a,b", "ä/ö", "release/1.0/2", "a'b", 'a"b']


@pytest.mark.parametrize("branch", dict.fromkeys(PUBLISHED + SIBLINGS))
async def test_a_branch_is_found_and_deleted_by_its_whole_name(scene: Scene, branch: str) -> None:
    repository = await scene.repository()
    scene.branch(branch)
    shorter = branch.partition("#")[0].rstrip("/")
    if shorter and shorter != branch:
        scene.branch(shorter)
    other = await scene.commit(branch, {"x.txt": "x\n"})
    assert await repository.commit_of_branch(branch) == other
    pull = await repository.create_pull(branch, "main", "t", "", False)
    assert isinstance(pull, Pull)
    assert [p.number for p in await repository.find_pulls(branch, "main")] == [pull.number]
    assert await repository.exact_ref(f"refs/heads/{branch}") == other
    values = {"owner": "octo-org", "repo": "demo", "branch": branch}
    await repository.session.write("DELETE", "/repos/{owner}/{repo}/git/refs/heads/{+branch}", values)
    assert await repository.commit_of_branch(branch) is None
    if shorter and shorter != branch:
        assert await repository.commit_of_branch(shorter) is not None


async def test_a_name_that_only_begins_others_is_not_there(scene: Scene) -> None:
    case, expected = BRANCHES["prefix_answer"]
    for answer in case["answer"]:
        scene.branch(answer["ref"].removeprefix("refs/heads/"))
    repository = await scene.repository()
    asked = case["asked"].removeprefix("heads/")
    assert (await repository.commit_of_branch(asked) is not None) == expected["exists"]
    assert (await repository.exact_ref(f"refs/{case['asked']}") is not None) == expected["exists"]


# People who are gone

COMMENTS = """
query Comments($number: Int!) {
  repository(owner: "octo-org", name: "demo") {
    issue(number: $number) {
      author { login }
      comments(first: 9) { nodes { fullDatabaseId body createdAt viewerDidAuthor author { __typename login } } }
    }
  }
}
"""


async def test_a_comment_of_somebody_gone_is_nobodys_and_not_ours(scene: Scene) -> None:
    case, expected = PEOPLE["ghost_with_our_marker"]
    repository = await scene.repository()
    await scene.emulated.control("POST", "/users", login="gone")
    asked = {"repo": REPO, "title": "t", "author": "gone"}
    number = (await scene.emulated.control("POST", "/issues", **asked))["number"]
    for comment in case["comments"]:
        given = {"repo": REPO, "number": number, "author": "gone", "body": comment["body"]}
        await scene.emulated.control("POST", "/comments", **given)
    ours = await repository.create_comment(number, case["comments"][0]["body"])
    await scene.emulated.control("DELETE", "/users/gone")
    answer = await repository.session.query("Comments", COMMENTS, {"number": number})
    issue = answer.body["data"]["repository"]["issue"]
    assert (issue["author"], PEOPLE["graphql_author_null"][0]["node"]["author"]) == (None, None)
    page = CommentPage.model_validate(issue["comments"])
    assert [node.author for node in page.nodes[:-1]] == [expected["ours"]] * len(case["comments"])
    assert [comment.id for comment in page.ours()] == [ours.id]


async def test_an_approval_of_somebody_gone_counts_for_nothing(scene: Scene) -> None:
    case, expected = PEOPLE["ghost_review_in_list"]
    pull = await scene.pull()
    for number, given in enumerate(case["reviews"]):
        login = f"reviewer-{number}"
        person = await scene.emulated.control("POST", "/users", login=login)
        people = {"dev-a": "admin", login: "write"}
        await scene.emulated.control("PATCH", f"/repos/{REPO}", collaborators=people)
        async with scene.emulated.client(person["token"]) as client:
            sent = await client.post(f"{AT}/pulls/{pull['number']}/reviews", json={"event": "APPROVE"})
            assert sent.json()["state"] == given["state"]
        if given["user"] is None:
            await scene.emulated.control("DELETE", f"/users/{login}")
    listed = (await scene.dev.get(f"{AT}/pulls/{pull['number']}/reviews")).json()
    assert [review["user"] is None for review in listed] == [given["user"] is None for given in case["reviews"]]
    head = pull["head"]["sha"]
    reviews = [
        Review(
            r["user"]["login"] if r["user"] else None,
            r["state"],
            r["commit_id"],
            datetime.fromisoformat(r["submitted_at"]),
        )
        for r in listed
    ]
    counted = approvers(reviews, head_sha=head, head_pushed_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert len(counted) == len(expected["counted_approvers"])


# Pushes


@pytest.mark.parametrize("name", PUSHES)
async def test_a_push_is_told_in_the_published_form(scene: Scene, name: str) -> None:
    case, expected = PUSHES[name]
    payload, git = case["payload"], scene.emulated.git(REPO)
    ref = payload["ref"]
    first = str(git.branch("main"))
    later = await scene.commit("main", {"later.txt": "x\n"})
    # What the case calls aaa… and bbb… : a forced push goes back, any other goes on.
    real = {"0" * 40: ZERO_SHA, payload["before"]: first, payload["after"]: later}
    if payload["forced"]:
        real = {payload["before"]: later, payload["after"]: first}
    real["0" * 40] = ZERO_SHA
    before, after = real[payload["before"]], real[payload["after"]]
    if ref.startswith(("refs/heads/refs/", "refs/heads/gh-readonly-queue/")):
        # Names that GitHub refuses to a push; only such events of before, or the queue's own, are heard.
        told = payload | {"repository": {"id": 1, "full_name": REPO, "default_branch": "main"}}
    else:
        if before != ZERO_SHA:
            scene.emulated.push(REPO, "dev-a", [RefChange(ref, ZERO_SHA, before)])
        await scene.emulated.control("POST", "/deliveries/flush")
        heard = {d["id"] for d in await scene.emulated.control("GET", "/deliveries")}
        scene.emulated.push(REPO, "dev-a", [RefChange(ref, before, after)], force=True)
        await scene.emulated.control("POST", "/deliveries/flush")
        fresh = [d for d in await scene.emulated.control("GET", "/deliveries") if d["id"] not in heard]
        (told,) = [json.loads(d["payload"]) for d in fresh if d["event"] == "push"]
        for member in ("ref", "created", "deleted", "forced"):
            assert told[member] == payload[member], member
        assert (told["before"], told["after"]) == (before, after)
        assert (told["head_commit"] is None) == (payload["head_commit"] is None)
    routing = keys_of("push", told, own_app_id=scene.app["id"])
    assert told["forced"] is expected.get("forced", told["forced"])
    if "old" in expected:
        assert (None if told["before"] == ZERO_SHA else told["before"]) == expected["old"]
    if expected["type"] in ("tag", "ignored"):
        assert isinstance(routing, Ignored), routing
    else:
        # A branch that only looks like a full name belongs to no ticket: the whole repository is looked at.
        assert isinstance(routing, Poked)
        assert routing.keys == ((REPO,) if expected.get("branch") == "refs/heads/x" else (f"{REPO}#42",))


# Limits


def _by_graphql(name: str) -> bool:
    return name.startswith("graphql")


async def _ask(scene: Scene, name: str) -> Any:
    repository = await scene.repository()
    if _by_graphql(name):
        return await repository.session.query("Probe", "query Probe { viewer { login } }", {})
    return await repository.session.get("/repos/{owner}/{repo}/labels", {"owner": "octo-org", "repo": "demo"})


async def _heard(scene: Scene, name: str) -> Any:
    answer = RATES[name][0]["response"]
    await scene.repository()
    match = {"kind": "graphql"} if _by_graphql(name) else {"kind": "rest", "path_regex": "/labels$"}
    given = {"code": answer["status"], "headers": answer["headers"], "body": answer["body"]}
    await scene.fault("status", times=None, match=match, **given)
    await scene.emulated.control("DELETE", "/requests")
    return await _ask(scene, name)


@pytest.mark.parametrize("name", RATES)
async def test_a_limit_is_told_from_every_other_refusal(scene: Scene, name: str) -> None:
    expected = RATES[name][1]
    # What was saved before is not lost by an answer, and none of them crashes us.
    kinds = {"ok": None, "rate_limit": RateLimited, "permission": Forbidden, "transient": ServerError}
    if expected.get("class") == "ok":
        assert (await _heard(scene, name)).body["data"] == RATES[name][0]["response"]["body"]["data"]
        return
    with pytest.raises(GitHubError) as caught:
        await _heard(scene, name)
    error, kind = caught.value, "graphql" if _by_graphql(name) else "rest"
    if "class" in expected:
        assert type(error) is kinds[expected["class"]]
    # A limit is never taken for a repository, and a null never for a state, that is not there (any more).
    missing = isinstance(error, NotFound)
    for word in ("repo_missing", "treated_as_deleted", "delete_b_state", "json_crash"):
        assert missing is expected.get(word, False), word
    asked = len(await scene.requests(kind))
    if "wait_s_min" in expected or expected.get("class") == "rate_limit":
        assert type(error) is RateLimited
        assert round(error.wait_s) >= expected.get("wait_s_min", 1)
        # Only a wait of seconds is sat through; nothing is sent before its end.
        assert (name == "too_many") == (len(scene.slept) > 0)
        assert all(round(seconds) >= expected["wait_s_min"] for seconds in scene.slept)
        with pytest.raises(RateLimited):
            await _ask(scene, name)
        hot_loop = len(await scene.requests(kind)) > asked
        assert (asked, hot_loop) == (1, expected.get("hot_loop", False))
    elif expected.get("class") == "permission":
        assert (asked > 1) is expected["retry"]
    elif expected.get("class") == "transient":
        assert type(error) is ServerError
    else:
        # A null beside an error is unknown, never absent.
        assert type(error) is GraphQLFailed
        assert not isinstance(error, NotFound)
        data = RATES[name][0]["response"]["body"]["data"]
        assert error.partial == data
        known = {node: "unknown" if value is None else "known" for node, value in data.items()}
        assert {node: word for node, word in expected.items() if node in data} == known


# Tokens


async def _push(scene: Scene, repository: Repository) -> dict[str, str | None]:
    sha = str(scene.emulated.git(REPO).branch("main"))
    return await repository.receive_pack([RefUpdate("refs/agent-recovery/active/42", ZERO_SHA, sha)])


@pytest.mark.parametrize("name", ["fresh", "near_end", "run_of_two_hours"])
async def test_a_token_lasts_as_long_as_it_is_needed(scene: Scene, name: str) -> None:
    case, expected = TOKENS[name]
    repository = await scene.repository()
    await scene.emulated.control("DELETE", "/requests")
    # The client learns GitHub's time from its answers.
    await scene.emulated.control("POST", "/clock", advance_s=case.get("age_s", case.get("duration_s")))
    await repository.matching_refs("refs/heads/main")
    assert (await _push(scene, repository))["refs/agent-recovery/active/42"] is None
    mints = len(await scene.requests("token"))
    assert mints == (1 if expected.get("mint", True) else 0)


@pytest.mark.parametrize("name", ["push_401_once", "push_401_twice"])
async def test_a_push_that_is_not_believed_is_sent_once_more_with_a_new_token(scene: Scene, name: str) -> None:
    case, expected = TOKENS[name]
    repository = await scene.repository()
    await scene.emulated.control("DELETE", "/requests")
    refused = case["push"].count(401)
    await scene.fault("status", times=refused, code=401, body={"message": "Bad credentials"}, match={"kind": "git"})
    if expected["result"] == "ok":
        assert (await _push(scene, repository))["refs/agent-recovery/active/42"] is None
    else:
        with pytest.raises(Unauthorized):
            await _push(scene, repository)
        assert scene.emulated.git(REPO).ref("refs/agent-recovery/active/42") is None
    assert len(await scene.requests("token")) == expected["mints"]


async def test_a_suspended_installation_stops_no_other(scene: Scene) -> None:
    await scene.emulated.control("POST", "/orgs", login="other")
    await scene.emulated.control("POST", "/repos", owner="other", name="demo", files={"a": "b\n"})
    await scene.emulated.control("POST", "/installations", app="agent-recovery", account="other")
    await scene.emulated.control("PATCH", f"/installations/{scene.installation}", suspended=True)
    message = TOKENS["suspended"][0]["installations"][0]["message"]
    with pytest.raises(Suspended, match=message):
        await scene.repository()
    assert len(await scene.requests("token")) == 1 + TOKENS["suspended"][1]["retries_for_1"]
    assert await (await scene.github.repository("other", "demo")).commit_of_branch("main") is not None
    assert {i.account: i.suspended for i in await scene.github.installations()} == {"octo-org": True, "other": False}
    await scene.emulated.control("PATCH", f"/installations/{scene.installation}", suspended=False)
    assert (await scene.repository()).full_name == REPO


@pytest.mark.parametrize("name", ["deleted", "late_event_after_uninstall"])
async def test_an_installation_that_is_gone_is_written_to_no_more(scene: Scene, name: str) -> None:
    repository = await scene.repository()
    await scene.emulated.control("DELETE", f"/installations/{scene.installation}")
    before = dict(scene.emulated.git(REPO).refs("refs/"))
    with pytest.raises((NotFound, Unauthorized)) as caught:
        await repository.create_comment(1, "late")
    assert caught.value.status == TOKENS[name][0]["mint"]
    scene.github._tokens._tokens.clear()
    with pytest.raises(Uninstalled) as gone:
        await scene.github._tokens.get(scene.installation)
    assert gone.value.reach == TOKENS["deleted"][1]["state"]
    with pytest.raises(NotFound):
        await scene.repository()
    written = dict(scene.emulated.git(REPO).refs("refs/")) != before
    assert TOKENS["deleted"][1]["data"] == ("changed" if written else "kept read-only")
    assert int(written) == TOKENS["late_event_after_uninstall"][1]["effects"]


async def test_a_permission_that_is_not_there_yet_is_asked_for_once(scene: Scene) -> None:
    case, expected = TOKENS["new_permissions_pending"]
    await scene.emulated.control("PATCH", "/apps/agent-recovery", permissions=PERMISSIONS | {"actions": "read"})
    repository = await scene.repository()
    await scene.emulated.control("DELETE", "/requests")
    route, values = "/repos/{owner}/{repo}/actions/workflows", {"owner": "octo-org", "repo": "demo"}
    with pytest.raises({"permission": Forbidden}[expected["class"]], match=case["response"]["message"]):
        await repository.session.get(route, values)
    asked = await scene.requests("rest")
    assert (len(asked) > 1, asked[0]["status"]) == (expected["retry"], case["response"]["status"])
    await scene.emulated.control("POST", f"/installations/{scene.installation}/accept")
    scene.github._tokens._tokens.clear()
    assert (await repository.session.get(route, values)).status == 200
