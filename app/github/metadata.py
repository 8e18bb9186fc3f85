"""Who and what stands on an Issue or pull request: assignees, asked reviewers, labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import Field

from app.domain.model import Message
from app.github.access import RepositoryAccess
from app.github.errors import Forbidden, GraphQLFailed, NotFound, Validation
from app.github.shapes import Account, read
from app.github.wire import Call

_ASSIGNEES = "/repos/{owner}/{repo}/issues/{number}/assignees"
_REVIEWERS = "/repos/{owner}/{repo}/pulls/{number}/requested_reviewers"
_LABEL = "/repos/{owner}/{repo}/issues/{number}/labels/{name}"
_ADD_LABELS = """
mutation AddLabels($id: ID!, $labels: [ID!]!) {
  addLabelsToLabelable(input: {labelableId: $id, labelIds: $labels}) { clientMutationId }
}
"""


@dataclass(frozen=True)
class Assigned:
    """Who is assigned now. GitHub passes over those who cannot be, and those after the tenth, without a word."""

    logins: tuple[str, ...]


class ReviewRefusal(StrEnum):
    """Why nobody was asked for a review."""

    AUTHOR = "author"
    """The author of a pull request cannot review it."""
    NO_COLLABORATOR = "no_collaborator"
    FORBIDDEN = "forbidden"
    OTHER = "other"


@dataclass(frozen=True)
class ReviewRequested:
    """They are asked."""


@dataclass(frozen=True)
class ReviewRefused:
    """Nobody was asked, not even those who could have been, with GitHub's words."""

    kind: ReviewRefusal
    message: str


@dataclass(frozen=True)
class Labelled:
    """What became of the labels: `added` stand there now (or did before), `missing` the repository does not have."""

    added: tuple[str, ...]
    missing: tuple[str, ...]


class Metadata(RepositoryAccess):
    """Adding to an Issue or pull request; nothing is taken away but a label of our own."""

    async def assign(self, number: int, logins: Sequence[str]) -> Assigned:
        """Assign people beside those who are.

        Raises Unanswered where it may have happened, and other GitHubErrors. Done but not heard, or two of us:
        assigning again changes nothing. Lease gone: who is assigned follows the Issue, not the holder.
        """
        answer = await self.session.write("POST", _ASSIGNEES, self._at(number=number), {"assignees": list(logins)})
        issue = read(_Assigned, answer.body, Call("POST", _ASSIGNEES, writes=True))
        return Assigned(tuple(person.login for person in issue.assignees))

    async def request_reviewers(
        self, number: int, logins: Sequence[str] = (), teams: Sequence[str] = ()
    ) -> ReviewRequested | ReviewRefused:
        """Ask people, and teams by their slugs, for a review: all of them or nobody.

        Raises Unanswered where they may have been asked, and other GitHubErrors. Done but not heard, or two of us: who
        is asked already is not told again. Lease gone: reviewers follow the change, not the holder.
        """
        fields = {"reviewers": list(logins), "team_reviewers": list(teams)}
        try:
            await self.session.write("POST", _REVIEWERS, self._at(number=number), fields)
        except Validation as e:
            return ReviewRefused(_why_not_asked(e), "; ".join(e.sentences))
        except Forbidden as e:
            return ReviewRefused(ReviewRefusal.FORBIDDEN, e.message)
        return ReviewRequested()

    async def add_labels(self, number: int, labels: Sequence[str]) -> Labelled:
        """Put labels on an Issue or pull request. Two requests: REST would create a label that nobody made, so they are
        looked up and added by their ids. Raises NotFound where there is no such Issue or pull request.

        Raises Unanswered where it may have happened, and other GitHubErrors. Done but not heard, or two of us: adding
        again changes nothing. Lease gone: labels follow the Issue, not the holder.
        """
        subject, ids = await self._labels_by_name(number, labels)
        found = {name: id for name, id in ids.items() if id is not None}
        if found:
            await self.session.mutate("AddLabels", _ADD_LABELS, {"id": subject, "labels": list(found.values())})
        return Labelled(tuple(found), tuple(name for name in ids if name not in found))

    async def remove_label(self, number: int, label: str) -> None:
        """Take one label off an Issue or pull request. That it does not stand there is what was wanted.

        Raises Unanswered where it may have happened, and other GitHubErrors. Done but not heard, or two of us: it is
        gone. Lease gone: the caller takes away only what the App put there.
        """
        try:
            await self.session.write("DELETE", _LABEL, self._at(number=number, name=label))
        except NotFound:
            return

    async def _labels_by_name(self, number: int, labels: Sequence[str]) -> tuple[str, dict[str, str | None]]:
        wanted = list(dict.fromkeys(labels))
        declared = "".join(f", $label{n}: String!" for n in range(len(wanted)))
        fields = "\n".join(f"    label{n}: label(name: $label{n}) {{ id }}" for n in range(len(wanted)))
        document = (
            f"query Labels($owner: String!, $name: String!, $number: Int!{declared}) {{\n"
            "  repository(owner: $owner, name: $name) {\n"
            "    databaseId\n"
            "    subject: issueOrPullRequest(number: $number) { ... on Issue { id } ... on PullRequest { id } }\n"
            f"{fields}\n"
            "  }\n"
            "}\n"
        )
        values = {f"label{n}": name for n, name in enumerate(wanted)}
        variables = {"owner": self.owner, "name": self.name, "number": number, **values}
        try:
            answer = await self.session.query("Labels", document, variables)
        except GraphQLFailed as e:
            if missing := e.as_not_found("repository", "subject"):
                raise missing from None
            raise
        repository = answer.body["data"].get("repository") or {}
        self._same_repository(repository, "Labels")
        call = Call("POST", "Labels", kind="graphql")
        if repository.get("subject") is None:
            raise NotFound("there is no such Issue or pull request", route="Labels")
        nodes = (repository.get(f"label{n}") for n in range(len(wanted)))
        found = (read(_Node, node, call).id if node is not None else None for node in nodes)
        return read(_Node, repository["subject"], call).id, dict(zip(wanted, found, strict=True))


class _Node(Message):
    id: str


class _Assigned(Message):
    assignees: tuple[Account, ...] = Field(default=())


def _why_not_asked(refusal: Validation) -> ReviewRefusal:
    words = " ".join(refusal.sentences).lower()
    if "pull request author" in words:
        return ReviewRefusal.AUTHOR
    return ReviewRefusal.NO_COLLABORATOR if "collaborator" in words else ReviewRefusal.OTHER
