"""What stands in the way of a merge or of a direct change to a guarded branch or tag, in GitHub's sentences.

Rulesets and classic protection hold at the same time and the strictest wins. Both are asked here and nowhere else:
by merges (:func:`merge_refusal`), by what shows a pull request's state (:func:`merge_blockers`), and by everything
that writes refs (:func:`ref_violations`).
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from app.emulator.repos import RefChange
from app.emulator.state import Actor, PullRequest, Repository
from app.emulator.world import World

RULES_HEAD = "Repository rule violations found"


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
    def push_reason(self) -> str:
        """What a push reports for the ref."""
        return "push declined due to repository rule violations" if self.rules else "protected branch hook declined"


def merge_blockers(
    world: World, repo: Repository, pull: PullRequest, actor: Actor | None, method: str | None = None
) -> list[str]:
    """GitHub's sentences against merging; empty when nothing is in the way.

    ``actor`` None asks for somebody who may bypass nothing, as ``mergeStateStatus`` is computed. ``method`` None
    leaves out what depends on how it is merged.
    """
    return merge_violations(world, repo, pull, actor, method).sentences


def merge_refusal(
    world: World, repo: Repository, pull: PullRequest, actor: Actor, method: str | None = None
) -> str | None:
    """The whole message of the 405 that a merge of this pull request is answered with, or None."""
    return merge_violations(world, repo, pull, actor, method).message or None


def merge_violations(
    world: World, repo: Repository, pull: PullRequest, actor: Actor | None, method: str | None = None
) -> Violations:
    """What merging would violate; see :func:`merge_blockers`."""
    return Violations(f"refs/heads/{pull.base_ref}")


def protection_state(world: World, pull: PullRequest) -> str:
    """What protection makes of a mergeable pull request's state: ``blocked``, ``behind``, ``unstable``, ``clean``."""
    return "blocked" if merge_blockers(world, pull.repo, pull, None) else "clean"


def ref_violations(world: World, repo: Repository, change: RefChange, actor: Actor) -> Violations | None:
    """What a direct change to a ref (push, REST, ``updateRefs``, a commit by API) would violate, or None.

    ``change.old`` must be the present value; the new object must be in the repository.
    """
    return None
