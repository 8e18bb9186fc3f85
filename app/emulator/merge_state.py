"""What GitHub says about whether a pull request can be merged."""

from app.emulator.state import PullRequest


def mergeability_key(pull: PullRequest) -> tuple[str, str]:
    """What a computed mergeability holds for: these two commits and no others."""
    return pull.head_sha, pull.repo.git.branch(pull.base_ref) or ""


def mergeable_state(pull: PullRequest, mergeable: bool | None) -> str:
    """``mergeable_state`` for a known or unknown mergeability."""
    if mergeable is None:
        return "unknown"
    if not mergeable:
        return "dirty"
    return "draft" if pull.draft else "clean"
