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


@pytest.mark.parametrize(
    ("branch", "leaf"),
    [
        ("release-1-2-0", "release-1-2-0"),
        ("release/1.2", "release%2F1.2"),
        ("100%/ü@{0}#", "100%25%2F%C3%BC%40%7B0%7D%23"),
    ],
)
def test_a_release_has_one_ref_from_which_its_branch_is_read_back(branch: str, leaf: str) -> None:
    refs = LedgerRefs()
    assert refs.release(branch) == f"refs/agent-recovery/releases/{leaf}"
    assert refs.branch_of(refs.release(branch)) == branch
    assert refs.recovered_release(branch, "a" * 40) == f"refs/agent-recovery/recovered/release.{leaf}/{'a' * 40}"


def test_long_names_are_cut_and_told_apart_and_other_refs_are_no_releases() -> None:
    refs = LedgerRefs()
    names = [refs.release("release-" + "ü" * 100 + end) for end in "abc"]
    assert len(set(names)) == 3
    assert all(len(name) <= len(refs.releases_prefix) + 180 for name in names)
    strange = ("refs/agent-recovery/active/42", "refs/agent-recovery/releases/", "refs/agent-recovery/releases/a/b")
    for ref in (*names, *strange, "refs/agent-recovery/releases/a%2", "refs/agent-recovery/releases/%61"):
        assert refs.branch_of(ref) is None, ref
