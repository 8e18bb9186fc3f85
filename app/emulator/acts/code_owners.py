"""CODEOWNERS: who must look at which path. The last line that fits a path decides."""

from __future__ import annotations

import re
from functools import lru_cache

from app.emulator.repos import GitRepo
from app.emulator.state import PullRequest

_PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")


def owner_groups(pull: PullRequest) -> list[tuple[str, ...]]:
    """For each changed file that has owners, their names without ``@``; one approval of each group is needed.

    The file is read from the base branch. Names that are no account here (teams, typing errors) are returned as
    they are written; the caller decides what they are worth.
    """
    git = pull.repo.git
    base = git.branch(pull.base_ref)
    rules = _rules(git, base) if base is not None else []
    if not rules or base is None:
        return []
    merge_base = git.merge_base(base, pull.head_sha) or base
    found: list[tuple[str, ...]] = []
    for delta in git.diff(merge_base, pull.head_sha).deltas:
        for path in {delta.old_file.path, delta.new_file.path}:
            owners = next((o for fits, o in reversed(rules) if fits.fullmatch(path)), ())
            if owners and owners not in found:
                found.append(owners)
    return found


def _rules(git: GitRepo, commit: str) -> list[tuple[re.Pattern[str], tuple[str, ...]]]:
    for place in _PLACES:
        blob = git.resolve(f"{commit}:{place}")
        if blob is not None and blob.type_str == "blob":
            return parse(bytes(blob.data).decode(errors="replace"))
    return []


def parse(text: str) -> list[tuple[re.Pattern[str], tuple[str, ...]]]:
    """The lines of a CODEOWNERS file as path patterns with owners; a pattern without owners frees its paths."""
    rules = []
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            rules.append((_pattern(words[0]), tuple(w.removeprefix("@") for w in words[1:])))
    return rules


@lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern[str]:
    rooted = "/" in glob.rstrip("/")
    body = glob.strip("/")
    parts = []
    for piece in re.findall(r"\*\*/|/\*\*|\*\*|\*|\?|[^*?/]+|/", body):
        parts.append(
            {"**/": "(?:.+/)?", "/**": "/.+", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece, re.escape(piece))
        )
    # A name also covers what lies below it, save for ``dir/*``, which is one level in CODEOWNERS.
    below = "/.+" if glob.endswith("/") else "" if body.endswith("/*") else "(?:/.+)?"
    return re.compile(("" if rooted else "(?:.*/)?") + "".join(parts) + below, re.S)
