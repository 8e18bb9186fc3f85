"""The calls about effects at the service's edge: who may call, what may be sent, what reaches the loop."""

from typing import Any

import pytest

from app.domain.agent_api import WriteAnswer
from app.domain.effect_api import EffectList

PATH = "/api/v1/repos/acme/shop/tickets/42/effects"
INTENT = {"key": "key-00001", "seq": 1, "effect": "v1", "kind": "tag"}
ATTEMPT = {"key": "key-00001", "seq": 1, "attempt": "attempt-1"}


class Effects:
    """Stands for the controller's part about effects: keeps what it was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        async def asked(owner: str, repo: str, ticket: Any, claims: Any, *rest: Any) -> Any:
            self.calls.append((name, ticket, claims.generation, *rest))
            if name == "effects":
                return EffectList(generation=1, effects=(), remembered=0)
            return WriteAnswer(generation=1, sequence=2, status="working")

        return asked


@pytest.fixture
def effects(service: Any) -> Effects:
    made = Effects()
    service.http._transport.app.state.tickets = made
    return made


def bearer(service: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {service.lease_token()}"}


async def test_each_call_reaches_the_loop_with_its_key_and_the_claims_of_its_token(
    service: Any, effects: Effects
) -> None:
    bodies = {
        "": INTENT | {"probe": {"type": "tag", "name": "v1"}},
        "/v1/dispatch": ATTEMPT,
        "/v1/result": ATTEMPT | {"outcome": "unknown", "exit_code": 3},
        "/v1/probe": {"key": "key-00001", "seq": 1},
    }
    for path, body in bodies.items():
        response = await service.http.post(PATH + path, json=body, headers=bearer(service))
        assert response.status_code == 200, response.text
    listed = await service.http.get(PATH, headers=bearer(service))
    assert listed.json() == {"generation": 1, "effects": [], "remembered": 0}
    assert [call[:3] for call in effects.calls] == [
        ("intend_effect", 42, 1),
        ("dispatch_effect", 42, 1),
        ("report_effect", 42, 1),
        ("probe_effect", 42, 1),
        ("effects", 42, 1),
    ]
    assert effects.calls[0][3].probe.name == "v1"
    assert [call[3] for call in effects.calls[1:4]] == ["v1"] * 3


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("", INTENT | {"kind": "magic"}),
        ("", INTENT | {"effect": "-v1"}),
        ("", INTENT | {"effect": "a/b"}),
        ("", INTENT | {"probe": {"type": "shell", "command": "true"}}),
        ("", INTENT | {"probe": {"type": "http", "url": "http://example.com/"}}),
        ("", {"key": "key-00001", "effect": "v1", "kind": "tag"}),
        ("/v1/dispatch", ATTEMPT | {"attempt": "no"}),
        ("/v1/result", ATTEMPT | {"outcome": "done"}),
        ("/v1/result", ATTEMPT | {"outcome": "confirmed", "exit_code": 1000}),
        ("/-v1/probe", {"key": "key-00001", "seq": 1}),
    ],
)
async def test_what_is_not_valid_is_refused_before_the_loop_hears_of_it(
    service: Any, effects: Effects, path: str, body: dict[str, Any]
) -> None:
    response = await service.http.post(PATH + path, json=body, headers=bearer(service))
    assert (response.status_code, response.json()["error"]["code"]) == (422, "usage"), response.text
    assert effects.calls == []


@pytest.mark.parametrize(
    ("method", "path"), [("GET", ""), ("POST", ""), ("POST", "/v1/dispatch"), ("POST", "/v1/probe")]
)
async def test_nobody_without_a_lease_token_is_heard(service: Any, effects: Effects, method: str, path: str) -> None:
    body = None if method == "GET" else INTENT | ATTEMPT
    response = await service.http.request(method, PATH + path, json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (401, "unauthenticated")
    assert effects.calls == []
