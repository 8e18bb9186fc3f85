"""Words of persons in unlucky orders around a ticket that stopped. Pure."""

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.dispatched import Stopped, Stopping
from app.domain.hold import held, unheld
from app.domain.record import Attempts, Record, Status
from app.domain.stopping import edge_of, is_giving_up

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(("because", "status"), [("attempts", "exhausted"), ("too_old", "unclaimed")])
def test_what_stopped_a_ticket_stops_it_no_more_once_a_person_took_it_off_hold(
    because: Stopping, status: Status
) -> None:
    stopped = Stopped(because=because, edge="stuck-g3", reason="r", at=NOW, before="unclaimed", told=7)
    attempts = Attempts(count=3, interrupted_at=NOW)
    record = Record(ticket=42, sequence=9, status=status, generation=3, stopped=stopped, attempts=attempts)
    on_hold = held(record, by="ann", reason=None, now=NOW)
    after = unheld(on_hold, by="ann", ttl=timedelta(minutes=15), now=NOW)
    assert (after.status, after.stopped, after.attempts.count) == ("unclaimed", None, 0)
    assert not is_giving_up(after)
    # Where it stops again, a person is told again.
    assert edge_of(after) != stopped.edge
