"""By what an agent comes in: before all else as the run that was started, with a fresh token for every call."""

import json
from pathlib import Path

import pytest

from app.agent import workspace
from app.agent.actions_token import ActionsToken
from app.agent.held import HeldLease
from app.agent.way_in import Account, Dispatched, Handed, way_in
from app.domain.outcome import Code, Refused
from tests.agent.conftest import NAME, OWNER, TICKET, USER_TOKEN, World, refusal
from tests.agent.in_process import swift

CREDENTIAL_HELPER = workspace.credential_helper
URL = "https://recovery.example"
ATTEMPT = "0123456789abcdef"
SECRET = "what-the-runner-was-given-0123456789"
RUN = {"ACTIONS_ID_TOKEN_REQUEST_URL": f"{URL}/idtoken?v=2", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": SECRET}
STARTED = {**RUN, "AGENT_RECOVERY_ATTEMPT": ATTEMPT, "AGENT_RECOVERY_GENERATION": "3"}


@pytest.fixture
def world(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    """The shared world, with commands called in this process."""
    made = swift(world, monkeypatch, capsys)
    # These agents' git has no GitHub token: it asks the program that knows the lease.
    monkeypatch.setattr(workspace, "credential_helper", CREDENTIAL_HELPER)
    return made


def started(world: World, **more: str) -> dict[str, str]:
    """The environment of a job of a run that was started: no GitHub credential."""
    url = f"{world.service.url}/idtoken?api-version=2.0"
    given = {
        "GITHUB_TOKEN": "",
        "ACTIONS_ID_TOKEN_REQUEST_URL": url,
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": SECRET,
        "AGENT_RECOVERY_ATTEMPT": ATTEMPT,
        "AGENT_RECOVERY_GENERATION": "0",
    }
    return given | more


# ---- what the environment says


def test_a_run_that_was_started_goes_before_an_account_and_that_before_a_lease() -> None:
    others = {"GITHUB_TOKEN": USER_TOKEN, "AGENT_RECOVERY_LEASE_TOKEN": "arl_x"}
    way = way_in(URL, {**STARTED, **others})
    assert way == Dispatched(ActionsToken(RUN["ACTIONS_ID_TOKEN_REQUEST_URL"], SECRET, URL), ATTEMPT, 3)
    assert SECRET not in repr(way)
    assert way_in(URL, {**RUN, **others}) == Account(USER_TOKEN)
    assert way_in(URL, {"AGENT_RECOVERY_LEASE_TOKEN": "arl_x"}) == Handed("arl_x")
    # What the operator's command started has an account, and names its attempt.
    told = {"AGENT_RECOVERY_ATTEMPT": ATTEMPT, "AGENT_RECOVERY_GENERATION": "3"}
    assert way_in(URL, {**told, **others}) == Account(USER_TOKEN, ATTEMPT, 3)
    # Without an attempt the generation is that of a lease that stands.
    assert way_in(URL, {"GITHUB_TOKEN": USER_TOKEN, "AGENT_RECOVERY_GENERATION": "3"}) == Account(USER_TOKEN)


def test_a_token_is_for_the_service_by_its_address_or_the_name_it_goes_by() -> None:
    way = way_in(URL, {**STARTED, "AGENT_RECOVERY_OIDC_AUDIENCE": "agent-recovery/"})
    assert isinstance(way, Dispatched)
    assert way.tokens.audience == "agent-recovery"


@pytest.mark.parametrize(
    ("environment", "reason", "remedy"),
    [
        ({}, "neither GITHUB_TOKEN nor", "set GITHUB_TOKEN"),
        (RUN, "the App did not start this workflow run", "/recovery recover"),
        ({**RUN, "AGENT_RECOVERY_ATTEMPT": ""}, "the App did not start", "/recovery recover"),
        ({"AGENT_RECOVERY_ATTEMPT": ATTEMPT}, "no job that may ask GitHub for a token", "id-token: write"),
        ({"AGENT_RECOVERY_ATTEMPT": ATTEMPT}, "GITHUB_TOKEN is not set", "elsewhere, set GITHUB_TOKEN"),
        ({**STARTED, "AGENT_RECOVERY_ATTEMPT": "$(id)"}, "is no attempt", "as it is"),
        ({**STARTED, "AGENT_RECOVERY_GENERATION": "three"}, "is no generation", "as it is"),
    ],
)
def test_what_is_missing_is_told(environment: dict[str, str], reason: str, remedy: str) -> None:
    with pytest.raises(Refused) as told:
        way_in(URL, environment)
    assert told.value.blocked.code is Code.USAGE
    assert reason in told.value.blocked.reason
    assert remedy in told.value.blocked.remedy


@pytest.mark.parametrize(
    "url",
    ["http://github.example/idtoken?v=2", "https://user:secret@github.example/idtoken", "file:///etc/passwd", "x"],
)
def test_what_tokens_are_asked_for_by_goes_over_tls_alone(url: str) -> None:
    with pytest.raises(Refused, match="ACTIONS_ID_TOKEN_REQUEST_URL cannot be used"):
        ActionsToken(url, SECRET, URL).fresh()


# ---- the commands


def test_a_run_recovers_without_any_github_credential(world: World) -> None:
    world.service.verify = [["python3", "check.py"]]
    here = world.folder("agent")
    done = world.run(here, "recover", str(TICKET), **started(world, GITHUB_TOKEN=USER_TOKEN))
    assert done.code == 0, done.err
    (claim,) = world.service.of("claim")
    # Its first act is the claim: what it claims from, it was told.
    assert world.service.calls[0] is claim
    assert (claim.body["attempt"], claim.body["observed_generation"]) == (ATTEMPT, 0)
    assert world.service.asked_for == [(SECRET, world.service.url)]
    assert world.service.run_tokens == []
    # The repository's own commands see neither this run's nor any other token.
    assert world.service.of("evidence")[0].body["verify"][0]["output"] == "checked []\n"
    # Its git goes through the service, whatever token stands in the job's environment.
    assert world.service.git_requests
    assert all(path.startswith(f"/git/{OWNER}/{NAME}.git/") for path in world.service.git_requests)
    lease = HeldLease.model_validate_json((here / ".agent-recovery" / "lease.json").read_text())
    assert lease.git_url == lease.service_git_url
    kept = "".join(path.read_text() for path in (here / ".agent-recovery").iterdir() if path.is_file())
    assert SECRET not in kept + done.out + done.err
    assert "eyJhbGci" not in kept


def test_later_commands_use_the_lease_though_the_generation_is_the_one_before(world: World) -> None:
    here = world.folder("agent")
    environment = started(world)
    assert world.run(here, "recover", str(TICKET), **environment).code == 0
    asked = len(world.service.asked_for)
    other = world.run(here, "heartbeat", **started(world, AGENT_RECOVERY_GENERATION="7"))
    assert other.code == 2
    for command in ("heartbeat", "checkpoint", "handoff"):
        done = world.run(here, command, **environment)
        assert done.code == 0, done.err
    assert len(world.service.asked_for) == asked


def test_an_answer_that_is_lost_is_asked_for_with_another_token(world: World) -> None:
    here = world.folder("agent")
    world.service.faults = [("claim", "lost"), ("claim", "down")]
    done = world.run(here, "claim", str(TICKET), **started(world))
    assert done.code == 0, done.err
    bearers = [call.bearer for call in world.service.of("claim")]
    assert len(set(bearers)) == len(bearers) == 3
    assert len({call.body["claim_id"] for call in world.service.of("claim")}) == 1


def test_a_brief_is_read_by_the_run_as_well(world: World) -> None:
    done = world.run(world.folder("agent"), "brief", str(TICKET), "--json", **started(world))
    assert done.code == 0, done.err
    assert done.json["generation"] == 0
    assert world.service.asked_for == [(SECRET, world.service.url)]


def test_without_a_generation_the_brief_says_what_to_claim_from(world: World) -> None:
    done = world.run(world.folder("agent"), "claim", str(TICKET), **started(world, AGENT_RECOVERY_GENERATION=""))
    assert done.code == 0, done.err
    assert [call.operation for call in world.service.calls] == ["brief", "claim"]
    assert len(world.service.asked_for) == 2


def test_a_late_run_ends_with_4_and_does_nothing(world: World) -> None:
    here = world.folder("agent")
    world.service.refusals["claim"] = refusal(409, "attempt_over", generation=5)
    for _ in range(2):
        done = world.run(here, "recover", str(TICKET), "--json", **started(world))
        assert done.code == 4
        assert json.loads(done.out or done.err)["error"]["code"] == "attempt_over"
    assert {call.operation for call in world.service.calls} == {"claim"}
    assert _left(here) == set()


@pytest.mark.parametrize(
    ("answers", "code", "asked"),
    [
        ([(503, {}), (200, {"value": "not a token"}), (200, [])], 0, 4),
        ([(403, {"message": "no"})], 2, 1),
    ],
)
def test_where_github_gives_no_token(world: World, answers: list[tuple[int, object]], code: int, asked: int) -> None:
    world.service.issuer_answers = list(answers)
    done = world.run(world.folder("agent"), "claim", str(TICKET), **started(world))
    assert done.code == code, done.err
    assert len(world.service.asked_for) == asked
    if code:
        assert "id-token: write" in done.err
        assert world.service.calls == []


def _left(folder: Path) -> set[str]:
    kept = folder / ".agent-recovery"
    return {path.name for path in kept.iterdir()} - {".lock"} if kept.exists() else set()
