"""The one Issue of our App that tells that many tickets stopped at once, and that closing it lets them go on.

Its words follow from what is held alone, so that whoever writes it writes the same. Titles are strangers' text.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime

from app.domain.model import instant_text
from app.domain.outage import Kind, Waiting
from app.domain.ticket_id import by_number, ticket_id
from app.domain.untrusted import inline

MARKER = "<!-- agent-recovery:mass-hold -->"
"""The first line of the Issue."""
TITLE = "Agent Recovery waits for a person: many tickets stopped at once"
LISTED = 100
_TITLE_BYTES = 80
_NAME_BYTES = 100

_WORDS: dict[Kind, str] = {
    "dispatch": "a fresh agent is started",
    "abandon": "it is ended, because it is too old or nothing can resume it",
    "exhaust": "it stops and waits for a person, because its attempts are used up",
}


def held_notice(rows: Sequence[Waiting], *, most: int, since: datetime) -> str:
    """The Issue's text while the tickets of these wishes are held, because they are more than `most`."""
    held = _sorted(row for row in rows if row.passed_at is None and not row.may_pass_a_hold)
    said = _sorted(row for row in rows if row.passed_at is None and row.may_pass_a_hold)
    lines = [
        MARKER,
        f"Since {instant_text(since)} more than {most} tickets have stopped at about the same time. That looks like an "
        "outage and not like so many single mishaps, so the App does nothing about them by itself: no agent is "
        "started for them, and none of them is given up.",
        "",
        f"**To let the App go on with all {len(held)}, close this Issue.** It then does what the table says, within "
        "the limits of the policy (`resume.max_concurrent`, `resume.max_per_hour`).",
        "",
        "To let a single ticket go on, say `/recovery recover` in a comment on it. To end one, close its Issue as not "
        "planned. Whoever claims a ticket, or still works on it, is not stopped by this. When few enough are left the "
        "App goes on by itself and closes this Issue.",
        "",
        *_table(held, "then"),
    ]
    if said:
        lines += ["", "Let go on already:", "", *_table(said, "now")]
    return "\n".join(lines) + "\n"


def released_notice(by: str | None) -> str:
    """The text once a person closed the Issue."""
    who = inline(by, _NAME_BYTES) if by else "Somebody"
    return (
        f"{MARKER}\n{who} closed this Issue, so the App goes on with the tickets that it listed, within the limits of "
        "the policy. Each of them tells on its own pull request or Issue what became of it.\n"
    )


def few_left_notice() -> str:
    """The text once so few are left that nobody need be asked."""
    return (
        f"{MARKER}\nSo few of the tickets are left that nobody need be asked: their holders showed themselves, or "
        "somebody took them on. The App goes on with the rest by itself.\n"
    )


def doubled_notice(number: int) -> str:
    """The text of a second such Issue, which should not be there."""
    return f"{MARKER}\nThe same is told in #{number}.\n"


def digest_of(text: str) -> str:
    """A short name for a text, to see whether it changed."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _sorted(rows: Iterable[Waiting]) -> list[Waiting]:
    return sorted(rows, key=_by_ticket)


def _by_ticket(row: Waiting) -> tuple[int, str]:
    ticket = ticket_id(row.wish.ticket)
    return by_number(ticket) if ticket is not None else (0, row.wish.ticket)


def _table(rows: Sequence[Waiting], when: str) -> list[str]:
    lines = [f"| ticket | | {when} |", "|---|---|---|"]
    for row in rows[:LISTED]:
        number = ticket_id(row.wish.ticket)
        named = f"#{number}" if isinstance(number, int) else f"`{row.wish.ticket}`"
        lines.append(f"| {named} | {inline(row.wish.title, _TITLE_BYTES)} | {_WORDS[row.wish.kind]} |")
    if len(rows) > LISTED:
        lines.append(f"| … | and {len(rows) - LISTED} more | |")
    return lines
