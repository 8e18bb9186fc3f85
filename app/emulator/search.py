"""Which Issues and pull requests a search finds. Unlike GitHub's index, this one is never behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.emulator.errors import ApiError
from app.emulator.search_terms import Group, Term, parse
from app.emulator.state import Issue, PullRequest, Repository

if TYPE_CHECKING:
    from app.emulator.routing import Request

# Qualifiers that say how to search, not what.
_MANNERS = ("in", "sort")
_SORTS: dict[str, Callable[[Issue], tuple[object, int]]] = {
    "created": lambda issue: (issue.created_at, issue.number),
    "updated": lambda issue: (issue.updated_at, issue.number),
    "comments": lambda issue: (len(issue.comments), issue.number),
}


def find_issues(request: Request, query: str, sort: str | None = None, descending: bool = True) -> list[Issue]:
    """The Issues and pull requests this identity may see that the query finds, best first: the newest.

    Raises 422 for accounts and repositories that cannot be searched, 501 for qualifiers the emulator does not know.
    """
    group = parse(query)
    terms = group.terms()
    for term in terms:
        if term.key in ("repo", "org", "user") and not term.negated:
            _check_scope(request, term)
    fields = [t.value.split(",") for t in terms if t.key == "in"]
    search = _Search(request, fields[0] if fields else ["title", "body"])
    for term in terms:
        if term.key == "sort" and sort is None:
            sort, _, way = term.value.partition("-")
            descending = way != "asc"
    found = [issue for repo in _repos(request) for issue in repo.issues.values() if search.group(issue, group)]
    return sorted(found, key=_SORTS.get(sort or "created", _SORTS["created"]), reverse=descending)


def _repos(request: Request) -> list[Repository]:
    identity = request.identity
    return [
        repo
        for repo in request.world.repos.values()
        if identity.sees(repo) and any(identity.allows(repo, name, "read") for name in ("issues", "pull_requests"))
    ]


def _check_scope(request: Request, term: Term) -> None:
    world = request.world
    if term.key == "repo":
        owner, _, name = term.value.partition("/")
        repo = world.repo(owner, name)
        known = repo is not None and request.identity.sees(repo)
    else:
        known = world.account(term.value) is not None
    if not known:
        message = (
            "The listed users and repositories cannot be searched either because the resources do not exist or you do "
            "not have permission to view them."
        )
        entry = {"message": message, "resource": "Search", "field": "q", "code": "invalid"}
        raise ApiError(422, "Validation Failed", [entry])


class _Search:
    def __init__(self, request: Request, fields: list[str]) -> None:
        self.request, self.fields = request, fields

    def group(self, issue: Issue, group: Group) -> bool:
        judge = any if group.any_of else all
        return judge(self.group(issue, p) if isinstance(p, Group) else self.term(issue, p) for p in group.parts)

    def term(self, issue: Issue, term: Term) -> bool:
        if term.key in _MANNERS:
            return True
        if not term.key:
            return self.has_word(issue, term.value) != term.negated
        check = _CHECKS.get(term.key)
        if check is None:
            raise ApiError(501, f"The emulator does not search by {term.key}: yet")
        values = term.value.split(",") if term.key == "label" else [term.value]
        return any(check(issue, self.named(value)) for value in values) != term.negated

    def named(self, value: str) -> str:
        """A value in lower case, with ``@me`` as who asks."""
        return (self.request.identity.account.login if value == "@me" else value.strip('"')).lower()

    def has_word(self, issue: Issue, word: str) -> bool:
        texts = {"title": issue.title, "body": issue.body or "", "comments": "\n".join(c.body for c in issue.comments)}
        return any(word.lower() in texts.get(name, "").lower() for name in self.fields)


def _is(issue: Issue, value: str) -> bool:
    pull = issue if isinstance(issue, PullRequest) else None
    answers = {
        "issue": pull is None,
        "pr": pull is not None,
        "pull-request": pull is not None,
        "open": issue.state == "open",
        "closed": issue.state == "closed",
        "merged": pull is not None and pull.merged,
        "unmerged": pull is not None and pull.state == "closed" and not pull.merged,
        "draft": pull is not None and pull.draft,
        "locked": issue.locked,
        "unlocked": not issue.locked,
        "private": issue.repo.private,
        "public": not issue.repo.private,
    }
    if value not in answers:
        raise ApiError(501, f"The emulator does not search by is:{value} yet")
    return answers[value]


def _lacks(issue: Issue, value: str) -> bool:
    had = {"label": issue.labels, "assignee": issue.assignees, "milestone": issue.milestone, "project": None}
    if value not in had:
        raise ApiError(501, f"The emulator does not search by no:{value} yet")
    return not had[value]


def _assignee(issue: Issue, value: str) -> bool:
    return bool(issue.assignees) if value == "*" else value in [a.login.lower() for a in issue.assignees]


def _author(issue: Issue, value: str) -> bool:
    login = issue.author.login.lower()
    return login == (f"{value.removeprefix('app/')}[bot]" if value.startswith("app/") else value)


def mentioned(issue: Issue, login: str) -> bool:
    """Does its text or a comment name somebody?"""
    value = login.lower()
    return any(f"@{value}" in (text or "").lower() for text in [issue.body, *(c.body for c in issue.comments)])


def in_milestone(issue: Issue, wanted: str) -> bool:
    """Is it in the milestone of this number, in any (``*``), in none?"""
    if wanted in ("*", "none"):
        return (issue.milestone is not None) == (wanted == "*")
    return issue.milestone is not None and str(issue.milestone.number) == wanted


def _commenter(issue: Issue, value: str) -> bool:
    return value in [c.author.login.lower() for c in issue.comments]


def _review_requested(issue: Issue, value: str) -> bool:
    return isinstance(issue, PullRequest) and value in [a.login.lower() for a in issue.requested_reviewers]


def _reviewed_by(issue: Issue, value: str) -> bool:
    return isinstance(issue, PullRequest) and value in [r.author.login.lower() for r in issue.reviews]


def _involves(issue: Issue, value: str) -> bool:
    return any(check(issue, value) for check in (_author, _assignee, mentioned, _commenter))


def _moment(stamp: str | None, value: str) -> bool:
    """``2026-01-01``, ``>=2026-01-01``, ``2026-01-01..2026-02-01``, with ``*`` for no bound."""
    if stamp is None:
        return False
    low, dots, high = value.upper().partition("..")
    if dots:
        return (low == "*" or stamp >= low) and (high == "*" or stamp[: len(high)] <= high)
    for sign, judge in ((">=", stamp.__ge__), ("<=", None), (">", None), ("<", stamp.__lt__)):
        if low.startswith(sign):
            bound = low.removeprefix(sign)
            if judge is not None:
                return bool(judge(bound))
            return stamp[: len(bound)] <= bound if sign == "<=" else stamp[: len(bound)] > bound
    return stamp.startswith(low)


_CHECKS: dict[str, Callable[[Issue, str], bool]] = {
    "repo": lambda issue, value: issue.repo.full_name.lower() == value,
    "org": lambda issue, value: issue.repo.owner.login.lower() == value,
    "user": lambda issue, value: issue.repo.owner.login.lower() == value,
    "is": _is,
    "type": _is,
    "state": _is,
    "no": _lacks,
    "draft": lambda issue, value: isinstance(issue, PullRequest) and issue.draft == (value == "true"),
    "archived": lambda issue, value: issue.repo.archived == (value == "true"),
    "author": _author,
    "assignee": _assignee,
    "mentions": mentioned,
    "commenter": _commenter,
    "involves": _involves,
    "review-requested": _review_requested,
    "user-review-requested": _review_requested,
    "reviewed-by": _reviewed_by,
    "team": lambda issue, value: False,
    "team-review-requested": lambda issue, value: False,
    "label": lambda issue, value: value in [x.name.lower() for x in issue.labels],
    "milestone": lambda issue, value: issue.milestone is not None and issue.milestone.title.lower() == value,
    "head": lambda issue, value: isinstance(issue, PullRequest) and issue.head_ref.lower() == value,
    "base": lambda issue, value: isinstance(issue, PullRequest) and issue.base_ref.lower() == value,
    "created": lambda issue, value: _moment(issue.created_at, value),
    "updated": lambda issue, value: _moment(issue.updated_at, value),
    "closed": lambda issue, value: _moment(issue.closed_at, value),
    "merged": lambda issue, value: isinstance(issue, PullRequest) and _moment(issue.merged_at, value),
}
