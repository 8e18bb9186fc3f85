"""Step 5 and criterion 5 of a recovery: the release branch's difference to the base of releases, and its Draft PR.

Read only. Without a difference no PR is needed; with the first one a PR must exist, which the App opens and keeps in
the release's own round (`release_decide.py`). Nothing here merges a release, and nothing that is read here permits it.
"""

from typing import Any

from app.domain.policy import Mode
from app.domain.recovery_view import Found, RecoveryView, Verdict
from app.domain.surroundings import OtherPull


def found(view: RecoveryView) -> Found:
    """Step 5: the trunk against the base of releases, and the PR between them."""
    met, reason = judged(view)
    around = view.observation.around
    is_child = view.record is not None and view.record.child is not None
    if view.work is None or is_child or around.into is None or around.into.name == view.work.trunk:
        return ("not_applicable" if met is None else "blocked"), reason, {}
    over, pulls = around.trunk_over_into, _pulls(view)
    evidence: dict[str, Any] = {
        "trunk": view.work.trunk,
        "into": around.into.name,
        "into_sha": around.into.sha,
        "ahead": over.ahead if over else None,
        "behind": over.behind if over else None,
        "pulls": [{"number": p.number, "draft": p.is_draft, "changed_files": p.changed_files} for p in pulls],
    }
    return ("pending" if met is False else "done"), f"{reason}; nothing is merged here", evidence


def judged(view: RecoveryView) -> Verdict:
    """Criterion 5: no difference and no PR needed, or a difference with its PR, which nothing merges by itself."""
    around, work = view.observation.around, view.work
    if work is None:
        return None, "the trunk is chosen by the first claim"
    if view.record is not None and view.record.child is not None:
        return None, "does not apply: a child's work goes to its parent's branch"
    base = around.asked.into or view.observation.default_branch
    if work.trunk == base:
        return None, f"does not apply: the ticket lands on {base} itself, the base of releases"
    if around.into is None:
        return False, f"the base of releases, {base}, was not found"
    over = around.trunk_over_into
    if over is None:
        return None, f"GitHub does not say how {work.trunk} stands to {base}"
    pulls = _pulls(view)
    queued = [p for p in pulls if p.auto_merge]
    if queued:
        off = "the App turns it off, unless its commit is authorized" if _writes(view) else "a person turns it off"
        return False, f"release PR #{queued[0].number} would merge by itself: auto-merge is on; {off}"
    if _no_difference(view):
        return True, f"{work.trunk} brings no file over {base}, so no release PR is needed"
    if not pulls:
        who = "the App opens its draft" if _writes(view) else "a person opens a draft"
        return False, f"{work.trunk} is {over.ahead} commits over {base} and has no release PR; {who}"
    pull = pulls[0]
    kind = "draft" if pull.is_draft else "ready, and merged only at a person's word for exactly its commit"
    return True, f"{work.trunk} is {over.ahead} commits over {base}; release PR #{pull.number} is open ({kind})"


def _writes(view: RecoveryView) -> bool:
    return view.policy is not None and view.policy.mode is not Mode.OBSERVE


def _no_difference(view: RecoveryView) -> bool:
    # Files decide, not commits: an empty commit brings nothing. Behind the base, equal trees say the same.
    around = view.observation.around
    over = around.trunk_over_into
    if over is not None and over.ahead == 0:
        return True
    return around.trunk_tree is not None and around.into is not None and around.trunk_tree == around.into.tree


def _pulls(view: RecoveryView) -> list[OtherPull]:
    into = view.observation.around.into
    return [p for p in view.observation.around.release_pulls if p.own_repository and into and p.base == into.name]
