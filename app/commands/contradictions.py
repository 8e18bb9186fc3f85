"""Commands of one comment of which nobody can mean both: then none of the comment's commands is carried out."""

import re
from collections.abc import Sequence
from itertools import combinations

_OPPOSITES = frozenset(
    frozenset(pair)
    for pair in (
        ("hold", "unhold"),
        ("hold", "recover"),
        ("hold", "land"),
        ("retarget", "land"),
        ("takeover", "land"),
        ("cancel", "unhold"),
        ("cancel", "recover"),
        ("cancel", "takeover"),
        ("cancel", "retarget"),
        ("cancel", "accept"),
        ("cancel", "land"),
        ("approve", "deny"),
        ("authorize-release", "revoke-release"),
        ("merge-release", "revoke-release"),
    )
)
_ONE_OF_A_KIND = frozenset({"retarget", "accept", "land", "authorize-release", "resolve"})
"""Said twice with different words, they contradict themselves."""
_OF_AN_EFFECT = frozenset({"approve", "deny", "resolve"})
_CHILD = re.compile(r"#?[0-9]+\.[a-z0-9-]+")


def contradiction_of(said: Sequence[tuple[str, tuple[str, ...]]]) -> str | None:
    """In a sentence, which two of these verbs with their words contradict each other; None where none do."""
    for (one, words), (other, others) in combinations(said, 2):
        if _subject(one, words) != _subject(other, others):
            continue
        if one == other and one in _ONE_OF_A_KIND:
            return f"This comment says `/recovery {one}` twice, with different words. {_NOTHING}"
        if frozenset((one, other)) in _OPPOSITES:
            return f"`/recovery {one}` and `/recovery {other}` contradict each other. {_NOTHING}"
    return None


_NOTHING = "None of its commands was carried out: say the one that you mean in a new comment."


def _subject(verb: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """What a command is about, beside the ticket on which it is said: a child of it, an effect."""
    child = words[:1] if words and _CHILD.fullmatch(words[0]) else ()
    return child + (words[len(child) : len(child) + 1] if verb in _OF_AN_EFFECT else ())
