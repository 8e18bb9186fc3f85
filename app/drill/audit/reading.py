"""Reading a repository as an outsider: PyGithub for what GitHub shows, a mirror by git for branches and ledgers.

Nothing here uses the App's client, database or API, so that a fault of theirs cannot hide itself.
"""

from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime

from github import Auth, Github, GithubException
from github.CheckRun import CheckRun as PyCheckRun
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest
from github.Repository import Repository
from urllib3 import Retry

from app.domain.branches import owner_of_branch
from app.domain.observation import Branch, CheckRun, Comment, Issue, Observation, Pull
from app.domain.policy import PATH, Policy
from app.domain.policy_text import read_policy
from app.domain.record import Record
from app.domain.refs import LedgerRefs
from app.domain.ticket_id import Child, TicketId, number_of
from app.drill.audit.facts import Facts, ForeignRun
from app.drill.audit.mirror import Mirror
from app.ledger.codec import Entry

CHECK_NAME = "Agent Recovery"


class Reader:
    """One repository under a token that may read it. `app`: the slug of the App whose word counts."""

    def __init__(self, *, api_url: str, repository: str, token: str, app: str) -> None:
        self._app = app
        self._github = Github(
            auth=Auth.Token(token),
            base_url=api_url,
            seconds_between_requests=None,
            seconds_between_writes=None,
            retry=Retry(total=3, status=0, allowed_methods=["GET"], backoff_factor=0.1),
            per_page=100,
        )
        self.repository: Repository = self._github.get_repo(repository)
        self._policy_text = self._file(PATH)

    @property
    def policy(self) -> Policy:
        """The repository's policy, or the defaults where it has no usable one."""
        return read_policy(self._policy_text).policy or Policy()

    def tickets(self, mirror: Mirror) -> list[TicketId]:
        """Every ticket and child with a ledger, or with a branch of its own and a comment of the App on its PR."""
        refs = LedgerRefs(mirror.namespace)
        found = {t for name in mirror.refs if (t := refs.ticket_of(name)) is not None}
        for name in mirror.refs:
            owner = owner_of_branch(name.removeprefix("refs/heads/")) if name.startswith("refs/heads/") else None
            if owner is not None and owner not in found and self._was_ours(name.removeprefix("refs/heads/")):
                found.add(owner)
        return sorted(found, key=lambda t: (number_of(t), str(t)))

    def facts(self, ticket: TicketId, mirror: Mirror) -> Facts:
        """Everything about one ticket. Raises GithubException where GitHub does not answer."""
        refs = LedgerRefs(mirror.namespace)
        active, done = mirror.ledger(refs.active(ticket)), mirror.ledger(refs.done(ticket))
        record = _head_record(active or done)
        branch = record.work.branch if record and record.work else self._branch_by_name(ticket, mirror)
        pulls = self._pulls(branch, record)
        runs = self._check_runs(mirror.refs.get(f"refs/heads/{branch}"), record)
        own = [run for run in runs if run.app is not None and run.app.slug == self._app]
        issue, now = self._issue(ticket)
        trunk = record.work.trunk if record and record.work else ""
        trunk_head = mirror.refs.get(f"refs/heads/{trunk}")
        branch_head = mirror.refs.get(f"refs/heads/{branch}")
        observation = Observation(
            now=now,
            repository_id=self.repository.id,
            owner=self.repository.owner.login,
            name=self.repository.name,
            default_branch=self.repository.default_branch,
            policy_text=self._policy_text,
            issue=issue,
            branches=(Branch(branch, branch_head),) if branch and branch_head else (),
            trunk=Branch(trunk, trunk_head) if trunk_head else None,
            pulls=tuple(pulls),
            check_runs=tuple(_check_run(run) for run in own),
            issue_comments=tuple(self._comments(number_of(ticket))) if issue else (),
        )
        children = (refs.ticket_of(name) for name in mirror.refs)
        return Facts(
            ticket=ticket,
            repository_id=self.repository.id,
            observation=observation,
            policy=self.policy,
            active=active,
            done=done,
            contains=mirror.contains,
            imitations=tuple(
                ForeignRun(run.id, run.head_sha, run.app.slug if run.app else "nobody")
                for run in runs
                if run not in own
            ),
            results={name: sha for name, sha in mirror.refs.items() if _is_result_of(refs, name, ticket)},
            children=tuple(sorted({c.name for c in children if isinstance(c, Child) and c.parent == ticket})),
        )

    def _file(self, path: str) -> str | None:
        try:
            content = self.repository.get_contents(path, ref=self.repository.default_branch)
        except GithubException as error:
            if error.status == 404:
                return None
            raise
        return None if isinstance(content, list) else content.decoded_content.decode("utf-8", "replace")

    def _was_ours(self, branch: str) -> bool:
        return any(pull.comments for pull in self._pulls(branch, None))

    def _branch_by_name(self, ticket: TicketId, mirror: Mirror) -> str:
        names = (n.removeprefix("refs/heads/") for n in sorted(mirror.refs) if n.startswith("refs/heads/"))
        return next((name for name in names if owner_of_branch(name) == ticket), "")

    def _issue(self, ticket: TicketId) -> tuple[Issue | None, datetime]:
        try:
            found = self.repository.get_issue(number_of(ticket))
        except GithubException as error:
            if error.status not in (404, 410):
                raise
            return None, _date(self.repository.raw_headers)
        issue = Issue(
            number=found.number,
            title=found.title,
            body=found.body or "",
            state=found.state.upper(),
            author=found.user.login if found.user else None,
            url=found.html_url,
        )
        return issue, _date(found.raw_headers)

    def _pulls(self, branch: str, record: Record | None) -> list[Pull]:
        if not branch:
            return []
        head = f"{self.repository.owner.login}:{branch}"
        found = {p.number: p for p in self.repository.get_pulls(state="all", head=head)}
        recorded = record.projections.pr_number if record else None
        if recorded is not None and recorded not in found:
            try:
                found[recorded] = self.repository.get_pull(recorded)
            except GithubException as error:
                if error.status != 404:
                    raise
        return [self._pull(pull) for _, pull in sorted(found.items(), reverse=True)]

    def _pull(self, pull: PullRequest) -> Pull:
        return Pull(
            number=pull.number,
            node_id=pull.node_id,
            state="MERGED" if pull.merged_at is not None else pull.state.upper(),
            is_draft=pull.draft,
            title=pull.title,
            body=pull.body or "",
            head=pull.head.ref,
            head_sha=pull.head.sha,
            base=pull.base.ref,
            head_repository=pull.head.repo.full_name if pull.head.repo else None,
            url=pull.html_url,
            comments=tuple(self._comments(pull.number)),
        )

    def _comments(self, number: int) -> Iterator[Comment]:
        for comment in self.repository.get_issue(number).get_comments():
            if _is_by(comment, self._app):
                yield Comment(comment.id, comment.body or "", comment.created_at, url=comment.html_url)

    def _check_runs(self, head: str | None, record: Record | None) -> list[PyCheckRun]:
        published = record.published.sha if record and record.published else None
        found: dict[int, PyCheckRun] = {}
        for sha in {sha for sha in (head, published) if sha is not None}:
            try:
                runs = self.repository.get_commit(sha).get_check_runs(check_name=CHECK_NAME, filter="all")
                found |= {run.id: run for run in runs}
            except GithubException as error:
                # A record that nobody vouches for yet may name a commit that never was.
                if error.status not in (404, 422):
                    raise
        return [found[id] for id in sorted(found)]


def _is_by(comment: IssueComment, app: str) -> bool:
    return comment.user is not None and comment.user.login == f"{app}[bot]"


def _head_record(entries: tuple[Entry, ...]) -> Record | None:
    record = entries[0].record if entries else None
    return record if isinstance(record, Record) else None


def _check_run(run: PyCheckRun) -> CheckRun:
    output = run.output
    return CheckRun(
        id=run.id,
        sha=run.head_sha,
        status=run.status,
        conclusion=run.conclusion,
        external_id=run.external_id or "",
        title=output.title if output else None,
        summary=output.summary if output else None,
        text=output.text if output else None,
    )


def _is_result_of(refs: LedgerRefs, name: str, ticket: TicketId) -> bool:
    found = refs.result_of(name)
    return found is not None and found[0].parent == ticket


def _date(headers: dict[str, str | int]) -> datetime:
    """GitHub's own clock, by the answer that was read."""
    return parsedate_to_datetime(str(headers["date"]))
