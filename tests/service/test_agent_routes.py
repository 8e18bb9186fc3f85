"""The agent API's edge: who may call, what may be sent, how a refusal reads."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from app.domain.outcome import Blocked, Code, Refused
from app.github.errors import RateLimited, Suspended, Unanswered
from app.service.bodies import DEEPEST, LARGEST_BODY

PATH = "/api/v1/repos/acme/shop/tickets/42"
WRITER = "ghp_writer0000000000000000000000000000000"
READER = "ghp_reader0000000000000000000000000000000"
STRANGER = "ghp_stranger00000000000000000000000000000"
CLAIM = {"claim_id": "claim-0001", "observed_generation": 0}
CHECKPOINT = {"key": "key-00001", "seq": 1, "checkpoint": {"objective": "x"}}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def error(response: Any, status: int, code: str) -> dict[str, Any]:
    body = response.json()
    assert (response.status_code, body["error"]["code"]) == (status, code), body
    assert body["error"]["message"]
    assert body["error"]["next_action"]
    return body["error"]


async def test_a_checkpoint_reaches_the_loop_with_the_claims_of_its_token(service):
    response = await service.http.post(PATH + "/checkpoint", json=CHECKPOINT, headers=bearer(service.lease_token()))
    assert response.status_code == 200
    assert response.json()["sequence"] == 2
    [(call, ticket, claims, request)] = service.loop.calls
    assert (call, ticket, claims.generation, request.checkpoint) == ("checkpoint", 42, 1, {"objective": "x"})


async def test_a_validation_reaches_the_loop_and_one_without_a_snapshot_does_not(service):
    made = {"profile": "unit", "version": "3", "validated_sha": "a" * 40, "completed": ["a"]}
    headers = bearer(service.lease_token())
    body = {"key": "key-00001", "seq": 1, "validation": made}
    response = await service.http.post(PATH + "/validation", json=body, headers=headers)
    assert response.status_code == 200
    [(call, ticket, _, request)] = service.loop.calls
    assert (call, ticket, request.validation.snapshot) == ("validation", 42, "a" * 40)
    body["validation"] = {"profile": "unit", "version": "3", "completed": ["a"]}
    response = await service.http.post(PATH + "/validation", json=body, headers=headers)
    assert "snapshot" in error(response, 422, "usage")["message"]
    assert len(service.loop.calls) == 1


@pytest.mark.parametrize("call", ["evidence", "handoff", "heartbeat"])
async def test_every_later_call_takes_the_lease_token_alone(service, call):
    body = {"key": "key-00001", "seq": 1, "head_sha": "a" * 40, "clean": True}
    response = await service.http.post(f"{PATH}/{call}", json=body, headers=bearer(service.lease_token()))
    assert response.status_code == 200
    assert service.people.asked == []
    assert service.loop.calls[0][0] == call


async def test_write_permission_claims_and_read_permission_does_not(service):
    service.loop.problem = Refused(Blocked(Code.ISSUE_CLOSED, "the Issue is closed", "reopen it"))
    claimed = await service.http.post(PATH + "/claim", json=CLAIM, headers=bearer(WRITER))
    error(claimed, 409, "issue_closed")
    assert service.loop.calls[0][-1] == "wanda"
    refused = await service.http.post(PATH + "/claim", json=CLAIM, headers=bearer(READER))
    assert "write" in error(refused, 403, "forbidden")["message"]
    seen = await service.http.get(PATH + "/brief", headers=bearer(READER))
    error(seen, 409, "issue_closed")


async def test_a_repository_the_caller_may_not_see_reads_like_one_that_does_not_exist(service):
    unseen = await service.http.get(PATH + "/brief", headers=bearer(STRANGER))
    missing = await service.http.get(PATH.replace("shop", "nothing") + "/brief", headers=bearer(WRITER))
    first, second = error(unseen, 404, "not_found"), error(missing, 404, "not_found")
    assert first["message"].replace("shop", "nothing") == second["message"]
    assert service.loop.calls == []


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({}, "needs a GitHub user token"),
        ({"Authorization": "Basic YTpi"}, "needs a GitHub user token"),
        (bearer("arl_k.abc.def"), "lease token came"),
        (bearer("ghp_unknown0000000000000000000000000000"), "does not accept"),
    ],
)
async def test_a_claim_without_a_user_token_is_told_what_is_missing(service, headers, words):
    response = await service.http.post(PATH + "/claim", json=CLAIM, headers=headers)
    assert words in error(response, 401, "unauthenticated")["message"]
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("token", "status", "code", "words"),
    [
        (WRITER, 401, "unauthenticated", "GitHub token came"),
        ("arl_unknown.e30.AAAA", 401, "unauthenticated", "not a lease token"),
        ("nonsense", 401, "unauthenticated", "not a lease token"),
    ],
)
async def test_a_write_without_a_genuine_lease_token_is_refused(service, token, status, code, words):
    response = await service.http.post(PATH + "/checkpoint", json=CHECKPOINT, headers=bearer(token))
    assert words in error(response, status, code)["message"]
    assert token not in response.text
    assert service.loop.calls == []


async def test_a_forged_secret_and_another_tickets_token_are_refused(service):
    genuine = service.lease_token()
    forged = genuine[:-4] + ("AAAA" if not genuine.endswith("AAAA") else "BBBB")
    response = await service.http.post(PATH + "/heartbeat", json={}, headers=bearer(forged))
    error(response, 401, "unauthenticated")
    response = await service.http.post(PATH + "/heartbeat", json={}, headers=bearer(service.lease_token(7)))
    assert "#7" in error(response, 403, "forbidden")["message"]
    assert service.loop.calls == []


@pytest.mark.parametrize("call", ["checkpoint", "claim"])
@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_over_the_limit_is_refused_before_it_is_parsed(service, call, announced):
    text = b'{"checkpoint": "' + b"x" * LARGEST_BODY + b'"}'

    async def streamed():
        for start in range(0, len(text), 65536):
            yield text[start : start + 65536]

    content = text if announced else streamed()
    response = await service.http.post(f"{PATH}/{call}", content=content, headers=bearer("x"))
    error(response, 413, "checkpoint_too_large" if call == "checkpoint" else "usage")


async def test_41_kib_pass_the_edge_and_are_the_loops_to_judge(service):
    service.loop.problem = Refused(Blocked(Code.CHECKPOINT_TOO_LARGE, "41 KiB, at most 40", "shorten it"))
    body = CHECKPOINT | {"checkpoint": {"objective": "x" * 41 * 1024}}
    response = await service.http.post(PATH + "/checkpoint", json=body, headers=bearer(service.lease_token()))
    error(response, 413, "checkpoint_too_large")
    assert len(service.loop.calls) == 1


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"key": "key-00001", "seq": 1, "checkpoint": "text"}, "checkpoint_invalid", "body.checkpoint"),
        ({"key": "key-00001", "seq": 1}, "checkpoint_invalid", "body.checkpoint"),
        ({"key": "short", "seq": 1, "checkpoint": {}}, "usage", "body.key"),
        ({"key": "key-00001", "seq": 0, "checkpoint": {}}, "usage", "body.seq"),
        (CHECKPOINT | {"status": "landed"}, "usage", "body.status"),
        ([], "usage", "body"),
        (None, "usage", "body"),
    ],
)
async def test_a_wrong_type_names_its_field_and_not_its_value(service, body, code, field):
    response = await service.http.post(PATH + "/checkpoint", json=body, headers=bearer(service.lease_token()))
    assert field in error(response, 422, code)["message"]
    assert service.loop.calls == []


async def test_a_secret_in_a_wrong_field_is_not_repeated(service):
    body = CHECKPOINT | {"status": "ghp_secret0000000000000000000000000000", "seq": "ghp_other"}
    response = await service.http.post(PATH + "/checkpoint", json=body, headers=bearer(service.lease_token()))
    assert response.status_code == 422
    assert "ghp_" not in response.text


async def test_unknown_fields_are_left_out_and_break_nothing(service):
    body = CHECKPOINT | {"from_the_future": [1, 2]}
    response = await service.http.post(PATH + "/checkpoint", json=body, headers=bearer(service.lease_token()))
    assert response.status_code == 200
    assert not hasattr(service.loop.calls[0][-1], "from_the_future")


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b"\xff\xfe",
        b'{"seq": NaN}',
        b'{"seq": 1e999}',
        b'{"seq": ' + b"9" * 5000 + b"}",
        b'{"checkpoint": {"objective": "\\ud800"}}',
        b"[" * 100_000,
        json.dumps({"checkpoint": eval("[" * (DEEPEST + 2) + "]" * (DEEPEST + 2))}).encode(),
    ],
    ids=["broken", "not-utf8", "nan", "infinite", "huge", "surrogate", "deep-broken", "deep"],
)
async def test_what_is_not_strict_json_is_refused(service, text):
    headers = bearer(service.lease_token()) | {"Content-Type": "application/json"}
    response = await service.http.post(PATH + "/checkpoint", content=text, headers=headers)
    error(response, 422, "usage")
    assert service.loop.calls == []


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/repos/acme/shop/tickets/0/brief",
        "/api/v1/repos/acme/shop/tickets/-1/brief",
        "/api/v1/repos/acme/shop/tickets/x/brief",
        "/api/v1/repos/acme/shop/tickets/99999999999/brief",
        "/api/v1/repos/-acme/shop/tickets/1/brief",
        "/api/v1/repos/ac%20me/shop/tickets/1/brief",
        "/api/v1/repos/acme/sh%0Aop/tickets/1/brief",
        "/api/v1/repos/acme/shop%0A/tickets/1/brief",
        "/api/v1/repos/acme/%2e%2e/tickets/1/brief",
        "/api/v1/repos/acme/sh%23op/tickets/1/brief",
    ],
)
async def test_a_hostile_path_never_reaches_the_loop(service, path):
    response = await service.http.get(path, headers=bearer(WRITER))
    assert response.status_code in (404, 422)
    assert response.json()["error"]["next_action"]
    assert service.loop.calls == []


async def test_unknown_paths_and_methods_are_answered_in_the_same_form(service):
    error(await service.http.get("/nothing"), 404, "not_found")
    response = await service.http.get(PATH + "/claim")
    error(response, 405, "usage")
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("problem", "status", "code"),
    [
        (Suspended("This installation has been suspended"), 409, "installation_suspended"),
        (
            RateLimited("slow", wait_s=31.2, now=datetime.now(UTC), secondary=True, stated=True),
            503,
            "unavailable",
        ),
        (Unanswered("timeout"), 503, "unavailable"),
    ],
)
async def test_what_github_refuses_is_told_with_a_next_action(service, problem, status, code):
    service.people.failure = problem
    response = await service.http.post(PATH + "/claim", json=CLAIM, headers=bearer(WRITER))
    error(response, status, code)
    if isinstance(problem, RateLimited):
        assert response.headers["retry-after"] == "32"


async def test_stale_generation_keeps_who_holds_the_ticket_now(service):
    service.loop.problem = Refused(
        Blocked(Code.STALE_GENERATION, "generation 2 holds the ticket", "stop", holder="bob", generation=2)
    )
    response = await service.http.post(PATH + "/checkpoint", json=CHECKPOINT, headers=bearer(service.lease_token()))
    detail = error(response, 409, "stale_generation")
    assert (detail["holder"], detail["generation"], detail["retryable"]) == ("bob", 2, False)


async def test_a_failure_of_ours_shows_a_reference_and_nothing_else(service):
    service.loop.problem = RuntimeError("ghp_secret0000000000000000000000000000 in /home/someone")
    response = await service.http.post(PATH + "/checkpoint", json=CHECKPOINT, headers=bearer(service.lease_token()))
    detail = error(response, 500, "unavailable")
    assert "reference" in detail["message"]
    assert "secret" not in response.text
