import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.outcome import Blocked, Code
from app.domain.trunks import Trunk, choose_trunk, is_trunk, literal_prefixes

PATTERNS = ("release-*", "release/*")


@pytest.mark.parametrize(
    ("requested", "recorded", "existing", "expected"),
    [
        ("release-2", "release-1", ["main", "release-1", "release-2"], "release-2"),
        (None, "release-1", ["main", "release-1", "release-2"], "release-1"),
        (None, None, ["main", "release-1", "topic"], "release-1"),
        (None, None, ["release-1", "release-1"], "release-1"),
    ],
)
def test_chosen(requested: str | None, recorded: str | None, existing: list[str], expected: str) -> None:
    trunk = choose_trunk(requested, recorded, existing, PATTERNS, "main")
    assert isinstance(trunk, Trunk)
    assert trunk.name == expected
    assert trunk.because


@pytest.mark.parametrize(
    ("requested", "recorded", "existing", "reason", "remedy"),
    [
        (
            None,
            None,
            ["main", "release-1", "release/2"],
            "2 branches match",
            "--trunk NAME, one of: release-1, release/2",
        ),
        (None, None, ["main"], "no existing branch", "create the release branch"),
        ("release-9", "release-1", ["release-1"], "does not exist", "release-1"),
        ("topic", None, ["topic", "release-1"], "is no trunk", "release-1"),
        ("main", None, ["main", "release-1"], "is no trunk", "release-1"),
        (None, "release-1", ["release-2"], "does not exist", "release-2"),
        ("", None, ["release-1"], "is no trunk", "release-1"),
    ],
)
def test_unclear(requested: str | None, recorded: str | None, existing: list[str], reason: str, remedy: str) -> None:
    blocked = choose_trunk(requested, recorded, existing, PATTERNS, "main")
    assert isinstance(blocked, Blocked)
    assert blocked.code is Code.TRUNK_UNCLEAR
    assert reason in blocked.reason
    assert remedy in blocked.remedy


@pytest.mark.parametrize(
    ("name", "patterns", "expected"),
    [
        ("release/1", ["release/*"], True),
        ("release/1/hot", ["release/*"], False),
        ("release/1/hot", ["release/**"], True),
        ("release-1", ["release-?"], True),
        ("release-10", ["release-?"], False),
        ("main", ["*"], False),
        ("main", ["main"], True),
        ("releaseX1", ["release.1"], False),
        ("a[b]", ["a[b]"], True),
    ],
)
def test_patterns(name: str, patterns: list[str], expected: bool) -> None:
    assert is_trunk(name, patterns, "main") is expected


def test_no_pattern_is_slow() -> None:
    assert is_trunk("a" * 255, ["*a" * 120 + "b"], "main") is False


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["release-*", "release/*"], ("release-", "release/")),
        (["rel*", "release-*"], ("rel",)),
        (["*"], ("",)),
        (["stable"], ("stable",)),
        ([], ()),
    ],
)
def test_prefixes_to_list(patterns: list[str], expected: tuple[str, ...]) -> None:
    assert literal_prefixes(patterns) == expected


@given(st.lists(st.text("ab/*?-", min_size=1, max_size=6), max_size=4), st.text("ab/-", min_size=1, max_size=8))
def test_whatever_a_pattern_matches_begins_with_a_listed_prefix(patterns: list[str], name: str) -> None:
    if is_trunk(name, patterns, "main"):
        assert any(name.startswith(prefix) for prefix in literal_prefixes(patterns))


@pytest.mark.parametrize("name", ["ticket/7-y", "agent-recovery/active/7", "gh-readonly-queue/main/pr-1-a"])
def test_no_wildcard_makes_a_tickets_branch_a_trunk(name: str) -> None:
    assert not is_trunk(name, ["**", "ticket/*", "*/*"], "main")
    assert is_trunk(name, [name], "main")
