"""Tokens of workflow runs: what is believed, and every way in which one is not."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from app.controller.database import Database
from app.controller.spent_tokens import KEPT_LONGER, SpentTokens
from app.domain.dispatched import Dispatched, Run, Start
from app.domain.outcome import Blocked, Code, Exit, exit_code, http_status
from app.domain.policy import ResumePolicy
from app.domain.run_claims import RunClaims, Unnamed, is_named, not_the_run, not_the_workflow, refused_run
from app.domain.run_seen import RunSeen
from app.service import oidc
from app.service.oidc import MAX_TOKEN, RunTokens, is_run_token

ISSUER = "https://token.actions.example"
AUDIENCE = "https://recovery.example"
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
KEYS = {kid: rsa.generate_private_key(public_exponent=65537, key_size=2048) for kid in ("one", "two")}
WEAK = rsa.generate_private_key(public_exponent=65537, key_size=1024)
NAME = "acme/shop"
FILE = f"{NAME}/.github/workflows/agent.yml@refs/heads/main"


def jwk(kid: str, key: rsa.RSAPrivateKey | None = None, **more: Any) -> dict[str, Any]:
    numbers = (key or KEYS[kid]).public_key().public_numbers()
    parts = {
        name: base64.urlsafe_b64encode(value.to_bytes((value.bit_length() + 7) // 8, "big")).decode().rstrip("=")
        for name, value in (("n", numbers.n), ("e", numbers.e))
    }
    return {"kty": "RSA", "kid": kid, "alg": "RS256", "use": "sig", **parts, **more}


def claims(now: datetime = NOW, **more: Any) -> dict[str, Any]:
    at = int(now.timestamp())
    said = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "iat": at,
        "nbf": at - 600,
        "exp": at + 300,
        "jti": f"jti-{len(USED)}",
        "repository_id": "5",
        "repository": NAME,
        "run_id": "70",
        "run_attempt": "1",
        "event_name": "workflow_dispatch",
        "ref": "refs/heads/main",
        "workflow_ref": FILE,
        "job_workflow_ref": FILE,
        "actor": "agent-recovery[bot]",
        "repository_owner": "acme",
    }
    USED.append(said["jti"])
    return {name: value for name, value in (said | more).items() if value is not None}


USED: list[str] = []


def segment(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def signed(body: dict[str, Any], key: str = "one", **header: Any) -> str:
    """A token with a right signature, whatever its header says."""
    unsigned = f"{segment({'typ': 'JWT', 'alg': 'RS256', 'kid': key, **header})}.{segment(body)}"
    signature = KEYS[key].sign(unsigned.encode(), PKCS1v15(), SHA256())
    return f"{unsigned}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


class Issuer:
    """The issuer's door: what it answers, and how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[httpx.Request] = []
        self.answer: Callable[[], httpx.Response | Exception] = lambda: httpx.Response(200, json={"keys": [jwk("one")]})
        self.slow_s = 0.0

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if self.slow_s:
            await asyncio.sleep(self.slow_s)
        answer = self.answer()
        if isinstance(answer, Exception):
            raise answer
        # A stream, as from the network.
        return httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(answer.content))


class Scene:
    """One service's check, with clocks that a test moves."""

    def __init__(self, file: Path, issuer: Issuer, audience: str | None = AUDIENCE) -> None:
        self.issuer, self.now, self.passed = issuer, NOW, 1000.0
        self.database = Database(f"sqlite:///{file}")
        self.tokens = RunTokens(
            ISSUER,
            audience,
            SpentTokens(self.database, lambda: self.now),
            lambda: self.now,
            passed=lambda: self.passed,
            transport=httpx.MockTransport(issuer),
        )

    async def why(self, token: str, code: Code = Code.UNAUTHENTICATED) -> str:
        outcome = await self.tokens.verify(token)
        assert isinstance(outcome, Blocked), outcome
        assert outcome.code is code
        shown = f"{outcome.reason} {outcome.remedy}"
        assert not any(part and part in shown for part in token.split(".") if len(part) > 8)
        return outcome.reason


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
async def scene(tmp_path: Path, issuer: Issuer) -> AsyncIterator[Scene]:
    made = Scene(tmp_path / "tokens.db", issuer)
    yield made
    made.database.close()


