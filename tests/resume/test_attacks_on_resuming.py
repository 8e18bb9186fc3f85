"""Words of persons in unlucky orders around a ticket that stopped. Pure."""

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.dispatched import Stopped, Stopping
from app.domain.hold import held, unheld
from app.domain.record import Attempts, Permit, Record, Status, Target
from app.domain.stopping import edge_of, is_giving_up, is_told, marker_of_stop, may_end

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


@pytest.mark.parametrize("same", [True, False])
def test_a_refused_report_of_something_else_does_not_count_as_telling_of_this_stop(same: bool) -> None:
    stopped = Stopped(because="too_old", edge="stuck-g4", reason="r", at=NOW)
    record = Record(ticket=42, sequence=9, status="unclaimed", generation=4, stopped=stopped)
    target = Target(marker=marker_of_stop(record, stopped) if same else "of the generation before")
    refused = Permit(id="p", kind="report_create", target=target, author="a", round="r", state="blocked")
    record = record.model_copy(update={"open": (refused,)})
    assert (is_told(record), may_end(record)) == (same, same)
