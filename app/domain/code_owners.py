"""CODEOWNERS: who is asked to look at a change. GitHub's own grammar (docs.github.com, "About code owners").

The first of `.github/CODEOWNERS`, `CODEOWNERS` and `docs/CODEOWNERS` on the base branch counts. The last line whose
pattern means a file decides, and a line without owners frees the file. Patterns are those of `.gitignore`, but a name
also covers all below it save for `dir/*`, and lines with `!`, `[…]` or an escaped `#` are no rules. An owner that is an
e-mail address cannot be asked by name and is passed over.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.domain.patterns import matches

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
MOST_RULES = 1000
MOST_FILES = 300
_MOST_STARS = 8
_MOST_LOOKS = 20_000
"""Beyond these nobody is asked by the App. GitHub asks by itself when a PR becomes ready for review."""

_OWNER = re.compile(r"@([A-Za-z0-9](?:[A-Za-z0-9-]{0,38})(?:_[A-Za-z0-9]{1,10})?)(?:/([A-Za-z0-9._-]{1,100}))?")
_MOST_FOLDERS = 3


@dataclass(frozen=True)
class Owner:
    """A person, or a team of an organization."""

    login: str
    team: str | None = None

    def __str__(self) -> str:
        return self.login if self.team is None else f"{self.login}/{self.team}"


@dataclass(frozen=True)
class _Rule:
    globs: tuple[str, ...]
    owners: tuple[Owner, ...]

    def worth_a_look(self, path: str) -> tuple[str, ...]:
        """The globs whose first and last letters fit the path."""
        return tuple(glob for glob in self.globs if _may_mean(glob, path))


class _TooMuch(Exception):
    pass


def owners_of(text: str, files: Sequence[str]) -> tuple[Owner, ...]:
    """Everybody who owns one of the files, each once. Nobody where the text or the change is too large."""
    lines = text.splitlines()
    if len(lines) > MOST_RULES or len(files) > MOST_FILES:
        return ()
    rules = [rule for line in reversed(lines) if (rule := _rule(line)) is not None]
    looks = itertools.count()
    try:
        found = [owner for path in files for owner in _owners_of_one(rules, path, looks)]
    except _TooMuch:
        return ()
    return tuple({str(owner).lower(): owner for owner in found}.values())


def to_ask(
    owners: Iterable[Owner], *, organization: str, author: str | None, passed_over: Iterable[str]
) -> tuple[Owner, ...]:
    """Who of the owners can be asked: not the author, teams of the repository's own organization only, and nobody of
    `passed_over` (logins, teams as `organization/team`): who is asked, was asked before, or was taken off by a person.
    """
    not_these = {name.lower() for name in passed_over} | ({author.lower()} if author else set())
    return tuple(
        owner
        for owner in owners
        if str(owner).lower() not in not_these and (owner.team is None or owner.login.lower() == organization.lower())
    )


def _owners_of_one(newest_first: Sequence[_Rule], path: str, looks: Iterator[int]) -> tuple[Owner, ...]:
    for rule in newest_first:
        for glob in rule.worth_a_look(path):
            if next(looks) > _MOST_LOOKS:
                raise _TooMuch
            if matches(glob, path):
                return rule.owners
    return ()


def _rule(line: str) -> _Rule | None:
    words = re.findall(r"(?:\\.|[^\\\s])+", line)
    if not words or words[0].startswith(("#", "!", "\\#")) or "[" in words[0]:
        return None
    if len(re.findall(r"\*+", words[0])) > _MOST_STARS:
        return None
    owners = []
    for word in words[1:]:
        if word.startswith("#"):
            break
        if named := _OWNER.fullmatch(word):
            owners.append(Owner(named[1], named[2]))
    return _Rule(_globs(re.sub(r"\\(.)", r"\1", words[0])), tuple(owners))


def _globs(pattern: str) -> tuple[str, ...]:
    """The pattern as globs that begin at the repository's root."""
    rooted = "/" in pattern.rstrip("/")
    # As in git, several stars that stand for no whole folder are one.
    names = [n if n == "**" else re.sub(r"\*{2,}", "*", n) for n in pattern.split("/") if n]
    body = "/".join(names)
    if pattern.endswith("/"):
        below: tuple[str, ...] = ("/**",)
    else:
        below = ("",) if pattern.endswith(("/*", "/**")) else ("", "/**")
    above = ("",) if rooted else ("", "**/")
    return tuple(f"{start}{form}{end}" for form in _folders(body) for start in above for end in below)


def _folders(body: str) -> tuple[str, ...]:
    """`**/` means any number of folders, none included."""
    if body.count("**/") > _MOST_FOLDERS:
        return (body,)
    forms = [""]
    for part in re.split(r"(\*\*/)", body):
        forms = [f + p for f in forms for p in (("**/", "") if part == "**/" else (part,))]
    return tuple(forms)


def _may_mean(glob: str, path: str) -> bool:
    literal = re.split(r"[*?]+", glob)
    return path.startswith(literal[0]) and path.endswith(literal[-1])