async def test_a_genuine_token_says_which_run_comes(scene: Scene, issuer: Issuer) -> None:
    assert await scene.tokens.verify(signed(claims(), x5t="abc")) == RunClaims(
        repository_id=5,
        repository=NAME,
        run=Run(id=70, attempt=1),
        event="workflow_dispatch",
        ref="refs/heads/main",
        workflow_ref=FILE,
        job_workflow_ref=FILE,
        actor="agent-recovery[bot]",
    )
    (asked,) = issuer.asked
    assert (asked.method, str(asked.url)) == ("GET", f"{ISSUER}/.well-known/jwks")
    assert "authorization" not in asked.headers
    for _ in range(3):
        assert isinstance(await scene.tokens.verify(signed(claims())), RunClaims)
    assert len(issuer.asked) == 1


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"iss": "https://token.elsewhere.example"}, "another issuer"),
        ({"iss": f"{ISSUER}/"}, "another issuer"),
        ({"iss": None}, "lacks what a token of a workflow run says: iss"),
        ({"aud": "https://other.example"}, "another audience"),
        ({"aud": [AUDIENCE, "https://other.example"]}, "says: aud"),
        ({"aud": None}, "says: aud"),
        ({"exp": int(NOW.timestamp()) - 61}, "has expired"),
        ({"exp": None}, "says: exp"),
        ({"exp": str(int(NOW.timestamp()) + 300)}, "says: exp"),
        ({"exp": 10**40}, "says: exp"),
        ({"exp": True}, "says: exp"),
        ({"exp": int(NOW.timestamp()) + 86400}, "times are none that GitHub gives"),
        ({"exp": int(NOW.timestamp()) + 61, "iat": int(NOW.timestamp()) + 61}, "from the future"),
        ({"exp": int(NOW.timestamp()) - 10, "iat": int(NOW.timestamp())}, "times are none that GitHub gives"),
        ({"nbf": int(NOW.timestamp()) + 61}, "from the future"),
        ({"nbf": None}, "says: nbf"),
        ({"iat": int(NOW.timestamp()) + 120}, "from the future"),
        ({"iat": None}, "says: iat"),
        ({"jti": None}, "says: jti"),
        ({"jti": ""}, "says: jti"),
        ({"jti": "x" * 600}, "says: jti"),
        ({"jti": "a\x00b"}, "says: jti"),
        ({"run_id": None}, "says: run_id"),
        ({"run_id": 70}, "says: run_id"),
        ({"run_id": "070"}, "says: run_id"),
        ({"run_id": "7" * 19}, "says: run_id"),
        ({"run_id": "٧٠"}, "says: run_id"),
        ({"run_id": "70\n"}, "says: run_id"),
        ({"run_attempt": None}, "says: run_attempt"),
        ({"repository_id": None}, "says: repository_id"),
        ({"repository": None}, "says: repository"),
        ({"event_name": None}, "says: event_name"),
        ({"ref": None}, "says: ref"),
        ({"workflow_ref": None}, "says: workflow_ref"),
        ({"job_workflow_ref": None}, "says: job_workflow_ref"),
        ({"actor": None}, "says: actor"),
    ],
)
async def test_a_token_with_one_claim_wrong_is_refused(scene: Scene, wrong: dict[str, Any], reason: str) -> None:
    assert reason in await scene.why(signed(claims(**wrong)))


@pytest.mark.parametrize("late", [timedelta(seconds=360), timedelta(seconds=-60), timedelta(seconds=-15)])
async def test_clocks_may_differ_by_a_minute(scene: Scene, late: timedelta) -> None:
    body = claims(nbf=int(NOW.timestamp()))
    scene.now += late
    assert isinstance(await scene.tokens.verify(signed(body)), RunClaims)


def other_signature() -> str:
    head, body, _ = signed(claims()).split(".")
    return f"{head}.{body}.{signed(claims()).split('.')[2]}"


