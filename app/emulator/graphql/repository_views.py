"""Repositories beside Issues, pull requests and git: what they are, who may be named in them, lists of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.emulator.acts.assignees import assignable
from app.emulator.graphql.classic_project_views import ClassicProjectFields
from app.emulator.graphql.connections import connection
from app.emulator.graphql.issue_link_views import MilestoneView
from app.emulator.graphql.views import View, view, viewer_of
from app.emulator.state import Account, Issue, Milestone, Repository

_HAS = ("hasIssuesEnabled", "hasProjectsEnabled", "hasWikiEnabled", "isBlankIssuesEnabled")
_HAS_NOT = ("hasDiscussionsEnabled", "isLocked", "isMirror", "isTemplate")


class RepositoryFields(ClassicProjectFields):
    """What a repository says of itself and whom it knows."""

    thing: Repository

    def about(self) -> None:
        """Set the plain fields."""
        repo = self.thing
        for name in _HAS:
            setattr(self, name, True)
        for name in _HAS_NOT:
            setattr(self, name, False)
        self.description, self.homepageUrl, self.mirrorUrl = repo.description, None, None
        self.isInOrganization = repo.owner.type == "Organization"
        self.sshUrl = f"git@github.com:{repo.full_name}.git"
        self.stargazerCount = 0
        self.updatedAt = repo.pushed_at

    @property
    def viewerCanAdminister(self) -> bool:
        return self.request.identity.allows(self.thing, "administration", "write")

    @property
    def viewerDefaultCommitEmail(self) -> str | None:
        user = self.request.identity.user
        return user.email if user is not None else None

    def watchers(self, info: Any, **page: Any) -> Any:
        return connection("watchers", [], viewer_of(self.request), **page)

    def _people(self, query: str | None) -> list[Account]:
        accounts = self.request.world.accounts.values()
        found = [a for a in accounts if a.type == "User" and assignable(self.thing, a)]
        return [a for a in found if not query or query.lower() in a.login.lower()]

    def assignableUsers(self, info: Any, query: str | None = None, **page: Any) -> Any:
        return connection("assignableUsers", self._people(query), viewer_of(self.request), **page)

    def mentionableUsers(self, info: Any, query: str | None = None, **page: Any) -> Any:
        return connection("mentionableUsers", self._people(query), viewer_of(self.request), **page)

    def suggestedActors(
        self,
        info: Any,
        capabilities: Sequence[str],
        query: str | None = None,
        loginNames: str | None = None,
        **page: Any,
    ) -> Any:
        found = self._people(query)
        if loginNames:
            wanted = loginNames.lower().split(",")
            found = [a for a in found if a.login.lower() in wanted]
        return connection("suggestedActors", found, viewer_of(self.request), **page)

    def issueTypes(self, info: Any, orderBy: dict[str, Any] | None = None, **page: Any) -> Any:
        return connection("issueTypes", [], viewer_of(self.request), **page)

    def milestone(self, info: Any, number: int) -> Any:
        found = self.thing.milestones.get(number)
        return self._milestone(found) if found is not None else None

    def milestones(
        self,
        info: Any,
        states: Sequence[str] | None = None,
        query: str | None = None,
        orderBy: dict[str, Any] | None = None,
        **page: Any,
    ) -> Any:
        found = [m for m in self.thing.milestones.values() if states is None or m.state.upper() in states]
        found = [m for m in found if not query or query.lower() in m.title.lower()]
        if (orderBy or {}).get("field") == "DUE_DATE":
            found.sort(key=lambda m: (m.due_on is None, m.due_on or "", m.number))
        if (orderBy or {}).get("direction") == "DESC":
            found.reverse()
        return connection("milestones", found, self._milestone, **page)

    def _milestone(self, milestone: Milestone) -> Any:
        return MilestoneView(self.request, milestone, self.thing)


class RepositoryListFields(View):
    """The repositories of an account."""

    thing: Account

    def repositories(
        self,
        info: Any,
        *,
        affiliations: Sequence[str] | None = None,
        ownerAffiliations: Sequence[str] | None = None,
        hasIssuesEnabled: bool | None = None,
        isArchived: bool | None = None,
        isFork: bool | None = None,
        isLocked: bool | None = None,
        privacy: str | None = None,
        visibility: str | None = None,
        orderBy: dict[str, Any] | None = None,
        **page: Any,
    ) -> Any:
        """Those it owns, and those it works in when ``ownerAffiliations`` asks for them."""
        kinds = ownerAffiliations if ownerAffiliations is not None else ("OWNER", "COLLABORATOR")
        wanted = [r for r in self.request.world.repos.values() if self.request.identity.sees(r)]
        login = self.thing.login.lower()
        wanted = [
            r
            for r in wanted
            if (r.owner is self.thing and "OWNER" in kinds) or (login in r.collaborators and "COLLABORATOR" in kinds)
        ]
        if isLocked or hasIssuesEnabled is False:
            wanted = []  # no repository of the emulator is locked or has its Issues switched off
        private = {"PRIVATE": True, "PUBLIC": False}.get(privacy or visibility or "")
        for chosen, value in (
            (isArchived, lambda r: r.archived),
            (isFork, lambda r: r.parent is not None),
            (private, lambda r: r.private),
        ):
            if chosen is not None:
                wanted = [r for r in wanted if value(r) == chosen]
        keys = {
            "NAME": lambda r: r.name.lower(),
            "PUSHED_AT": lambda r: r.pushed_at,
            "UPDATED_AT": lambda r: r.pushed_at,
        }
        if orderBy is not None:
            wanted.sort(key=keys.get(orderBy["field"], lambda r: r.id), reverse=orderBy["direction"] == "DESC")
        return connection("repositories", wanted, viewer_of(self.request), **page) | {"totalDiskUsage": 0}


class AssignableFields(View):
    """Assignees under the name that also covers agents, and the type of an Issue."""

    thing: Issue

    @property
    def issueType(self) -> None:
        return None

    def assignedActors(self, info: Any, **page: Any) -> Any:
        return connection("assignedActors", self.thing.assignees, viewer_of(self.request), **page)

    def suggestedActors(self, info: Any, query: str | None = None, **page: Any) -> Any:
        people: RepositoryFields = view(self.request, self.thing.repo)
        return connection("suggestedActors", people._people(query), viewer_of(self.request), **page)
