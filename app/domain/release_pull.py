"""The words of a release PR: a title of numbers and the branch, and a list of the included Issues in the body.

Both are brought up to date in place. What people write around the list stays, and so does a title of their own. Titles
of Issues and names of branches are strangers' text: they close, mention and skip nothing, here and where GitHub copies
them into a commit's message.
"""

import re
from collections.abc import Sequence

from app.domain.plain_text import one_line, shorten
from app.domain.release_observation import Included, ReleaseObservation, ReleasePull
from app.domain.untrusted import as_title, inline

_BEGIN = "<!-- agent-recovery:release -->"
_END = "<!-- /agent-recovery:release -->"
_BLOCK = re.compile(re.escape(_BEGIN) + r".*?" + re.escape(_END), re.DOTALL)
MOST_LISTED = 200
MOST_IN_TITLE = 5
_BRANCH_BYTES = 120
_TITLE_BYTES = 120
_LONGEST = 65_000
"""GitHub takes 65,536 characters."""
_LIST_LONGEST = 30_000


def title_of(observation: ReleaseObservation) -> str:
    """`Release release-1-2-0 with #41, #42 and 3 more`. "with" keeps the branch's name from standing right before a
    number: a branch may be called like a word that closes Issues.
    """
    numbers = [f"#{one.number}" for one in _listed(observation.included)]
    if not numbers:
        return _prefix(observation.branch)
    more = len(numbers) - MOST_IN_TITLE
    some = " and more" if observation.included_more else f" and {more} more" if more > 0 else ""
    return f"{_prefix(observation.branch)} with {', '.join(numbers[:MOST_IN_TITLE])}{some}"


def block_of(observation: ReleaseObservation) -> str:
    """What the App keeps up to date in the body, between two markers."""
    into = inline(observation.into_name, _BRANCH_BYTES)
    listed = _listed(observation.included)
    lines = [
        _BEGIN,
        f"Brings {inline(observation.branch, _BRANCH_BYTES)} into {into}. Only a person's word for exactly one commit "
        "lets it through.",
        "",
    ]
    if not listed:
        lines.append("No ticket is known to be in it.")
    else:
        told = _told(listed)
        lines += ["Included:", "", *told]
        more = len(listed) - len(told)
        if more > 0 or observation.included_more:
            lines.append(f"- and {f'{more} more' if more > 0 else 'more'}")
    return "\n".join([*lines, _END])


def body_with(body: str, observation: ReleaseObservation) -> str:
    """A body with the block brought up to date: in its place where it stands, before everything else where it does not.
    What is not the block stays byte for byte; where both together are too long for GitHub nothing is changed.
    """
    block = block_of(observation)
    found = _BLOCK.search(body)
    if found is not None and found[0].replace("\r\n", "\n") == block:
        return body
    if found is not None:
        changed = f"{body[: found.start()]}{block}{body[found.end() :]}"
    else:
        changed = f"{block}\n\n{body}" if body.strip() else f"{block}\n"
    return changed if len(changed) <= _LONGEST else body


def changed_text(pull: ReleasePull, observation: ReleaseObservation) -> tuple[str | None, str | None]:
    """The title and the body that the PR is to get; None for what stays. A title that does not begin as ours do is a
    person's own.
    """
    title, body = title_of(observation), body_with(pull.body, observation)
    ours = pull.title == _prefix(observation.branch) or pull.title.startswith(f"{_prefix(observation.branch)} with #")
    return (title if ours and pull.title != title else None), (body if body != pull.body else None)


def _prefix(branch: str) -> str:
    return f"Release {as_title(shorten(one_line(branch), _BRANCH_BYTES)[0], _BRANCH_BYTES)}"


def _told(listed: Sequence[Included]) -> list[str]:
    """A line for each ticket, as many as there is room for: what is made harmless grows by that."""
    lines: list[str] = []
    room = _LIST_LONGEST
    for one in listed[:MOST_LISTED]:
        line = f"- #{one.number} {inline(one.title, _TITLE_BYTES)}".rstrip()
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    return lines


def _listed(included: Sequence[Included]) -> list[Included]:
    return sorted({one.number: one for one in included}.values(), key=lambda one: one.number)