def changed_body() -> str:
    head, body, signature = signed(claims()).split(".")
    said = json.loads(base64.urlsafe_b64decode(body + "=="))
    return f"{head}.{segment(said | {'run_id': '71'})}.{signature}"


def by_public_key() -> str:
    """HS256 with what everybody knows: the public key taken for a shared secret."""
    pem = KEYS["one"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    unsigned = f"{segment({'alg': 'HS256', 'kid': 'one'})}.{segment(claims())}"
    mac = hmac.new(pem, unsigned.encode(), hashlib.sha256).digest()
    return f"{unsigned}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


def by_a_stranger() -> str:
    return jwt.encode(claims(), KEYS["two"], "RS256", headers={"kid": "one"})


FORGED: dict[str, tuple[Callable[[], str], str]] = {
    "a signature of other claims": (other_signature, "signature is wrong"),
    "claims of another run": (changed_body, "signature is wrong"),
    "another's key under the issuer's id": (by_a_stranger, "signature is wrong"),
    "a key of its own making": (
        lambda: jwt.encode(
            claims(), KEYS["two"], "RS256", headers={"kid": "one", "jwk": jwk("two"), "jku": "https://x"}
        ),
        "signature is wrong",
    ),
    "no signature": (lambda: f"{segment({'alg': 'none', 'kid': 'one'})}.{segment(claims())}.", "RS256"),
    "None with capitals": (lambda: f"{segment({'alg': 'nOnE', 'kid': 'one'})}.{segment(claims())}.", "RS256"),
    "RS256 without signature": (
        lambda: f"{segment({'alg': 'RS256', 'kid': 'one'})}.{segment(claims())}.",
        "signature is wrong",
    ),
    "HS256 with the public key": (by_public_key, "RS256"),
    "RS512": (lambda: jwt.encode(claims(), KEYS["one"], "RS512", headers={"kid": "one"}), "RS256"),
    "PS256": (lambda: jwt.encode(claims(), KEYS["one"], "PS256", headers={"kid": "one"}), "RS256"),
    "critical extensions": (lambda: signed(claims(), crit=["exp"]), "no token"),
    "a body that is not encoded": (lambda: signed(claims(), b64=True), "RS256"),
    "a key that is unknown": (
        lambda: jwt.encode(claims(), KEYS["two"], "RS256", headers={"kid": "two"}),
        "does not have",
    ),
    "no key named": (lambda: jwt.encode(claims(), KEYS["one"], "RS256"), "no token"),
    "a key's id of no text": (
        lambda: f"{segment({'alg': 'RS256', 'kid': 7})}.{segment(claims())}.{segment('x')}",
        "no token",
    ),
    "a long key's id": (lambda: signed(claims(), kid="k" * 300), "no token"),
    "a header that is a list": (lambda: f"{segment(['RS256'])}.{segment(claims())}.{segment('x')}", "no token"),
    "a header that nests": (lambda: f"{segment('[' * 5000)}.{segment({})}.{segment('x')}", "no token"),
    "nothing but dots": (lambda: "eyJ..", "no token"),
    "no base64": (lambda: "eyJ$$.€€.%%".encode("ascii", "ignore").decode(), "no token"),
    "longer than any": (lambda: signed(claims(more="x" * MAX_TOKEN)), "no token"),
}


@pytest.mark.parametrize("name", FORGED)
async def test_a_forged_token_is_refused(scene: Scene, name: str) -> None:
    make, reason = FORGED[name]
    assert reason in await scene.why(make())


async def test_a_token_is_good_for_one_call(scene: Scene) -> None:
    token = signed(claims())
    assert isinstance(await scene.tokens.verify(token), RunClaims)
    assert "used before" in await scene.why(token)
    # Signed anew it is still the same token.
    assert "used before" in await scene.why(signed(claims(jti=USED[-1])))


async def test_a_refused_token_is_not_used_up(scene: Scene, issuer: Issuer) -> None:
    token = signed(claims(nbf=int(NOW.timestamp()) + 100))
    assert "future" in await scene.why(token)
    scene.now += timedelta(seconds=100)
    assert isinstance(await scene.tokens.verify(token), RunClaims)


async def test_of_two_processes_at_the_same_moment_one_takes_it(tmp_path: Path, issuer: Issuer) -> None:
    scenes = [Scene(tmp_path / "shared.db", issuer) for _ in range(2)]
    try:
        for _ in range(5):
            token = signed(claims())
            outcomes = await asyncio.gather(*(scene.tokens.verify(token) for scene in (*scenes, *scenes)))
            assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Blocked"] * 3 + ["RunClaims"]
    finally:
        for scene in scenes:
            scene.database.close()


async def test_what_was_used_is_forgotten_once_nobody_accepts_it(scene: Scene) -> None:
    spent, until = SpentTokens(scene.database, lambda: scene.now), NOW + timedelta(minutes=5)
    assert await spent.spend("one", until)
    scene.now = until + KEPT_LONGER
    assert await spent.spend("two", scene.now + timedelta(minutes=5))
    assert not await spent.spend("one", until)
    scene.now += timedelta(seconds=1)
    assert await spent.spend("three", scene.now + timedelta(minutes=5))
    assert await spent.spend("one", until)


# ---- the issuer's keys

NO_ANSWER: dict[str, Callable[[], httpx.Response | Exception]] = {
    "nobody": lambda: httpx.ConnectError("no route"),
    "a cut": lambda: httpx.RemoteProtocolError("cut"),
    "a fault": lambda: httpx.Response(502),
    "nothing there": lambda: httpx.Response(404),
    "a redirect": lambda: httpx.Response(302, headers={"Location": "https://evil.example/jwks"}),
    "a page": lambda: httpx.Response(200, text="<html>"),
    "a list": lambda: httpx.Response(200, json=[jwk("one")]),
    "keys that are no list": lambda: httpx.Response(200, json={"keys": {"one": jwk("one")}}),
    "a nest": lambda: httpx.Response(200, text='{"keys":' + "[" * 100_000),
    "too much": lambda: httpx.Response(200, content=b" " * (oidc.MAX_KEYS_BYTES + 1)),
    "no keys": lambda: httpx.Response(200, json={"keys": []}),
    "a short key": lambda: httpx.Response(200, json={"keys": [jwk("one", WEAK)]}),
    "a key for something else": lambda: httpx.Response(200, json={"keys": [jwk("one", use="enc")]}),
    "a key of another kind": lambda: httpx.Response(200, json={"keys": [jwk("one", kty="oct", k="c2VjcmV0")]}),
    "a broken key": lambda: httpx.Response(200, json={"keys": [jwk("one", n="AAAA"), 7, None, "key"]}),
}


@pytest.mark.parametrize("name", NO_ANSWER)
async def test_without_the_issuers_keys_nobody_is_told_that_a_token_is_wrong(
    scene: Scene, issuer: Issuer, name: str
) -> None:
    right, issuer.answer = issuer.answer, NO_ANSWER[name]
    reason = await scene.why(signed(claims()), Code.UNAVAILABLE)
    assert "evil" not in reason
    assert len(issuer.asked) == 1
    # Not asked again at once, however many come.
    await scene.why(signed(claims()), Code.UNAVAILABLE)
    assert len(issuer.asked) == 1
    issuer.answer = right
    scene.passed += oidc.LOOKED_AGAIN_AFTER_S
    assert isinstance(await scene.tokens.verify(signed(claims())), RunClaims)


async def test_a_slow_issuer_is_waited_for_a_moment(
    scene: Scene, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc, "TIMEOUT_S", 0.05)
    issuer.slow_s = 30
    assert "TimeoutError" in await scene.why(signed(claims()), Code.UNAVAILABLE)


async def test_many_who_come_at_once_cost_one_question(scene: Scene, issuer: Issuer) -> None:
    issuer.slow_s = 0.02
    outcomes = await asyncio.gather(*(scene.tokens.verify(signed(claims())) for _ in range(20)))
    assert all(isinstance(outcome, RunClaims) for outcome in outcomes)
    assert len(issuer.asked) == 1


async def test_a_new_key_is_looked_up_and_an_old_one_forgotten(scene: Scene, issuer: Issuer) -> None:
    assert isinstance(await scene.tokens.verify(signed(claims())), RunClaims)
    issuer.answer = lambda: httpx.Response(200, json={"keys": [jwk("two"), jwk("weak", WEAK)]})
    scene.passed += oidc.LOOKED_AGAIN_AFTER_S
    assert isinstance(await scene.tokens.verify(signed(claims(), "two")), RunClaims)
    assert len(issuer.asked) == 2
    assert "does not have" in await scene.why(signed(claims()))
    assert "does not have" in await scene.why(signed(claims(), "two", kid="weak"))


async def test_keys_are_kept_for_an_hour(scene: Scene, issuer: Issuer) -> None:
    assert isinstance(await scene.tokens.verify(signed(claims())), RunClaims)
    issuer.answer = lambda: httpx.Response(200, json={"keys": [jwk("two")]})
    scene.passed += oidc.KEYS_KEPT_S
    assert "does not have" in await scene.why(signed(claims()))


async def test_unknown_keys_cost_one_question_a_while(scene: Scene, issuer: Issuer) -> None:
    assert isinstance(await scene.tokens.verify(signed(claims())), RunClaims)
    for number in range(200):
        scene.passed += 0.1
        assert "does not have" in await scene.why(signed(claims(), kid=f"made-up-{number}"))
    assert len(issuer.asked) == 3
    assert isinstance(await scene.tokens.verify(signed(claims())), RunClaims)


async def test_without_an_address_of_its_own_a_service_lets_no_run_in(tmp_path: Path, issuer: Issuer) -> None:
    scene = Scene(tmp_path / "tokens.db", issuer, audience=None)
    try:
        outcome = await scene.tokens.verify(signed(claims()))
        assert isinstance(outcome, Blocked)
        assert "AGENT_RECOVERY_PUBLIC_URL" in outcome.remedy
        assert issuer.asked == []
    finally:
        scene.database.close()


@pytest.mark.parametrize("token", ["ghp_a.b.c", "arl_k.eyJ.x", "github_pat_x", "ghs_1_eyJhb.c.d", "eyJ.a", "eyJ.a.b.c"])
def test_no_other_token_is_taken_for_a_runs(token: str) -> None:
    assert not is_run_token(token)
    assert is_run_token(signed(claims()))


# ---- which workflow, which run

RESUME = ResumePolicy(dispatch="workflow_dispatch")
RIGHT = RunClaims(5, NAME, Run(id=70, attempt=1), "workflow_dispatch", "refs/heads/main", FILE, FILE, "recovery[bot]")


def changed(**more: Any) -> RunClaims:
    return RunClaims(**{**vars(RIGHT), **more})


def elsewhere(path: str) -> dict[str, str]:
    return {"workflow_ref": path, "job_workflow_ref": path}


WORKFLOWS: dict[str, tuple[RunClaims, str | None]] = {
    "the agent workflow": (RIGHT, None),
    "the repository under a new name": (
        changed(repository="acme/store", **elsewhere(FILE.replace(NAME, "acme/store"))),
        None,
    ),
    "another repository with the same name": (changed(repository_id=6), "another repository"),
    "a fork": (
        changed(repository_id=9, repository="eve/shop", **elsewhere(FILE.replace("acme", "eve"))),
        "another repository",
    ),
    "a workflow of a fork": (changed(**elsewhere(FILE.replace("acme", "eve"))), "not of the workflow"),
    "another branch": (
        changed(ref="refs/heads/evil", **elsewhere(FILE.replace("/main", "/evil"))),
        "not of the default branch",
    ),
    "a tag with the branch's name": (
        changed(ref="refs/tags/main", **elsewhere(FILE.replace("heads", "tags"))),
        "not of the default branch",
    ),
    "a file of another branch": (changed(**elsewhere(FILE.replace("/main", "/evil"))), "not of the workflow"),
    "a pull request": (
        changed(event="pull_request", ref="refs/pull/3/merge", **elsewhere(FILE.replace("heads/main", "pull/3/merge"))),
        "not of the default branch",
    ),
    "a renamed workflow": (changed(**elsewhere(FILE.replace("agent.yml", "old.yml"))), "not of the workflow"),
    "a workflow in a folder": (changed(**elsewhere(FILE.replace("agent.yml", "x/agent.yml"))), "not of the workflow"),
    "a file with that end": (changed(**elsewhere(FILE.replace("agent.yml", "my-agent.yml"))), "not of the workflow"),
    "a reusable workflow elsewhere": (
        changed(job_workflow_ref="eve/kit/.github/workflows/agent.yml@refs/heads/main"),
        "another workflow",
    ),
    "a reusable workflow of its own": (
        changed(job_workflow_ref=FILE.replace("agent.yml", "inner.yml")),
        "another workflow",
    ),
}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_only_the_agent_workflow_of_the_default_branch_comes_in(name: str) -> None:
    said, reason = WORKFLOWS[name]
    found = not_the_workflow(said, RESUME, repository_id=5, default_branch="main")
    assert (found is None) if reason is None else (found is not None and reason in found)


STARTED = Run(id=70, attempt=1)


def dispatched(start: Start = "workflow_dispatch", run: Run | None = STARTED) -> Dispatched:
    return Dispatched(attempt="0123456789abcdef", start=start, generation=1, at=NOW, run=run)


RUNS: dict[str, tuple[RunClaims, Dispatched, str | Unnamed | None]] = {
    "the run that was started": (RIGHT, dispatched(), None),
    "a run started by hand": (changed(run=Run(id=71, attempt=1), actor="wanda"), dispatched(), "another run"),
    "a re-run": (changed(run=Run(id=70, attempt=2)), dispatched(), "a re-run"),
    "another event": (changed(event="push"), dispatched(), "started by push"),
    "the event of the other way": (changed(event="repository_dispatch"), dispatched(), "started by repository"),
    "a repository's dispatch": (changed(event="repository_dispatch"), dispatched("repository_dispatch"), None),
    "the operator's command": (RIGHT, dispatched("command", None), "the operator's command"),
    "a run that nobody heard of": (RIGHT, dispatched(run=None), Unnamed(Run(id=70, attempt=1))),
    "a re-run of it": (changed(run=Run(id=70, attempt=2)), dispatched(run=None), "a re-run"),
    "a person's run with its attempt": (changed(actor="wanda"), dispatched(run=None), "a person started"),
}


@pytest.mark.parametrize("name", RUNS)
def test_only_the_run_that_was_started_comes_in(name: str) -> None:
    said, started, expected = RUNS[name]
    found = not_the_run(said, started)
    if isinstance(expected, str):
        assert isinstance(found, str)
        assert expected in found
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("seen", "is_it"),
    [
        (RunSeen(Run(id=70, attempt=1), "running", "Agent for 1 (0123456789abcdef)"), True),
        (RunSeen(Run(id=70, attempt=1), "completed", "0123456789abcdef", "failure"), True),
        (RunSeen(Run(id=70, attempt=1), "running", "Agent for 1"), False),
        (RunSeen(Run(id=70, attempt=1), "running", "Agent for 1 (0123456789ABCDEF)"), False),
        (RunSeen(Run(id=70, attempt=2), "running", "Agent for 1 (0123456789abcdef)"), False),
        (RunSeen(Run(id=70, attempt=1), "gone"), False),
    ],
)
def test_a_run_that_nobody_heard_of_is_known_by_its_name(seen: RunSeen, is_it: bool) -> None:
    assert is_named(seen, dispatched(run=None)) is is_it


def test_what_a_refused_run_is_told() -> None:
    refusal = refused_run("it is a re-run")
    assert (exit_code(refusal.code), http_status(refusal.code)) == (Exit.GATE_CLOSED, 403)
    assert "AGENT_RECOVERY_ATTEMPT" in refusal.remedy
