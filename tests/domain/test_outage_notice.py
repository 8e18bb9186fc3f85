"""The one Issue that tells of a mass: what it says, and that strangers' titles do nothing in it."""

from datetime import UTC, datetime, timedelta

from app.domain import outage_notice as notice
from app.domain.outage import Kind, Waiting, Wish

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
HOSTILE = "@everyone fixes #1 | <!-- agent-recovery:mass-hold --> </td> `x` [a](https://evil.example)\n/recovery cancel"


def row(ticket: str, title: str = "Ripen", kind: Kind = "dispatch", **fields: object) -> Waiting:
    return Waiting(Wish(ticket, kind, "1.1", title), NOON, NOON, NOON, **fields)  # type: ignore[arg-type]


def test_it_lists_what_would_be_done_and_says_how_to_go_on() -> None:
    rows = [row("12", kind="abandon"), row("3"), row("7", kind="exhaust"), row("9", passed_at=NOON)]
    text = notice.held_notice(rows, most=5, since=NOON)
    assert text.startswith(notice.MARKER + "\n")
    assert "close this Issue" in text
    assert "`/recovery recover`" in text
    lines = [line for line in text.splitlines() if line.startswith("| #")]
    assert [line.split(" | ")[0] for line in lines] == ["| #3", "| #7", "| #12"]
    assert "a fresh agent is started" in lines[0]
    assert "attempts are used up" in lines[1]
    assert "ended" in lines[2]


def test_the_same_is_said_in_the_same_words_whoever_writes_it() -> None:
    rows = [row(str(n)) for n in range(1, 9)]
    one, other = (notice.held_notice(some, most=5, since=NOON) for some in (rows, rows[::-1]))
    assert notice.digest_of(one) == notice.digest_of(other)
    later = [row(str(n), released=False) for n in range(1, 10)]
    assert notice.digest_of(notice.held_notice(later, most=5, since=NOON)) != notice.digest_of(one)


def test_titles_of_strangers_do_nothing() -> None:
    text = notice.held_notice([row("3", HOSTILE)], most=5, since=NOON)
    assert text.count("<!--") == 1
    assert "@everyone" not in text
    assert "fixes #1 " not in text
    assert "https://evil" not in text
    assert all(not line.startswith("/recovery") for line in text.splitlines())
    (line,) = (line for line in text.splitlines() if line.startswith("| #3"))
    assert line.replace(r"\|", "").count("|") == 4


def test_a_thousand_tickets_fit() -> None:
    text = notice.held_notice([row(str(n), "x" * 500) for n in range(1, 1001)], most=5, since=NOON)
    assert len(text.encode()) < 60_000
    assert "and 900 more" in text


def test_what_a_person_let_go_on_stands_apart() -> None:
    text = notice.held_notice([row("3"), row("4", released=True)], most=5, since=NOON - timedelta(hours=1))
    held, said = text.split("Let go on already:")
    assert "#3" in held
    assert "#4" not in held
    assert "#4" in said


def test_the_end_says_who_closed_it_and_calls_nobody() -> None:
    assert notice.released_notice("rita").startswith(f"{notice.MARKER}\nrita closed")
    assert "@all" not in notice.released_notice("rita\n@all")
    assert "Somebody closed" in notice.released_notice(None)
    assert notice.few_left_notice().startswith(notice.MARKER)
    assert "#7" in notice.doubled_notice(7)
