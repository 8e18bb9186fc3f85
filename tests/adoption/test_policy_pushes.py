"""A push that changes the policy file brings the repository to be looked at, whosever branch it is."""

from typing import Any

import pytest

from app.domain.policy import PATH
from app.service.events import Poked, keys_of

REPO = {"full_name": "acme/shop", "default_branch": "main"}
TICKET, WHOLE = "acme/shop#42", "acme/shop"

PUSHES = [
    pytest.param("ticket/42-x", [{"modified": [PATH]}], (TICKET, WHOLE), id="a ticket's branch"),
    pytest.param("ticket/42-x", [{"added": ["a"]}, {"removed": [PATH]}], (TICKET, WHOLE), id="deleted in a later one"),
    pytest.param("ticket/42-x", [{"modified": ["README.md"]}], (TICKET,), id="another file"),
    pytest.param("ticket/42-x", [{"modified": [f"docs/{PATH}"]}], (TICKET,), id="a file of that name elsewhere"),
    pytest.param("topic", [{"added": [PATH]}], (WHOLE,), id="a branch of nobody"),
    pytest.param("main", [{"modified": [PATH]}], (WHOLE,), id="the default branch"),
    pytest.param("agent-recovery/init", [{"added": [PATH]}], (), id="our own proposal"),
    pytest.param("ticket/42-x", None, (TICKET,), id="no list of commits"),
    pytest.param("ticket/42-x", [None, 3, {"added": PATH}, {"added": None}], (TICKET,), id="a list of other things"),
]


@pytest.mark.parametrize(("branch", "commits", "keys"), PUSHES)
def test_what_a_push_pokes(branch: str, commits: Any, keys: tuple[str, ...]) -> None:
    payload = {"ref": f"refs/heads/{branch}", "commits": commits, "repository": REPO}
    routed = keys_of("push", payload, own_app_id=1)
    assert (routed.keys if isinstance(routed, Poked) else ()) == keys
