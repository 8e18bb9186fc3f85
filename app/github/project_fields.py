"""Writing a field of an Issue in an organization's Project. An App reaches no Project of a person."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import Field

from app.domain.model import Message
from app.github.access import RepositoryAccess
from app.github.errors import Forbidden, GraphQLFailed, NotFound
from app.github.shapes import read
from app.github.wire import Call

_FIND = """
query ProjectField($owner: String!, $name: String!, $number: Int!, $field: String!) {
  repository(owner: $owner, name: $name) {
    databaseId
    issue(number: $number) {
      projectItems(first: 50, includeArchived: false) {
        nodes {
          id
          project {
            id number
            owner { ... on Organization { login } ... on User { login } }
            field(name: $field) {
              __typename
              ... on ProjectV2Field { id name dataType }
              ... on ProjectV2SingleSelectField { id name dataType options { id name } }
              ... on ProjectV2IterationField {
                id name dataType
                configuration { iterations { id title } completedIterations { id title } }
              }
            }
          }
        }
      }
    }
  }
}
"""
_SET = """
mutation SetProjectField($project: ID!, $item: ID!, $field: ID!, $value: ProjectV2FieldValue!) {
  updateProjectV2ItemFieldValue(input: {projectId: $project, itemId: $item, fieldId: $field, value: $value}) {
    clientMutationId
  }
}
"""


class FieldRefusal(StrEnum):
    """Why a field of a Project was not written."""

    NO_ITEM = "no_item"
    """The Issue is not in that Project, or the App does not see the Project."""
    NO_FIELD = "no_field"
    NO_OPTION = "no_option"
    """The field has no such option or iteration; none is ever invented."""
    NOT_WRITABLE = "not_writable"
    """The field is of a kind that GitHub fills itself, or the value is of another kind."""
    FORBIDDEN = "forbidden"
    OTHER = "other"


@dataclass(frozen=True)
class FieldSet:
    """The field has the value."""


@dataclass(frozen=True)
class FieldRefused:
    """The field is what it was, and why."""

    kind: FieldRefusal
    message: str


class ProjectFields(RepositoryAccess):
    """Writing fields of Projects."""

    async def set_project_field(
        self, number: int, project: int, field: str, value: str | float
    ) -> FieldSet | FieldRefused:
        """Set a field of the Issue's item in the Project with this number: the text, the number, the date
        (`2026-11-30`), or the option or iteration of this name. Two requests; the ids are looked up each time, because
        people rename and rebuild fields.

        A refusal is a value. Raises Unanswered where it may be set, NotFound where there is no such Issue, and other
        GitHubErrors. Done but not heard, or two of us: a value is set, and the next look compares it with the record.
        Lease gone: the same; a person's own move is an intent that the caller looks for first, since GitHub takes no
        expected value.
        """
        try:
            item = await self._item_of(number, project, field)
        except Forbidden as e:
            return FieldRefused(FieldRefusal.FORBIDDEN, e.message)
        if item is None:
            return FieldRefused(FieldRefusal.NO_ITEM, f"the Issue is not in Project {project}, as far as the App sees")
        if item.project.field is None:
            return FieldRefused(FieldRefusal.NO_FIELD, f"Project {project} has no field {field!r}")
        given = item.project.field.given(value)
        if isinstance(given, FieldRefused):
            return given
        ids = {"project": item.project.id, "item": item.id, "field": item.project.field.id, "value": given}
        try:
            await self.session.mutate("SetProjectField", _SET, ids)
        except Forbidden as e:
            return FieldRefused(FieldRefusal.FORBIDDEN, e.message)
        except GraphQLFailed as e:
            forbidden = "FORBIDDEN" in e.types or "INSUFFICIENT_SCOPES" in e.types
            return FieldRefused(FieldRefusal.FORBIDDEN if forbidden else FieldRefusal.OTHER, e.message)
        return FieldSet()

    async def _item_of(self, number: int, project: int, field: str) -> "_Item | None":
        variables = {"owner": self.owner, "name": self.name, "number": number, "field": field}
        try:
            answer = await self.session.query("ProjectField", _FIND, variables)
        except GraphQLFailed as e:
            if missing := e.as_not_found("repository", "issue"):
                raise missing from None
            if e.types <= {"FORBIDDEN", "INSUFFICIENT_SCOPES"}:
                raise Forbidden(e.message, status=e.status, request_id=e.request_id, route="ProjectField") from None
            raise
        repository = answer.body["data"].get("repository") or {}
        self._same_repository(repository, "ProjectField")
        if repository.get("issue") is None:
            raise NotFound("there is no such Issue", route="ProjectField")
        issue = read(_Issue, repository["issue"], Call("POST", "ProjectField", kind="graphql"))
        ours = (self.owner.lower(), project)
        items = (item for item in issue.items.nodes if item is not None)
        return next((i for i in items if (i.project.owner.login.lower(), i.project.number) == ours), None)


class _Option(Message):
    id: str
    name: str = ""
    title: str = ""


class _Iterations(Message):
    iterations: tuple[_Option, ...] = ()
    completed: tuple[_Option, ...] = Field(default=(), alias="completedIterations")


class _Field(Message):
    typename: str = Field(alias="__typename")
    id: str
    name: str
    kind: str = Field(alias="dataType")
    options: tuple[_Option, ...] = ()
    configuration: _Iterations = _Iterations()

    def given(self, value: str | float) -> dict[str, Any] | FieldRefused:
        """The value as the mutation wants it for this field."""
        if self.kind == "SINGLE_SELECT":
            option = next((one for one in self.options if one.name == value), None)
            return {"singleSelectOptionId": option.id} if option is not None else self._without(value)
        if self.kind == "ITERATION":
            known = (*self.configuration.iterations, *self.configuration.completed)
            iteration = next((one for one in known if one.title == value), None)
            return {"iterationId": iteration.id} if iteration is not None else self._without(value)
        if self.kind == "NUMBER" and not isinstance(value, str):
            return {"number": value}
        if self.kind in ("TEXT", "DATE") and isinstance(value, str):
            return {self.kind.lower(): value}
        return FieldRefused(FieldRefusal.NOT_WRITABLE, f"the field {self.name!r} is of type {self.kind}")

    def _without(self, value: str | float) -> FieldRefused:
        return FieldRefused(FieldRefusal.NO_OPTION, f"the field {self.name!r} has no option {value!r}")


class _Owner(Message):
    login: str = ""


class _Project(Message):
    id: str
    number: int
    owner: _Owner = _Owner()
    field: _Field | None = None


class _Item(Message):
    id: str
    project: _Project


class _Items(Message):
    nodes: tuple[_Item | None, ...] = ()


class _Issue(Message):
    items: _Items = Field(default=_Items(), alias="projectItems")
