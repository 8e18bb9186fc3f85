"""Which calls of a story are disturbed, and what came of it: for all tests of stories with calls disturbed.

By default a sample; `CRASH=all` disturbs every call of each story in every way, `CRASH=story` every one of one story,
and `CRASH=story/kind/number` plays one again.
"""

import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from tests.crash import DISTURBANCES, Call

ALL = os.environ.get("CRASH", "")
End = TypeVar("End")

Sample = Mapping[str, Sequence[tuple[str, str]]]
"""Of a story: a call's name, of which the first is meant, and how it is disturbed."""


def stories_of(known: Collection[str], by_default: Iterable[str]) -> list[str]:
    """The stories to play: those of the sample, all, or the one that is named."""
    if ALL and ALL != "all":
        named = ALL.split("/")[0]
        return [named] if named in known else []
    return list(known if ALL else by_default)


def chosen(story: str, calls: Sequence[Call], sample: Sample) -> Iterator[tuple[str, int]]:
    """How, and which of a story's calls by number."""
    if ALL in ("all", story):
        for number, call in enumerate(calls):
            yield from ((kind, number) for kind, reaches in DISTURBANCES.items() if call.reach in reaches)
    elif ALL:
        _, kind, number = ALL.split("/")
        yield kind, int(number)
    else:
        names = [call.name for call in calls]
        yield from ((kind, names.index(name)) for name, kind in sample.get(story, ()))


async def differing(
    story: str,
    calls: Sequence[Call],
    disturbances: Iterable[tuple[str, int]],
    play: Callable[[str, int], Awaitable[tuple[End, Sequence[Call]]]],
    both: Callable[[End, str, Call], tuple[object, object]],
) -> list[str]:
    """What ended otherwise, each with the words that play it again. `play` plays the story with one call disturbed;
    `both` tells its end and the wanted one, without what such a disturbance may leave.
    """
    failures = []
    for kind, number in disturbances:
        call = calls[number]
        try:
            found, made = await play(kind, number)
            # A slow machine reads once more before it sends: what was hit is what this play says.
            call = made[number] if number < len(made) else call
            end, wanted = both(found, kind, call)
            problem = "" if end == wanted else f"{end} instead of {wanted}"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            failures.append(f"CRASH='{story}/{kind}/{number}' ({call.name}): {problem}")
    return failures
