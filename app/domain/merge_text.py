"""What the App writes into a merge commit: numbers and our own words.

Nothing that anybody else wrote stands in it: no title, no branch, no login. So nothing in it can close an Issue, skip
a workflow, name a co-author or forge a line. Both texts are always sent, because GitHub fills an empty one with the
commits' own messages.
"""

from dataclasses import dataclass

from app.domain.landing_evidence import Method
from app.domain.pull_class import TicketPull


@dataclass(frozen=True)
class MergeText:
    """One line, and the message below it. Both are empty for a rebase, which keeps the commits as they are."""

    title: str
    message: str


def merge_text(pull: TicketPull, method: Method, generation: int) -> MergeText:
    """The texts for landing this pull request."""
    if method == "rebase":
        return MergeText("", "")
    title = f"Land ticket #{pull.ticket} (PR #{pull.number})"
    message = f"The commit {pull.head_sha}, published under generation {generation}, was landed by Agent Recovery."
    return MergeText(title, message)
