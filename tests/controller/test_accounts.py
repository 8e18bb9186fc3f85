"""What the account behind a lease may do, asked once a minute."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from app.controller.accounts import KEPT_ENTRIES, Accounts
from app.domain.outcome import Code
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
