"""The list of what is served is the present one."""

from tests.contract.coverage import PAGE, listed, sent_events, with_list
from tests.npm.packages import needs_packages

pytestmark = needs_packages


def test_the_page_lists_what_is_served() -> None:
    page = PAGE.read_text()
    assert page == with_list(page), "docs/emulator.md lists what was served before: run `make coverage`"


def test_every_route_has_an_operation_of_github() -> None:
    assert "none of GitHub's" not in listed()


def test_events_are_found_in_the_code() -> None:
    """Those named through a choice or a function too."""
    assert {"push", "issues", "pull_request", "ping", "installation", "fork", "check_run"} <= set(sent_events())
