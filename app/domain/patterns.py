"""The patterns a policy is written with: for branches (`trunks`) and for files (`protected_paths`).

One grammar for both. For files a few habits of other tools hold besides, each of them on the side of more protection:
a pattern without a slash means a file of that name in any folder, a folder's pattern means the folder's own name too
(it may be replaced by a link), and case does not count, because on many machines it does not count for files.
"""

import re
from collections.abc import Iterable, Sequence


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern means this name: `**` crosses slashes, `*` and `?` do not, anything else is literal."""
    # A set of positions instead of a regular expression: the patterns are a stranger's, and no pattern may make this
    # slow.
    reached = {0}
    for part in re.findall(r"\*+|[^*]", pattern):
        if part.startswith("*"):
            reached = _stretched(name, reached, crosses=len(part) > 1)
        else:
            reached = {at + 1 for at in reached if at < len(name) and _is(part, name[at])}
    return len(name) in reached


def _stretched(name: str, reached: set[int], *, crosses: bool) -> set[int]:
    """Where a star leads from these positions; each position is looked at once, however many lead to it."""
    ends: set[int] = set()
    covered = -1
    for start in sorted(reached):
        slash = -1 if crosses else name.find("/", start)
        end = len(name) if slash < 0 else slash
        ends.update(range(max(start, covered + 1), end + 1))
        covered = max(covered, end)
    return ends


def _is(part: str, character: str) -> bool:
    return character != "/" if part == "?" else part == character


def protected(files: Iterable[str], patterns: Sequence[str]) -> tuple[str, ...]:
    """The files that one of the policy's patterns means, in the order given."""
    wanted = tuple(dict.fromkeys(p for pattern in patterns for p in _of_files(pattern)))
    return tuple(file for file in files if any(matches(pattern, file.casefold()) for pattern in wanted))


def _of_files(pattern: str) -> tuple[str, ...]:
    """What a pattern for files stands for, as patterns that begin at the repository's root."""
    whole = pattern.casefold().removeprefix("./")
    if whole.endswith("/"):
        whole += "**"
    rooted = whole.startswith("/")
    whole = whole.lstrip("/")
    folder = whole.removesuffix("/**")
    forms = [whole, folder]
    if "/" not in whole and not rooted:
        forms.append(f"**/{whole}")
    # As in git, `**/` means no folder at all too.
    forms += [form.removeprefix("**/") for form in forms if form.startswith("**/")]
    return tuple(form for form in forms if form)
