"""Names of refs, as far as they get in each other's way."""

import pytest

from app.domain.refs import LedgerRefs, names_above


@pytest.mark.parametrize(
    ("ref", "above"),
    [
        (LedgerRefs().active(42), ("refs/agent-recovery/active",)),
        (
            LedgerRefs().recovered(42, "a" * 40),
            ("refs/agent-recovery/recovered", "refs/agent-recovery/recovered/42"),
        ),
        ("refs/heads/main", ()),
        ("refs/heads/ticket/42-x", ("refs/heads/ticket",)),
    ],
)
def test_what_leaves_no_room(ref: str, above: tuple[str, ...]) -> None:
    assert names_above(ref) == above
