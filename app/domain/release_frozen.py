"""The report on a release whose ledger cannot be trusted."""

from app.domain.release_actions import report_marker
from app.domain.report import Frozen
from app.domain.untrusted import inline

HAVE_IT_BEGUN_ANEW = "somebody with maintain looks at it, then says `/recovery recover` on the release PR"
"""What helps, where a sentence has to do; the report says more."""
_NAME_BYTES = 200


def edge_damaged(sequence: int) -> str:
    """Names a ledger in whose place something else stands. `sequence`: how far it was last seen."""
    return f"release-damaged-after-{sequence}"


def edge_moved(sequence: int) -> str:
    """Names a ledger that lies behind, or beside, what was seen of it."""
    return f"release-moved-from-{sequence}"


def edges_at(sequence: int) -> tuple[str, ...]:
    """All that a ledger may be reported as which was last seen at this sequence."""
    return edge_damaged(sequence), edge_moved(sequence)


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
        "commit back to that ref, or have the ledger begun anew: somebody with maintain says `/recovery recover` in a "
        "comment here, or the operator of the App runs `agent-recovery rebuild-release OWNER/NAME BRANCH --by LOGIN`. "
        "What stands there now is kept. After that the release is authorized anew.\n"
    )
