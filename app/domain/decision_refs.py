"""Recorded decisions: what a checkpoint's `decision_refs` name, and whether it is still there at an exact commit.

A reference is a path (`docs/adr/004.md`, at the work's commit), a pinned path (`docs/adr/004.md@<sha>` or
`<sha>:docs/adr/004.md`), a commit, an Issue or pull request (`#12`), or GitHub's own address of one of these. What
names nothing in this repository is shown and not looked up. A decision that is missing is a blocker (section 6 of the
recovery specification, step 7): work that rests on it cannot be trusted to follow it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from app.domain.surroundings import MOST_DECISIONS

_SHA = "[0-9a-f]{40}"
_COMMIT = re.compile(_SHA)
_NUMBER = re.compile(r"(?:(?P<repository>[\w.-]+/[\w.-]+))?#(?P<number>[1-9][0-9]{0,9})")
_PINNED = re.compile(rf"(?P<path>[^\s@:][^\s@]*)@(?P<sha>{_SHA})|(?P<sha2>{_SHA}):(?P<path2>\S+)")
_ADDRESS = re.compile(
    rf"https?://[^/\s]+/(?P<repository>[\w.-]+/[\w.-]+)/"
    rf"(?:(?:blob|tree)/(?P<sha>{_SHA})/(?P<path>[^\s#?]+)|commit/(?P<commit>{_SHA})|(?:issues|pull)/(?P<number>[1-9][0-9]{{0,9}}))"
    r"/?(?:[?#]\S*)?"
)
_PATH = re.compile(r"(?!-)[\w.+-]+(?:/[\w.+-]+)*/?(?:#[\w.-]+|:[1-9][0-9]{0,6}(?:-[1-9][0-9]{0,6})?)?")
_PLACE = re.compile(r"#.*|:[1-9][0-9]{0,6}(?:-[1-9][0-9]{0,6})?$")
_LONGEST = 500


@dataclass(frozen=True)
class AsObject:
    """A git object: `expression` is `<sha>:<path>` or `<sha>`."""

    expression: str


@dataclass(frozen=True)
class AsNumber:
    """An Issue or pull request of this repository."""

    number: int


@dataclass(frozen=True)
class Elsewhere:
    """Nothing that can be looked up in this repository."""


@dataclass(frozen=True)
class Decision:
    """One reference with what became of it. `at`: the commit it was looked up at, `object`: the git object found."""

    ref: str
    state: Literal["found", "missing", "not looked up"]
    at: str | None = None
    object: str | None = None


def meaning_of(ref: str, repository: str, work: str | None) -> AsObject | AsNumber | Elsewhere:
    """What a reference names in `repository` (`owner/name`). `work`: the commit at which a bare path is looked up."""
    text = ref.strip()
    if len(text) > _LONGEST or not text.isprintable():
        return Elsewhere()
    if address := _ADDRESS.fullmatch(text):
        return _of_address(address, repository)
    if numbered := _NUMBER.fullmatch(text):
        own = numbered["repository"] in (None, repository)
        return AsNumber(int(numbered["number"])) if own else Elsewhere()
    if _COMMIT.fullmatch(text):
        return AsObject(text)
    if pinned := _PINNED.fullmatch(text):
        return _at(pinned["sha"] or pinned["sha2"], pinned["path"] or pinned["path2"])
    looks_like_a_path = "/" in text or "." in text
    if work is not None and looks_like_a_path and _PATH.fullmatch(text):
        return _at(work, text)
    return Elsewhere()


def to_look_up(refs: Sequence[str], repository: str, work: str | None) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The git expressions and numbers that a look is to resolve, each once; of the first `MOST_DECISIONS` only."""
    meanings = [meaning_of(ref, repository, work) for ref in refs[:MOST_DECISIONS]]
    objects = dict.fromkeys(m.expression for m in meanings if isinstance(m, AsObject))
    numbers = dict.fromkeys(m.number for m in meanings if isinstance(m, AsNumber))
    return tuple(objects), tuple(numbers)


def resolved(
    refs: Sequence[str],
    repository: str,
    work: str | None,
    objects: Mapping[str, str | None],
    numbers: Mapping[int, bool],
) -> tuple[Decision, ...]:
    """Every reference with what the look found. `work` is the commit that the look was made for."""
    return tuple(_one(ref, meaning_of(ref, repository, work), objects, numbers) for ref in refs)


def _one(
    ref: str,
    meaning: AsObject | AsNumber | Elsewhere,
    objects: Mapping[str, str | None],
    numbers: Mapping[int, bool],
) -> Decision:
    match meaning:
        case AsObject(expression) if expression in objects:
            found = objects[expression]
            return Decision(ref, "found" if found else "missing", expression.partition(":")[0], found)
        case AsNumber(number) if number in numbers:
            return Decision(ref, "found" if numbers[number] else "missing")
    return Decision(ref, "not looked up")


def _of_address(address: re.Match[str], repository: str) -> AsObject | AsNumber | Elsewhere:
    if address["repository"].lower() != repository.lower():
        return Elsewhere()
    if address["number"]:
        return AsNumber(int(address["number"]))
    return AsObject(address["commit"]) if address["commit"] else _at(address["sha"], address["path"])


def _at(sha: str, path: str) -> AsObject | Elsewhere:
    # A folder is named with its slash, a place in a file with its line: the object is the same.
    parts = [part for part in _PLACE.sub("", path).rstrip("/").split("/") if part != "."]
    if not parts or ".." in parts or "" in parts:
        return Elsewhere()
    return AsObject(f"{sha}:{'/'.join(parts)}")
