"""The Issue's lines in Projects, as GraphQL shows them, in the domain's words."""

from pydantic import Field

from app.domain.model import Message
from app.domain.surroundings import Column, ProjectItem


class _FieldName(Message):
    name: str | None = None


class _FieldValue(Message):
    name: str | None = None
    text: str | None = None
    number: float | None = None
    date: str | None = None
    title: str | None = None
    field: _FieldName | None = None

    def value(self) -> str | None:
        if self.number is not None:
            return f"{self.number:g}"
        return next((v for v in (self.name, self.text, self.date, self.title) if v is not None), None)


class _FieldValues(Message):
    nodes: tuple[_FieldValue | None, ...] = ()


class _Option(Message):
    name: str


class _Column(Message):
    name: str | None = None
    kind: str | None = Field(default=None, alias="dataType")
    options: tuple[_Option, ...] = ()


class _Columns(Message):
    nodes: tuple[_Column | None, ...] = ()

    def columns(self) -> tuple[Column, ...]:
        return tuple(
            Column(node.name, node.kind, tuple(option.name for option in node.options))
            for node in self.nodes
            if node is not None and node.name and node.kind in _OWN_VALUES
        )


_OWN_VALUES = frozenset({"SINGLE_SELECT", "TEXT", "NUMBER", "DATE", "ITERATION"})
"""Kinds of a Project's fields that hold a value of their own; the others show what the Issue says."""


class _ProjectOwner(Message):
    login: str = ""


class _Project(Message):
    number: int
    title: str = ""
    owner: _ProjectOwner = _ProjectOwner()
    fields: _Columns = _Columns()


class _ProjectItem(Message):
    project: _Project
    values: _FieldValues = Field(default=_FieldValues(), alias="fieldValues")

    def item(self) -> ProjectItem:
        named = [
            (node.field.name, value)
            for node in self.values.nodes
            if node is not None and node.field is not None and node.field.name and (value := node.value()) is not None
        ]
        return ProjectItem(
            number=self.project.number,
            title=self.project.title,
            fields=dict(named),
            columns=self.project.fields.columns(),
        )


class _Page(Message):
    goes_on: bool = Field(default=False, alias="hasNextPage")
    end: str | None = Field(default=None, alias="endCursor")


class ProjectItems(Message):
    nodes: tuple[_ProjectItem | None, ...] = ()
    page: _Page = Field(default=_Page(), alias="pageInfo")

    def items(self, owner: str) -> tuple[ProjectItem, ...]:
        """Lines in Projects of the repository's owner. Anybody may put a public Issue into a Project of their own with
        the number that the policy names: theirs says nothing.
        """
        of_owner = [n for n in self.nodes if n is not None and n.project.owner.login.lower() == owner.lower()]
        return tuple(node.item() for node in of_owner)
