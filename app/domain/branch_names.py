"""The name of a ticket's branch: `ticket/42-slug`. It is given once, by the first claim, and then recorded."""

import re
import unicodedata
from collections.abc import Iterable

MAX_SLUG = 40


def ticket_branch(ticket: int, title: str) -> str:
    """A branch name of the ticket grammar that git accepts, whatever the title says: at most 40 characters of its words
    in lower-case ASCII, none where it has none (`ticket/42`).
    """
    # Only the beginning can end in the name; a title may be very long.
    plain = unicodedata.normalize("NFKD", title[:400])
    # Accents fall away (é → e) instead of splitting the word.
    letters = "".join(c for c in plain if not unicodedata.combining(c))
    words = re.findall(r"[a-z0-9]+", letters.lower())
    slug = ""
    for word in words:
        longer = f"{slug}-{word}" if slug else word[:MAX_SLUG]
        if len(longer) > MAX_SLUG:
            break
        slug = longer
    return f"ticket/{ticket}-{slug}" if slug else f"ticket/{ticket}"


def in_the_way(branch: str, existing: Iterable[str]) -> str | None:
    """A branch that leaves no room for this one: git keeps `a` and `a/b` in one place, so only one of them can be."""
    return next((name for name in existing if branch.startswith(f"{name}/") or name.startswith(f"{branch}/")), None)
