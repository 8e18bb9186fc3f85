"""Reactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.emulator.graphql.connections import connection
from app.emulator.graphql.views import View, shows, view
from app.emulator.guard_state import Review
from app.emulator.ids import node_id
from app.emulator.routing import Request
from app.emulator.state import Comment, Issue, Reaction

# ``ReactionContent`` and the words REST has for it.
CONTENT_OF = {
    "THUMBS_UP": "+1",
    "THUMBS_DOWN": "-1",
    "LAUGH": "laugh",
    "HOORAY": "hooray",
    "CONFUSED": "confused",
    "HEART": "heart",
    "ROCKET": "rocket",
    "EYES": "eyes",
}
Reacted = Issue | Comment | Review
_NAME_OF = {word: name for name, word in CONTENT_OF.items()}


@dataclass(frozen=True)
class ReactionThing:
    """A reaction together with what it is on."""

    target: Reacted
    reaction: Reaction


@shows(ReactionThing)
class ReactionView(View):
    """A reaction."""

    thing: ReactionThing
    __typename = "Reaction"

    def __init__(self, request: Any, thing: ReactionThing) -> None:
        super().__init__(request, thing)
        self.id, self.databaseId = node_id("REA", thing.reaction.id), thing.reaction.id
        self.content, self.createdAt = _NAME_OF[thing.reaction.content], thing.reaction.created_at

    @property
    def user(self) -> Any:
        user = self.thing.reaction.user
        return view(self.request, user) if user.type == "User" else None

    @property
    def reactable(self) -> Any:
        return view(self.request, self.thing.target)


def reactions(request: Request, target: Reacted, content: str | None, page: dict[str, Any]) -> Any:
    """The ``reactions`` connection of an Issue or comment."""
    listed = [r for r in target.reactions if content is None or r.content == CONTENT_OF[content]]
    shown = connection("reactions", listed, lambda r: view(request, ReactionThing(target, r)), **page)
    return shown | {"viewerHasReacted": any(r.user is request.identity.account for r in listed)}


def reaction_groups(request: Request, target: Reacted) -> list[dict[str, Any]]:
    """How often each reaction was given; all of them are listed, as GitHub does."""
    groups = []
    for name, word in CONTENT_OF.items():
        given = [r for r in target.reactions if r.content == word]
        own = [r for r in given if r.user is request.identity.account]
        groups.append(
            {
                "content": name,
                "createdAt": given[0].created_at if given else None,
                "subject": view(request, target),
                "viewerHasReacted": bool(own),
                "reactors": lambda info, _given=given, **page: connection(
                    "reactors", [r.user for r in _given], lambda a: view(request, a), **page
                ),
                "users": lambda info, _given=given, **page: connection(
                    "users",
                    [r.user for r in _given if r.user.type == "User"],
                    lambda a: view(request, a),
                    **page,
                ),
            }
        )
    return groups
