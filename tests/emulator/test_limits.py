"""Rate limits: the hour's budget, limits on behaviour, GraphQL's prices, conditional requests."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest
from emulated import REPO, World, rest

BASE = f"/repos/{REPO}"


def remaining(answer: httpx.Response) -> int:
    return int(answer.headers["x-ratelimit-remaining"])


def spend(world: World, key: str) -> None:
    """Leave nothing of an identity's hour."""
    world.emulator.rate(key, 0)


# The hour


def test_a_spent_hour_of_an_installation(world: World) -> None:
    number = world.installation["id"]
    world.emulator.rate(f"installation:{number}", 2)
    assert [world.bot.get(BASE).status_code for _ in range(3)] == [200, 200, 403]
    refused = world.bot.get(BASE)
    assert refused.json()["message"] == f"API rate limit exceeded for installation ID {number}."
    assert "rate-limits-for-the-rest-api" in refused.json()["documentation_url"]
    assert refused.headers["x-ratelimit-remaining"] == "0"
    assert refused.headers["x-ratelimit-resource"] == "core"
    assert "retry-after" not in refused.headers
    reset = int(refused.headers["x-ratelimit-reset"])
    world.emulator.advance(reset - world.emulator.now() + 1)
    fresh = rest(world.emulator, world.emulator.installation_token(world.app, number))
    assert fresh.get(BASE).status_code == 200


def test_all_tokens_of_an_installation_share_the_hour(world: World) -> None:
    world.emulator.rate(f"installation:{world.installation['id']}", 2)
    other = rest(world.emulator, world.emulator.installation_token(world.app, world.installation["id"]))
    assert [c.get(BASE).status_code for c in (world.bot, other, world.bot, other)] == [200, 200, 403, 403]
    assert world.dev.get(BASE).status_code == 200


def test_refusals_may_come_as_429(world: World) -> None:
    world.emulator.limits(status=429)
    spend(world, "user:dev")
    refused = world.dev.get(BASE)
    assert refused.status_code == 429
    assert refused.json()["message"].startswith("API rate limit exceeded for user ID ")


def test_nobody_has_sixty_requests(world: World) -> None:
    with httpx.Client(base_url=world.emulator.url, trust_env=False, verify=False) as nobody:
        first = nobody.get(BASE)
        assert first.headers["x-ratelimit-limit"] == "60"
        for _ in range(59):
            assert nobody.get(BASE).status_code == 200
        refused = nobody.get(BASE)
    assert refused.status_code == 403
    assert "Authenticated requests get a higher rate limit" in refused.json()["message"]


def test_more_repositories_more_requests(world: World) -> None:
    for n in range(22):
        world.emulator.repo("octo", f"r{n}", files={})
    assert world.bot.get(BASE).headers["x-ratelimit-limit"] == str(5000 + 3 * 50)


def test_looking_at_the_limits_is_free(world: World) -> None:
    before = remaining(world.bot.get(BASE))
    for _ in range(3):
        shown = world.bot.get("/rate_limit").json()
    assert shown["rate"] == shown["resources"]["core"]
    assert set(shown["resources"]) >= {"core", "search", "graphql"}
    assert shown["rate"]["remaining"] == before
    spend(world, f"installation:{world.installation['id']}")
    assert world.bot.get("/rate_limit").json()["rate"]["remaining"] == 0


def test_graphql_has_a_budget_of_its_own_and_says_so_with_200(world: World) -> None:
    number = world.installation["id"]
    before = remaining(world.bot.get(BASE))
    assert world.graphql("{viewer{login}}")["data"]
    assert remaining(world.bot.get(BASE)) == before - 1
    spend(world, f"installation:{number}")
    answer = world.bot.post("/graphql", json={"query": "{viewer{login}}"})
    assert (answer.status_code, answer.headers["x-ratelimit-resource"]) == (200, "graphql")
    (error,) = answer.json()["errors"]
    assert (error["type"], error["code"]) == ("RATE_LIMIT", "graphql_rate_limit")
    assert error["message"] == f"API rate limit already exceeded for installation ID {number}."


# Behaviour


