"""When commits were made, many in one request."""

from dataclasses import dataclass
from datetime import datetime

from pydantic import AwareDatetime, Field

from app.domain.model import Message, Sha
from app.github.access import RepositoryAccess
from app.github.shapes import read
from app.github.wire import Call

AT_ONCE = 100
"""Commits asked for in one request."""


@dataclass(frozen=True)
class DatedCommit:
    """A commit as GitHub holds it; neither its date nor its message is a proof of anything."""

    committed_at: datetime
    message: str


class _Commit(Message):
    oid: Sha
    committed_at: AwareDatetime = Field(alias="committedDate")
    message: str = ""


class CommitDates(RepositoryAccess):
    """Dates of commits."""

    async def dated_commits(self, shas: list[str]) -> dict[str, DatedCommit]:
        """SHA → date and message of those that are commits here. Raises ValueError above a hundred, GitHubError where
        GitHub does not answer.
        """
        if len(shas) > AT_ONCE:
            raise ValueError(f"at most {AT_ONCE} commits are asked for at once")
        declared = "".join(f", $o{n}: GitObjectID!" for n in range(len(shas)))
        fields = "\n".join(f"o{n}: object(oid: $o{n}) {{ ...dated }}" for n in range(len(shas)))
        document = f"""
query CommitDates($owner: String!, $name: String!{declared}) {{
  repository(owner: $owner, name: $name) {{
    databaseId
    {fields}
  }}
}}
fragment dated on GitObject {{ ... on Commit {{ oid committedDate message }} }}
"""
        variables = {"owner": self.owner, "name": self.name, **{f"o{n}": sha for n, sha in enumerate(shas)}}
        answer = await self.session.query("CommitDates", document, variables)
        repository = answer.body["data"].get("repository") or {}
        self._same_repository(repository, "CommitDates")
        call = Call("POST", "CommitDates", kind="graphql")
        found = (repository.get(f"o{n}") for n in range(len(shas)))
        commits = [read(_Commit, node, call) for node in found if node]
        return {commit.oid: DatedCommit(commit.committed_at, commit.message) for commit in commits}
