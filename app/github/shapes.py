"""The few fields we read of GitHub's REST answers. Everything else in them is ignored; nothing is assumed present."""

from typing import Any, TypeVar

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from app.domain.model import Message, Sha
from app.domain.observation import CheckRun, Comment, Pull
from app.github.errors import GitHubError, ServerError, Unanswered
from app.github.wire import Call

T = TypeVar("T")


def read(model: type[T], body: Any, call: Call) -> T:
    """An answer as the model. An answer of another form raises ServerError, to a write `Unanswered`: it may have
    happened, and we cannot see what.
    """
    try:
        return TypeAdapter(model).validate_python(body)
    except ValidationError:
        pass
    unreadable: type[GitHubError] = Unanswered if call.writes else ServerError
    raise unreadable("the answer has not the form GitHub describes", route=call.name)


class Account(Message):
    login: str
    id: int = 0
    type: str = "User"


class Named(Message):
    name: str


class GitObjectOfRef(Message):
    sha: Sha


class RefShape(Message):
    ref: str
    object: GitObjectOfRef


class ObjectShape(Message):
    sha: Sha


class CommitShape(Message):
    sha: Sha
    tree: ObjectShape


class RepositoryShape(Message):
    id: int
    node_id: str
    name: str
    owner: Account
    private: bool = True
    default_branch: str = "main"


class _FullName(Message):
    full_name: str


class _End(Message):
    ref: str
    sha: Sha
    repo: _FullName | None = None


class PullShape(Message):
    number: int
    node_id: str
    state: str
    draft: bool = False
    title: str
    body: str | None = None
    head: _End
    base: _End
    merged_at: AwareDatetime | None = None
    html_url: str = ""
    labels: tuple[Named, ...] = ()
    assignees: tuple[Account, ...] = ()
    user: Account | None = None

    def pull(self) -> Pull:
        """The pull request in the domain's words; its comments were not asked for."""
        return Pull(
            number=self.number,
            node_id=self.node_id,
            state="MERGED" if self.merged_at else self.state.upper(),
            is_draft=self.draft,
            title=self.title,
            body=self.body or "",
            head=self.head.ref,
            head_sha=self.head.sha,
            base=self.base.ref,
            head_repository=self.head.repo.full_name if self.head.repo else None,
            url=self.html_url,
            labels=tuple(label.name for label in self.labels),
            assignees=tuple(person.login for person in self.assignees),
            author=self.user.login.removesuffix("[bot]") if self.user else None,
        )


class CommentShape(Message):
    id: int
    body: str | None = None
    created_at: AwareDatetime
    html_url: str = ""

    def comment(self) -> Comment:
        return Comment(id=self.id, body=self.body or "", created_at=self.created_at, url=self.html_url)


class ObjectWithId(Message):
    id: int


class _Output(Message):
    title: str | None = None
    summary: str | None = None
    text: str | None = None


class CheckRunShape(Message):
    id: int
    name: str
    head_sha: Sha
    status: str
    conclusion: str | None = None
    external_id: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    output: _Output = _Output()
    app: ObjectWithId | None = None

    def is_from(self, app_id: int) -> bool:
        return self.app is not None and self.app.id == app_id

    def check_run(self) -> CheckRun:
        return CheckRun(
            id=self.id,
            sha=self.head_sha,
            status=self.status.lower(),
            conclusion=self.conclusion.lower() if self.conclusion else None,
            external_id=self.external_id or "",
            title=self.output.title,
            summary=self.output.summary,
            text=self.output.text,
            started_at=self.started_at,
            completed_at=self.completed_at,
        )


class CheckRunsShape(Message):
    check_runs: tuple[CheckRunShape, ...]
