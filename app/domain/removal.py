"""What `agent-recovery uninstall` would take away from a repository, what it leaves, and what stands in its way."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.refs import BRANCH_NAMESPACE, DEFAULT_NAMESPACE

PLACES = ("active", "done", "results", "recovered", "releases")
NAMESPACES = (DEFAULT_NAMESPACE, BRANCH_NAMESPACE)


@dataclass(frozen=True)
class Removal:
    """`rulesets`, `comments`, `check_runs` and `refs` are to go, in this order. `held`: tickets with a living lease, in
    words. `in_the_way`: rulesets of others that require our check. `kept_work`: foreign commits that the App had set
    aside and that nothing else may hold. `left`: what stays, each with its reason.
    """

    repository: str
    rulesets: Sequence[str]
    comments: int
    check_runs: int
    refs: int
    held: Sequence[str] = ()
    in_the_way: Sequence[str] = ()
    kept_work: Sequence[str] = ()
    left: Sequence[str] = ()

    @property
    def is_nothing(self) -> bool:
        return not (self.rulesets or self.comments or self.check_runs or self.refs)

    @property
    def refusal(self) -> str | None:
        """Why it is not done without a person's `--force`; None where nothing stands against it."""
        if self.held:
            return f"somebody is at work: {'; '.join(self.held)}"
        if self.in_the_way:
            return f"these rulesets require a check that nobody would give any more: {', '.join(self.in_the_way)}"
        return None


def is_ledger_ref(name: str) -> bool:
    """Whether a ref (full name) lies where only the App's ledgers do."""
    return any(name.startswith(f"{namespace}/{place}/") for namespace in NAMESPACES for place in PLACES)


def kept_work(refs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Of refs (name, SHA), the commits that were set aside."""
    kept = tuple(f"{namespace}/recovered/" for namespace in NAMESPACES)
    return tuple(sha for name, sha in refs if name.startswith(kept))
