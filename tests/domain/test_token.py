"""Nobody but a holder of the operator's key can make a token, and one made is bound to its whole identity."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.token import Claims, Forged, issue, kid_of, lease_secret, read, secret_of, verify

KEYS = {"k1": b"a" * 32, "k2": b"b" * 32}
CLAIMS = Claims(repository_id=7, ticket=42, generation=3, nonce="n0nce")
TOKEN = issue("k1", KEYS["k1"], CLAIMS)
_, PAYLOAD, SECRET = TOKEN.removeprefix("arl_").split(".")


def _encoded(body: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(body).encode()).decode().rstrip("=")


def test_the_same_lease_and_key_give_the_same_token_again() -> None:
    assert issue("k1", KEYS["k1"], CLAIMS) == TOKEN
    assert verify(TOKEN, KEYS) == CLAIMS
    assert read(TOKEN) == CLAIMS
    assert secret_of(TOKEN) == lease_secret(KEYS["k1"], CLAIMS)
    assert kid_of(TOKEN) == "k1"


@pytest.mark.parametrize("kid", ["", "a b", "x" * 65])
def test_a_key_id_that_no_seal_could_name_makes_no_token(kid: str) -> None:
    token = f"arl_{kid}.{PAYLOAD}.{SECRET}"
    assert isinstance(read(token), Forged)
    with pytest.raises(ValueError, match="not a lease token"):
        kid_of(token)


def test_a_token_outlives_the_turning_of_keys_while_its_own_key_lives() -> None:
    assert verify(issue("k2", KEYS["k2"], CLAIMS), KEYS) == CLAIMS
    assert isinstance(verify(TOKEN, {"k2": KEYS["k2"]}), Forged)


@pytest.mark.parametrize(
    "other",
    [
        Claims(8, 42, 3, "n0nce"),
        Claims(7, 43, 3, "n0nce"),
        Claims(7, 42, 4, "n0nce"),
        Claims(7, 42, 3, "another"),
    ],
    ids=["repository", "ticket", "generation", "nonce"],
)
def test_the_secret_of_one_lease_opens_no_other(other: Claims) -> None:
    assert verify(f"arl_k1.{other.payload()}.{SECRET}", KEYS) == Forged("the token's secret is wrong")


@pytest.mark.parametrize(
    "forged",
    [
        "",
        "arl_",
        "arl_k1",
        f"arl_k1.{PAYLOAD}",
        f"arl_k1.{PAYLOAD}.",
        f"arl_k1.{PAYLOAD}.{SECRET}.{SECRET}",
        f"arl_k1.{PAYLOAD}.{SECRET[:-4]}",
        f"arl_k2.{PAYLOAD}.{SECRET}",
        f"arl_gone.{PAYLOAD}.{SECRET}",
        f"arl_.{PAYLOAD}.{SECRET}",
        f"ghs_k1.{PAYLOAD}.{SECRET}",
        f" {TOKEN}",
        f"{TOKEN}\n",
        f"{TOKEN}é",
        f"arl_k1.{PAYLOAD}.{'A' * 43}",
        f"arl_k1.{PAYLOAD}.{'A' * 2000}",
        f"arl_k1.{_encoded([])}.{SECRET}",
        f"arl_k1.{_encoded(None)}.{SECRET}",
        f"arl_k1.{_encoded({'ticket': 42})}.{SECRET}",
        f"arl_k1.{_encoded({'repository_id': '7', 'ticket': 42, 'generation': 3, 'nonce': 'n0nce'})}.{SECRET}",
        f"arl_k1.{_encoded({'repository_id': 7, 'ticket': True, 'generation': 3, 'nonce': 'n0nce'})}.{SECRET}",
        f"arl_k1.{_encoded({'repository_id': 7, 'ticket': 42, 'generation': 3, 'nonce': 'n0nce'})}.{SECRET}",
        f"arl_k1.{base64.urlsafe_b64encode(b'[' * 600).decode()}.{SECRET}",
    ],
)
def test_what_is_no_token_of_ours_is_refused_with_a_reason(forged: str) -> None:
    answer = verify(forged, KEYS)
    assert isinstance(answer, Forged)
    assert answer.reason


def test_a_malformed_token_has_no_secret() -> None:
    with pytest.raises(ValueError, match="not a lease token"):
        secret_of("arl_k1.nothing")


@given(st.text(max_size=200))
def test_any_text_is_answered_and_none_is_believed(text: str) -> None:
    assert isinstance(verify(text, KEYS), Forged)
    assert isinstance(verify(f"arl_k1.{text}.{SECRET}", KEYS), Forged) or text == PAYLOAD


@given(st.integers(0, len(TOKEN) - 2), st.sampled_from("ABCxyz019-_."))
def test_a_token_changed_in_one_place_is_refused(position: int, character: str) -> None:
    changed = TOKEN[:position] + character + TOKEN[position + 1 :]
    assert isinstance(verify(changed, KEYS), Forged) or changed == TOKEN
