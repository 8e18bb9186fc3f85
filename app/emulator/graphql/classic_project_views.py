"""Classic projects as GitHub answers about them since it has ended them."""

from __future__ import annotations

from typing import Any

from app.emulator.errors import GraphQLRefusal
from app.emulator.graphql.connections import connection
from app.emulator.graphql.views import View

ENDED = (
    "Projects (classic) is being deprecated in favor of the new Projects experience, see: "
    "https://github.blog/changelog/2024-05-23-sunset-notice-projects-classic/."
)


def refuse_classic(input: dict[str, Any]) -> None:
    """Refuse a mutation that puts something into classic projects; older clients send the member empty."""
    if input.get("projectIds"):
        raise GraphQLRefusal(None, ENDED)


class ClassicProjectFields(View):
    """Owners and repositories have none left: an empty list, without complaint."""

    def projects(self, info: Any, **selection: Any) -> Any:
        page = {name: selection[name] for name in ("first", "last", "after", "before") if name in selection}
        return connection("projects", [], lambda thing: thing, **page)


class ClassicCardFields(View):
    """Asking an Issue or pull request for cards is refused (cli/cli#11992, cli/cli#12640: gh before 2.80 asks)."""

    def projectCards(self, info: Any, **page: Any) -> Any:
        raise GraphQLRefusal(None, ENDED)
