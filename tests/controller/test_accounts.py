"""What the account behind a lease may do, asked once a minute."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from loop_world import REPO as LOOP_REPO
from loop_world import LoopWorld, claims_of

from app.controller.accounts import ASKED_EVERY_S, KEPT_ENTRIES, Accounts
from app.domain.agent_api import CheckpointRequest, HeartbeatRequest
from app.domain.dispatched import Run
from app.domain.outcome import Code, Refused
from app.domain.record import Lease

REPO: Any = SimpleNamespace(id=7, full_name="acme/shop")


class GitHub:
    def __init__(self, level: str) -> None:
        self.level: Any = level
        self.asked: list[str] = []

    async def permission(self, repository: Any, login: str) -> Any:
        self.asked.append(login)
        return self.level


def lease(login: str = "wanda") -> Lease:
    moment = datetime(2026, 11, 30, tzinfo=UTC)
    return Lease(
        generation=1,
        nonce="n",
        holder="agent",
        login=login,
        claim_id_hash="",
        granted_at=moment,
        expires_at=moment,
    )


@pytest.mark.parametrize(
    ("level", "covers"),
    [("admin", True), ("maintain", True), ("write", True), ("triage", False), ("read", False), ("none", False)],
)
async def test_only_who_may_write_covers_a_lease(level: str, covers: bool) -> None:
    found = await Accounts(GitHub(level)).may_no_more(REPO, lease())
    assert (found is None) is covers
    if found is not None:
        assert (found.code, level in found.reason, "wanda" in found.reason) == (Code.FORBIDDEN, True, True)


async def test_of_a_workflow_run_no_account_is_asked() -> None:
    github = GitHub("none")
    held = lease("agent-recovery[bot]").model_copy(update={"run": Run(id=70, attempt=1)})
    accounts = Accounts(github)
    assert await accounts.may_no_more(REPO, held) is None
    await accounts.require_covered(REPO, held, held.granted_at + timedelta(days=1))
    assert github.asked == []


async def test_an_answer_is_kept_for_a_minute_and_for_this_account_alone() -> None:
    moment = [0.0]
    github = GitHub("write")
    accounts = Accounts(github, lambda: moment[0])
    for _ in range(3):
        assert await accounts.may_no_more(REPO, lease("Wanda")) is None
    github.level = "none"
    moment[0] = 59.9
    assert await accounts.may_no_more(REPO, lease("wanda")) is None
    assert await accounts.may_no_more(REPO, lease("sam")) is not None
    moment[0] = 60.0
    assert await accounts.may_no_more(REPO, lease("wanda")) is not None
    assert github.asked == ["Wanda", "sam", "wanda"]


async def test_the_oldest_answers_make_room() -> None:
    github = GitHub("write")
    accounts = Accounts(github, lambda: 0.0)
    for number in range(KEPT_ENTRIES + 1):
        await accounts.may_no_more(REPO, lease(f"user-{number}"))
    await accounts.may_no_more(REPO, lease("user-0"))
    await accounts.may_no_more(REPO, lease(f"user-{KEPT_ENTRIES}"))
    assert len(github.asked) == KEPT_ENTRIES + 2


async def test_a_call_of_the_api_asks_anew_every_ten_minutes_and_not_right_after_the_claim() -> None:
    moment = [0.0]
    github = GitHub("write")
    accounts = Accounts(github, lambda: moment[0])
    claimed = lease().granted_at
    await accounts.require_covered(REPO, lease(), claimed + timedelta(seconds=ASKED_EVERY_S - 1))
    assert github.asked == []
    later = claimed + timedelta(seconds=ASKED_EVERY_S)
    await accounts.require_covered(REPO, lease(), later)
    github.level = "read"
    moment[0] = ASKED_EVERY_S - 1
    await accounts.require_covered(REPO, lease(), later)
    # A push asks more often; what it learns counts for both.
    assert await accounts.may_no_more(REPO, lease()) is not None
    with pytest.raises(Refused) as refused:
        await accounts.require_covered(REPO, lease(), later)
    assert refused.value.blocked.code is Code.FORBIDDEN
    github.level = "write"
    moment[0] += 60
    await accounts.require_covered(REPO, lease(), later)


async def test_who_lost_its_access_holds_nothing_any_more(world: LoopWorld) -> None:
    controller, agent, _ = await world.published()
    claims = claims_of(agent.grant)
    world.emulator.change_repo(LOOP_REPO, collaborators={"wanda": "read"})
    world.emulator.advance(ASKED_EVERY_S + 30)
    ledger = world.ledger()
    with pytest.raises(Refused) as refused:
        await controller.heartbeat("acme", "shop", world.ticket, claims, HeartbeatRequest())
    assert refused.value.blocked.code is Code.FORBIDDEN
    request = CheckpointRequest(key="checkpoint-1", seq=900, checkpoint={"objective": "go on"})
    with pytest.raises(Refused) as refused:
        await controller.checkpoint("acme", "shop", world.ticket, claims, request)
    assert (refused.value.blocked.code, "wanda" in refused.value.blocked.reason) == (Code.FORBIDDEN, True)
    assert world.ledger() == ledger
    # Silent from now on, it is taken over as any other that died.
    world.emulator.change_repo(LOOP_REPO, collaborators={"wanda": "write"})
    world.emulator.advance(17 * 60)
    assert (await world.claim(controller, 1)).generation == 2
