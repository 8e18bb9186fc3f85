"""The report on a release whose ledger cannot be trusted."""

from app.domain.release_actions import report_marker
from app.domain.report import Frozen
from app.domain.untrusted import inline

_NAME_BYTES = 200


def frozen_release_report(branch: str, frozen: Frozen) -> str:
    """One report on the release PR: what was seen, what it means, what a person can do."""
    name = inline(branch, _NAME_BYTES)
    return (
        f"{report_marker(frozen.edge)}\n"
        f"**Agent Recovery has stopped acting on the release {name}.** {frozen.reason}\n\n"
        f"- Seen now: {inline(frozen.found, _NAME_BYTES)}\n- Expected: {inline(frozen.expected, _NAME_BYTES)}\n\n"
        "Nothing is authorized, the release check is red, and nothing is put back by itself: what was authorized "
        "cannot be trusted until a person has looked. Find out who moved the ref under "
        "`refs/agent-recovery/releases/` (it needs write access to the repository). Then either push the expected "
        "commit back to that ref, or let the "
        "operator of the App begin the ledger anew: `agent-recovery rebuild-release OWNER/NAME --branch BRANCH "
        "--by LOGIN`. After that the release is authorized anew.\n"
    )
