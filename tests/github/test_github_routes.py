"""Branch names in paths: quoted once, slashes kept, and no way out of the route."""

import json
from pathlib import Path

import httpx
import pytest

from app.github.routes import path

CASES = json.loads((Path(__file__).parent.parent / "fixtures" / "branch_names_in_urls.json").read_text())
BRANCHES = {case["name"]: case["branch"] for case in CASES["input"]["cases"] if "branch" in case}
EXPECTED = CASES["expected"]["cases"]


@pytest.mark.parametrize("name", ["hash", "percent", "slash", "plus_at", "amp_eq", "unicode"])
def test_a_branch_is_quoted_once_and_its_slashes_stay(name: str) -> None:
    assert path("/git/ref/heads/{+branch}", {"branch": BRANCHES[name]}) == EXPECTED[name]["path"]


def test_a_branch_is_deleted_by_its_exact_name() -> None:
    expected = EXPECTED["delete_is_exact"]
    asked = "DELETE " + path("/git/refs/heads/{+branch}", {"branch": BRANCHES["delete_is_exact"]})
    assert asked == expected["request"] != expected["never"]


def test_in_a_query_all_of_a_branch_is_quoted() -> None:
    expected = EXPECTED["query_use"]
    url = httpx.URL("/pulls", params={"head": f"octo-org:{BRANCHES['query_use']}"})
    assert expected["where"] == "query value: encode all, slash too"
    assert str(url) == expected["path"]


def test_what_is_not_a_ref_is_one_segment() -> None:
    assert path("/repos/{owner}/{repo}", {"owner": "a/b?", "repo": "c#d"}) == "/repos/a%2Fb%3F/c%23d"


@pytest.mark.parametrize("value", ["", ".", "..", "../../user", "a/../b", "a/./b"])
def test_a_value_cannot_climb(value: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in a path"):
        path("/repos/o/r/git/ref/heads/{+branch}", {"branch": value})
