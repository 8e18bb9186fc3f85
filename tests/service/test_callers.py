"""What is kept of callers, and for how long."""

from dataclasses import replace

import pytest

from app.domain.dispatched import Run
from app.domain.outcome import Blocked, Code, Refused
from app.domain.run_claims import RunClaims
from app.service import callers as module
from app.service.callers import Account, Callers, RunOf

WRITER = "ghp_writer0000000000000000000000000000000"
READER = "ghp_reader0000000000000000000000000000000"


class Time:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def callers(people, time):
    return Callers(people, {}, now=time)


async def test_github_is_asked_once_in_60_seconds_for_each_caller(callers, people, time):
    for _ in range(3):
        assert await callers.may_claim(f"Bearer {WRITER}", "acme", "shop") == Account("wanda")
    assert people.asked == ["caller", "permission"]
    await callers.may_see(f"Bearer {READER}", "Acme".lower(), "shop")
    assert people.asked == ["caller", "permission"] * 2
    time.seconds += 60
    await callers.may_claim(f"bearer {WRITER}", "acme", "shop")
    assert people.asked == ["caller", "permission"] * 3


async def test_a_refused_permission_is_kept_as_well(callers, people):
    for _ in range(3):
        with pytest.raises(Refused):
            await callers.may_claim(f"Bearer {READER}", "acme", "shop")
    assert people.asked == ["caller", "permission"]


async def test_no_token_is_kept(callers):
    await callers.may_claim(f"Bearer {WRITER}", "acme", "shop")
    assert WRITER not in repr([vars(kept) for kept in (callers._accounts, callers._permissions)])


async def test_what_is_kept_is_bounded(callers, monkeypatch):
    monkeypatch.setattr(module, "KEPT_ENTRIES", 1)
    await callers.may_claim(f"Bearer {WRITER}", "acme", "shop")
    await callers.may_see(f"Bearer {READER}", "acme", "shop")
    assert len(callers._accounts._entries) == len(callers._permissions._entries) == 1


RUN_TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJydW4iOjF9.c2lnbmF0dXJl"
LONG_RUN_TOKEN = f"eyJhbGciOiJSUzI1NiJ9.{'eyJydW4iOjF9' * 200}.c2lnbmF0dXJl"
CLAIMS = RunClaims(
    repository_id=5,
    repository="acme/shop",
    run=Run(id=70, attempt=1),
    event="workflow_dispatch",
    ref="refs/heads/main",
    workflow_ref="acme/shop/.github/workflows/agent.yml@refs/heads/main",
    job_workflow_ref="acme/shop/.github/workflows/agent.yml@refs/heads/main",
    actor="agent-recovery[bot]",
)


class Runs:
    """Stands for the check of runs' tokens."""

    def __init__(self, says):
        self.says, self.asked = says, []

    async def verify(self, token):
        self.asked.append(token)
        return self.says


@pytest.mark.parametrize("token", [RUN_TOKEN, LONG_RUN_TOKEN])
async def test_a_run_comes_without_an_account_and_github_is_asked_for_none(people, token):
    runs = Runs(CLAIMS)
    callers = Callers(people, {}, runs=runs)
    for judge in (callers.may_claim, callers.may_see):
        caller = await judge(f"Bearer {token}", "acme", "shop")
        assert caller == RunOf(CLAIMS)
        assert (caller.login, caller.run) == ("agent-recovery[bot]", CLAIMS)
    # Every call is checked: what was checked before stands for nothing.
    assert runs.asked == [token, token]
    assert people.asked == []


async def test_a_run_of_another_repository_learns_of_none(people):
    other = Callers(people, {}, runs=Runs(replace(CLAIMS, repository_id=6)))
    said = []
    for repo in ("shop", "unknown"):
        with pytest.raises(Refused) as told:
            await other.may_claim(f"Bearer {RUN_TOKEN}", "acme", repo)
        said.append((told.value.blocked.code, told.value.blocked.reason.replace(repo, "…")))
    assert said[0] == said[1]
    assert said[0][0] is Code.NOT_FOUND


@pytest.mark.parametrize("code", [Code.UNAUTHENTICATED, Code.UNAVAILABLE])
async def test_a_token_that_is_not_believed_is_refused_as_the_check_says(people, code):
    callers = Callers(people, {}, runs=Runs(Blocked(code, "because", "do this")))
    with pytest.raises(Refused) as told:
        await callers.may_claim(f"Bearer {RUN_TOKEN}", "acme", "shop")
    assert told.value.blocked.code is code


async def test_a_runs_token_is_for_claim_and_brief_alone(people):
    runs = Runs(CLAIMS)
    with pytest.raises(Refused, match="takes a lease token"):
        Callers(people, {}, runs=runs).holder(f"Bearer {RUN_TOKEN}", 42)
    assert runs.asked == []


async def test_an_account_is_judged_as_before_where_runs_are_let_in(people):
    runs = Runs(CLAIMS)
    callers = Callers(people, {}, runs=runs)
    assert await callers.may_claim(f"Bearer {WRITER}", "acme", "shop") == Account("wanda")
    assert runs.asked == []
    for token in ("x" * 1025, f"ghs_{'x' * 1025}", f"eyJ{'x' * 9000}.a.b"):
        with pytest.raises(Refused):
            await callers.may_claim(f"Bearer {token}", "acme", "shop")
    assert runs.asked == []
