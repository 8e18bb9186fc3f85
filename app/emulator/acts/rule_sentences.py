"""GitHub's sentences about broken rules, and the forms in which merges, REST and pushes carry them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

RULES_HEAD = "Repository rule violations found"
CREATE = "Cannot create ref due to creations being restricted."
UPDATE = "Cannot update this protected ref."
DELETE = "Cannot delete this protected ref."
DELETE_BRANCH = "Cannot delete this branch"
FORCE = "Cannot force-push to this branch"
LINEAR = "This branch must not contain merge commits."
SIGNED = "Commits must have verified signatures."
BY_PULL = "Changes must be made through a pull request."
METHODS = {"merge": "Merge commits", "squash": "Squash merges", "rebase": "Rebase merges"}
THROUGH_QUEUE = "Changes must be made through the merge queue"
LOCKED = "Cannot change this locked branch"
NOT_AUTHORIZED = (
    "You're not authorized to push to this branch. "
    "Visit https://docs.github.com/articles/about-protected-branches/ for more information."
)


@dataclass(frozen=True)
class Violations:
    """The sentences about one ref: those of rulesets and those of classic protection."""

    ref: str
    rules: tuple[str, ...] = ()
    classic: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """All sentences, each once."""
        return list(dict.fromkeys([*self.classic, *self.rules]))

    @property
    def message(self) -> str:
        """The message of a REST answer (405 for a merge, 422 for a ref, 409 for contents)."""
        if self.rules:
            return "\n\n".join([RULES_HEAD, *self.rules]) + "\n\n"
        return " ".join(self.classic)

    def push_text(self, web: str) -> str:
        """What a push prints behind ``remote:``; ``web`` is the repository's address."""
        if self.rules:
            head = [
                f"error: GH013: {RULES_HEAD} for {self.ref}.",
                f"Review all repository rules at {web}/rules?ref={quote(self.ref, safe='')}",
            ]
        else:
            head = [f"error: GH006: Protected branch update failed for {self.ref}."]
        lines = [*head, "", *(f"- {s}" for s in self.rules or self.classic), ""]
        return "\n".join(lines) + "\n"

    @property
    def bypass_text(self) -> str:
        """What a push prints that was free to bypass these."""
        return (
            "\n".join([f"Bypassed rule violations for {self.ref}:", "", *(f"- {s}" for s in self.sentences), ""]) + "\n"
        )

    @property
    def push_reason(self) -> str:
        """What a push reports for the ref."""
        return "push declined due to repository rule violations" if self.rules else "protected branch hook declined"
