"""Which deliveries hold something that a person says. Whatever is in a payload, it is never an error."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.controller.words import LONGEST
from app.domain.keys import parse_key
from app.service.events import Poked, keys_of
from app.service.spoken import spoken_in

OWN = 111
PERSON = {"id": 7, "type": "User", "login": "dev-a"}
BOT = {"id": 5001, "type": "Bot", "login": "agent-recovery[bot]"}
REPO = {"full_name": "octo-org/demo", "default_branch": "main"}
SHOWN = "42:3:17:0123456789ab"


def said(**comment: Any) -> dict[str, Any]:
    shown = {
        "id": 9001,
        "node_id": "IC_1",
        "user": PERSON,
        "created_at": "2026-11-30T12:00:00Z",
        "body": "/recovery hold",
        "performed_via_github_app": None,
    }
    return {
        "action": "created",
        "comment": {**shown, **comment},
        "sender": comment.get("user", PERSON),
        "issue": {"number": 57},
        "repository": REPO,
    }


def clicked(identifier: str = "hold", **run: Any) -> dict[str, Any]:
    shown = {"id": 77, "name": "Agent Recovery", "external_id": SHOWN, "app": {"id": OWN}, "pull_requests": []}
    return {
        "action": "requested_action",
        "requested_action": {"identifier": identifier},
        "check_run": {**shown, **run},
        "sender": PERSON,
        "repository": REPO,
    }


def test_a_comment() -> None:
    spoken = spoken_in("issue_comment", said(), own_app_id=OWN)
    assert spoken is not None
    assert (spoken.key, spoken.number, spoken.text) == ("octo-org/demo!comment-9001", 57, "/recovery hold")
    assert (spoken.author_id, spoken.author_login, spoken.node_id) == (7, "dev-a", "IC_1")
    assert spoken.created_at == datetime(2026, 11, 30, 12, tzinfo=UTC)
    routed = keys_of("issue_comment", said(), own_app_id=OWN)
    assert isinstance(routed, Poked)
    assert (routed.keys, routed.words) == ((spoken.key, "octo-org/demo#57"), (spoken,))


def test_on_a_pull_request_of_no_known_ticket_it_is_heard_all_the_same() -> None:
    payload = {**said(), "issue": {"number": 57, "pull_request": {"url": "u"}, "body": ""}}
    routed = keys_of("issue_comment", payload, own_app_id=OWN)
    assert isinstance(routed, Poked)
    assert routed.keys[0] == "octo-org/demo!comment-9001"


@pytest.mark.parametrize(
    "payload",
    [
        {**said(), "action": "edited"},
        {**said(), "action": "deleted"},
        {**said(), "sender": {**PERSON, "id": 8}},
        {**said(), "issue": {"number": True}},
        {**said(), "issue": None},
        {**said(), "repository": {"full_name": "../etc"}},
        said(user=BOT, performed_via_github_app={"id": OWN}),
        said(user=BOT),
        said(user=None),
        said(user={**PERSON, "type": "Mannequin"}),
        said(performed_via_github_app={"id": 333}),
        said(body="hello"),
        said(body=None),
        said(body="/recovery hold" + "x" * LONGEST),
        said(id="9001"),
        said(id=-1),
        said(id=10**30),
        said(created_at="yesterday"),
        said(created_at="2026-11-30T12:00:00"),
        said(created_at=1764504000),
        said(created_at="9999-12-31T23:59:59Z"),
        said(created_at="0001-01-01T00:00:00+14:00"),
    ],
)
def test_no_word_of_a_persons(payload: dict[str, Any]) -> None:
    assert spoken_in("issue_comment", payload, own_app_id=OWN) is None


def test_what_no_database_takes_is_replaced() -> None:
    odd = json.loads(r'"/recovery hold \u0000 \ud800 \udfff end"')
    spoken = spoken_in("issue_comment", said(body=odd), own_app_id=OWN)
    assert spoken is not None
    assert spoken.text.encode()
    assert "\x00" not in spoken.text


def test_a_click_is_known_by_the_run_who_clicked_and_the_state_that_was_shown() -> None:
    one = spoken_in("check_run", clicked(), own_app_id=OWN)
    assert one is not None
    assert one.key.startswith("octo-org/demo!button-77.hold.")
    assert (one.number, one.text, one.created_at) == (42, SHOWN, None)
    assert str(parse_key(one.key)) == one.key
    others = [
        clicked("recover"),
        clicked(id=78),
        clicked(external_id="42:3:18:0123456789ab"),
        {**clicked(), "sender": {**PERSON, "id": 8}},
    ]
    keys = {found.key for other in others if (found := spoken_in("check_run", other, own_app_id=OWN))}
    assert len(keys | {one.key}) == 5
    on_pull = spoken_in("check_run", clicked(pull_requests=[{"number": 57}]), own_app_id=OWN)
    assert on_pull is not None
    assert (on_pull.key, on_pull.number) == (one.key, 57)


@pytest.mark.parametrize(
    "payload",
    [
        {**clicked(), "action": "rerequested"},
        {**clicked(), "sender": BOT},
        {**clicked(), "requested_action": None},
        clicked("authorize-release"),
        clicked(name="Agent Recovery / release"),
        clicked(app={"id": 112}),
        clicked(external_id="not-a-ticket"),
        clicked(external_id=None),
        clicked(id=None),
    ],
)
def test_no_click_on_a_button_of_ours(payload: dict[str, Any]) -> None:
    assert spoken_in("check_run", payload, own_app_id=OWN) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["created", "/recovery x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(
    event=st.sampled_from(["issue_comment", "check_run"]),
    members=st.dictionaries(st.text(max_size=8), _JSON),
    odd=_JSON,
)
def test_no_payload_is_an_error(event: str, members: dict[str, Any], odd: Any) -> None:
    for whole in (said(), clicked()):
        for name in whole:
            spoken_in(event, {**whole, **members, name: odd}, own_app_id=OWN)
            inner = whole[name]
            if isinstance(inner, dict):
                for part in inner:
                    spoken_in(event, {**whole, name: {**inner, part: odd}}, own_app_id=OWN)
    assert spoken_in(event, odd, own_app_id=OWN) is None or isinstance(odd, dict)