@pytest.mark.parametrize(("method", "weight"), [("GET", 1), ("POST", 5)])
def test_points_a_minute(world: World, method: str, weight: int) -> None:
    world.emulator.limits(points={"core": 10}, content_a_minute=1000)
    path, body = (BASE, None) if method == "GET" else (f"{BASE}/statuses/{world.head('main')}", {"state": "pending"})
    world.emulator.advance(61)
    done = 0
    while (answer := world.bot.request(method, path, json=body)).is_success:
        done += 1
    assert done == 10 // weight
    assert answer.status_code == 403
    assert answer.json()["message"] == (
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    )
    wait = int(answer.headers["retry-after"])
    assert 0 < wait <= 60
    assert remaining(answer) > 0
    world.emulator.advance(wait + 1)
    assert world.bot.request(method, path, json=body).is_success


def test_githubs_own_points(world: World) -> None:
    assert world.emulator.limits(points="github")["points"] == {"core": 900, "graphql": 2000}


def test_points_of_graphql(world: World) -> None:
    world.emulator.limits(points={"graphql": 3})
    query = {"query": "{viewer{login}}"}
    assert [world.bot.post("/graphql", json=query).status_code for _ in range(4)] == [200, 200, 200, 403]
    assert world.bot.get(BASE).status_code == 200


def test_content_a_minute(world: World) -> None:
    number = world.emulator.issue(REPO, "One")["number"]
    url = f"{BASE}/issues/{number}/comments"
    answers = [world.bot.post(url, json={"body": f"{n}"}) for n in range(81)]
    assert [a.status_code for a in answers] == [201] * 80 + [403]
    assert answers[-1].json()["message"] == (
        "You have exceeded a secondary rate limit and have been temporarily blocked from content creation. "
        "Please retry your request again later."
    )
    assert world.dev.post(url, json={"body": "another identity"}).status_code == 201
    assert world.bot.post(f"{BASE}/check-runs", json={"name": "n", "head_sha": world.head("main")}).is_success
    by_graphql = world.bot.post(
        "/graphql",
        json={
            "query": "mutation($i:AddCommentInput!){addComment(input:$i){clientMutationId}}",
            "variables": {"i": {"subjectId": world.emulator.issue(REPO, "Two")["node_id"], "body": "x"}},
        },
    )
    assert by_graphql.status_code == 403
    world.emulator.advance(int(answers[-1].headers["retry-after"]) + 1)
    assert world.bot.post(url, json={"body": "later"}).status_code == 201


def test_content_an_hour(world: World) -> None:
    world.emulator.limits(content_an_hour=3)
    made = []
    for _ in range(4):
        made.append(world.bot.post(f"{BASE}/issues", json={"title": "t"}))
        world.emulator.advance(61)
    assert [m.status_code for m in made] == [201, 201, 201, 403]
    assert int(made[-1].headers["retry-after"]) > 3000


def test_many_requests_at_once(world: World) -> None:
    world.emulator.limits(concurrent=1)
    world.emulator.fault("delay", match={"path_regex": "/labels$"}, seconds=0.5)
    with httpx.Client(base_url=world.emulator.url, headers=world.bot.headers, trust_env=False, verify=False) as other:
        slow = threading.Thread(target=lambda: other.get(f"{BASE}/labels"))
        slow.start()
        answers: list[int] = []
        while slow.is_alive():
            answers.append(world.bot.get(BASE).status_code)
        slow.join()
    assert 403 in answers
    assert world.bot.get(BASE).status_code == 200


def test_limits_can_be_switched_off(world: World) -> None:
    world.emulator.limits(secondary=False, points={"core": 1})
    assert [world.bot.get(BASE).status_code for _ in range(3)] == [200] * 3


# GraphQL


def measured(world: World, query: str, **variables: Any) -> Any:
    return world.graphql(query, **variables)["data"]["rateLimit"]


