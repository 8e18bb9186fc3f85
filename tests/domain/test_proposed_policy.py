"""The policy that init proposes: valid whatever the repository's names are, and nothing of a stranger's unquoted."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.domain.policy import Mode, Policy
from app.domain.policy_text import read_policy
from app.domain.proposed_policy import proposed_policy

FOUND = [
    pytest.param([], (), id="no branch"),
    pytest.param(["main", "feature"], (), id="no release branch"),
    pytest.param(["main", "release-1", "release-2"], (("release-*", 2),), id="one family"),
    pytest.param(["release/1.2", "release-1"], (("release-*", 1), ("release/*", 1)), id="two families"),
    pytest.param(["release/1/2", "release"], (), id="a star stops at a slash"),
    pytest.param(["stable/4.x", "maint/3"], (("stable/*", 1), ("maint/*", 1)), id="other words for it"),
    pytest.param(["ticket/release-1"], (), id="a ticket's branch"),
]


@pytest.mark.parametrize(("branches", "trunks"), FOUND)
def test_trunks_are_what_the_branches_are_called(branches: list[str], trunks: tuple[tuple[str, int], ...]) -> None:
    made = proposed_policy(branches, (), "main")
    assert made.trunks == trunks
    policy = read_policy(made.text).policy
    assert policy is not None
    assert policy.trunks == (tuple(family for family, _ in trunks) or Policy().trunks)
    assert policy.mode is Mode.OBSERVE


def test_a_default_branch_of_the_family_is_no_trunk_by_a_pattern() -> None:
    assert proposed_policy(["release-1"], (), "release-1").trunks == ()


def test_a_likely_label_is_shown_and_not_used() -> None:
    made = proposed_policy([], ["bug", "Agent"], "main")
    policy = read_policy(made.text).policy
    assert (made.likely_label, policy and policy.enroll.label) == ("agent", None)
    assert "#   label: agent\n" in made.text


def test_the_first_line_tells_editors_where_the_schema_is() -> None:
    made = proposed_policy([], (), "main", schema_url="https://recovery.example.com/schema/policy.json")
    first = made.text.splitlines()[0]
    assert first == "# yaml-language-server: $schema=https://recovery.example.com/schema/policy.json"


@example(label="\x85", branches=[])
@example(label="a\u2028b", branches=[])
@given(label=st.text(min_size=1, max_size=255), branches=st.lists(st.text(max_size=40), max_size=5))
def test_any_label_and_any_branch_give_the_policy_that_is_meant(label: str, branches: list[str]) -> None:
    try:
        made = proposed_policy(branches, [label], "main", mode=Mode.REPAIR, label=label)
    except ValueError:
        # A label that YAML cannot carry in a quoted line is refused, never written as something else.
        return
    policy = read_policy(made.text).policy
    assert policy is not None
    assert (policy.mode, policy.enroll.label) == (Mode.REPAIR, label)
