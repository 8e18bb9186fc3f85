"""A pruned ticket's effects: what is left of them lets nothing run again."""

from datetime import UTC, datetime
from typing import Any

import pytest

from app.domain.effect import Effect
from app.domain.effect_api import EffectIntent
from app.domain.effect_journal import Noted, dispatched, intended
from app.domain.pruning import tombstone
from app.domain.record import Lease, Record

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize("state", ["confirmed", "failed_no_effect", "unknown"])
def test_a_pruned_tickets_keys_still_let_nothing_run_again(state: str) -> None:
    fields: dict[str, Any] = {"key": "v1", "kind": "tag", "state": state, "generation": 1, "nonce": "n1"}
    ended = Record(ticket=42, sequence=9, status="cancelled", generation=1, effects=(Effect.model_validate(fields),))
    pruned = tombstone(ended, now=NOW)
    assert pruned.effects == ()
    lease = Lease(
        generation=2,
        nonce="n2",
        holder="agent",
        login="wanda",
        claim_id_hash="0" * 64,
        granted_at=NOW,
        expires_at=NOW,
    )
    back = pruned.model_copy(update={"status": "recovering", "generation": 2, "lease": lease})
    request = EffectIntent.model_validate({"key": "k" * 8, "seq": 1, "effect": "v1", "kind": "tag"})
    again = intended(back, lease, request, now=NOW)
    assert isinstance(again, Noted)
    through = dispatched(again.record, lease, "v1", "attempt-b", now=NOW)
    assert isinstance(through, Noted)
    assert (again.effect.state, through.go) == (state, False)