def test_a_document_costs_what_its_connections_ask(world: World) -> None:
    assert measured(world, "{rateLimit{cost nodeCount}}") == {"cost": 1, "nodeCount": 0}
    query = """query($n:Int!){rateLimit{cost nodeCount} repository(owner:"octo",name:"demo"){issues(first:$n){nodes{
      ...Part}}}} fragment Part on Issue{labels(first:60){nodes{name}} comments(last:5){nodes{body}}}"""
    # 1 + 100 + 100 requests, 100 + 100*60 + 100*5 nodes.
    before = world.bot.get("/rate_limit").json()["resources"]["graphql"]["used"]
    assert measured(world, query, n=100) == {"cost": 2, "nodeCount": 6600}
    assert world.bot.get("/rate_limit").json()["resources"]["graphql"]["used"] == before + 2


def test_too_many_nodes(world: World) -> None:
    inner = "pullRequests(first:100){nodes{commits(first:100){nodes{commit{checkSuites(first:%d){nodes{id}}}}}}}"
    query = '{repository(owner:"octo",name:"demo"){' + inner + "}}"
    (by_the_way,) = world.graphql(query % 100)["errors"]
    assert by_the_way == {
        "type": "MAX_NODE_LIMIT_EXCEEDED",
        "message": "By the time this query traverses to the checkSuites connection, it is requesting up to 1,000,000 "
        "possible nodes which exceeds the maximum limit of 500,000.",
    }
    (in_all,) = world.graphql(query % 50)["errors"]
    assert in_all["message"] == (
        "This query requests up to 510,100 possible nodes which exceeds the maximum limit of 500,000."
    )
    assert "errors" not in world.graphql(query % 40)


@pytest.mark.parametrize(
    ("page", "kind", "message"),
    [
        (
            "",
            "MISSING_PAGINATION_BOUNDARIES",
            "You must provide a `first` or `last` value to properly paginate the `issues` connection.",
        ),
        (
            "(first:101)",
            "EXCESSIVE_PAGINATION",
            "Requesting 101 records on the `issues` connection exceeds the `first` limit of 100 records.",
        ),
        (
            "(last:101)",
            "EXCESSIVE_PAGINATION",
            "Requesting 101 records on the `issues` connection exceeds the `last` limit of 100 records.",
        ),
    ],
)
def test_page_sizes(world: World, page: str, kind: str, message: str) -> None:
    answer = world.graphql('{repository(owner:"octo",name:"demo"){issues' + page + "{nodes{number}}}}")
    assert [(e["type"], e["message"]) for e in answer["errors"]] == [(kind, message)]


# Conditional requests


def test_unchanged_answers_are_free_for_who_is_known(world: World) -> None:
    first = world.bot.get(f"{BASE}/labels")
    tag = first.headers["etag"]
    for held in (tag, tag.removeprefix("W/"), f'"other", {tag}'):
        again = world.bot.get(f"{BASE}/labels", headers={"if-none-match": held})
        assert (again.status_code, again.content) == (304, b"")
        assert remaining(again) == remaining(first)
    world.bot.post(f"{BASE}/labels", json={"name": "new"})
    assert world.bot.get(f"{BASE}/labels", headers={"if-none-match": tag}).status_code == 200


def test_unchanged_answers_cost_nobody_a_request(world: World) -> None:
    with httpx.Client(base_url=world.emulator.url, trust_env=False, verify=False) as nobody:
        first = nobody.get(f"{BASE}/labels")
        again = nobody.get(f"{BASE}/labels", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    assert remaining(again) == remaining(first) - 1


def test_validators_belong_to_an_identity(world: World) -> None:
    tags = {c.get(f"{BASE}/labels").headers["etag"] for c in (world.bot, world.dev, world.reader)}
    assert len(tags) == 3


def test_last_modified(world: World) -> None:
    number = world.emulator.issue(REPO, "One")["number"]
    url = f"{BASE}/issues/{number}"
    stamp = world.bot.get(url).headers["last-modified"]
    assert world.bot.get(url, headers={"if-modified-since": stamp}).status_code == 304
    wrong = {"if-modified-since": stamp, "if-none-match": '"other"'}
    assert world.bot.get(url, headers=wrong).status_code == 200
    world.emulator.advance(5)
    world.emulator.comment(REPO, number, "dev", "now it is another")
    assert world.bot.get(url, headers={"if-modified-since": stamp}).status_code == 200
    assert world.bot.get(url, headers={"if-modified-since": "yesterday"}).status_code == 200
    assert "last-modified" not in world.bot.get(f"{BASE}/issues").headers
