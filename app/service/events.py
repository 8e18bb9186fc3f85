"""Which keys a webhook delivery pokes. Pure: a table of events, nothing is looked up.

Deliveries are hints: they come twice, late, out of order or never, and the round that a poke starts reads
GitHub afresh. So a key too many costs one round, and a field that is missing, null or of another type
than described must never be an error. Names and numbers are checked before they enter a key.

What our own App does raises events as well. Only its comments and check-runs are ignored, and only while
nobody else's hand is in them: an own comment that a person edits or deletes is news.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from app.controller.words import COMMAND, Spoken
from app.domain.branches import owner_of_branch
from app.domain.dispatch_inputs import tickets_named
from app.domain.handoff_marker import ticket_of_comment
from app.domain.keys import (
    InstallationKey,
    IssueKey,
    RepositoryKey,
    TicketKey,
    TrunkKey,
    is_installation_id,
    is_node_id,
    is_number,
    is_repository_name,
    is_trunk_name,
)
from app.domain.linked_issue import linked_issue_of
from app.domain.policy import PATH
from app.domain.reach import Left, Reach
from app.domain.ticket_id import Child, TicketId
from app.github.access import RELEASE_CHECK_NAME
from app.service.spoken import spoken_in

_NOTHING: Mapping[str, object] = {}
_QUEUED_PR = re.compile(r"refs/heads/gh-readonly-queue/.+/pr-([1-9][0-9]{0,9})-[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Poked:
    """The delivery concerns these keys (each once, in the order they were found). `words`: what a person said in it,
    one of the keys each.
    """

    keys: tuple[str, ...]
    reason: str
    words: tuple[Spoken, ...] = ()


@dataclass(frozen=True, slots=True)
class Ignored:
    """The delivery concerns nobody."""

    reason: str
    left: Left | None = None
    """What the App lost by it: nothing is done there any more, so nobody is to be looked at."""


Routing = Poked | Ignored


def keys_of(event: str, payload: object, *, own_app_id: int) -> Routing:
    """Route a delivery by the value of `X-GitHub-Event` and its decoded body. Never raises."""
    rule = _RULES.get(event)
    if rule is None:
        return Ignored("this event says nothing about tickets")
    if not isinstance(payload, Mapping):
        return Ignored("the payload is not an object")
    routed = rule(_Delivery(payload, own_app_id))
    spoken = spoken_in(event, payload, own_app_id=own_app_id)
    if spoken is None:
        return routed
    others = routed.keys if isinstance(routed, Poked) else ()
    return Poked((spoken.key, *others), "a person says something", (spoken,))


@dataclass(frozen=True, slots=True)
class _Delivery:
    payload: Mapping[str, object]
    own_app_id: int

    @property
    def action(self) -> str:
        return _text(self.payload, "action")

    @property
    def repository(self) -> str | None:
        name = _part(self.payload, "repository").get("full_name")
        return str(name) if is_repository_name(name) else None

    def tickets(self, named: Iterable[object], reason: str) -> Routing:
        """Poke the tickets with these numbers, as far as they are numbers, and these children."""
        if self.repository is None:
            return _NO_REPOSITORY
        keys = (str(TicketKey(self.repository, n)) for n in map(_ticket, named) if n is not None)
        return _poked(keys, reason) or Ignored("no number of an Issue or PR")

    def whole_repository(self, reason: str) -> Routing:
        """Poke what belongs to no single ticket."""
        if self.repository is None:
            return _NO_REPOSITORY
        return Poked((str(RepositoryKey(self.repository)),), reason)

    def and_the_repository(self, routed: Routing) -> Routing:
        """The same, and what belongs to no single ticket."""
        if isinstance(routed, Ignored) or self.repository is None:
            return routed
        return Poked(tuple(dict.fromkeys([*routed.keys, str(RepositoryKey(self.repository))])), routed.reason)

    def releases(self, branches: Iterable[str], reason: str) -> Routing:
        """Poke the whole repository, and what is a release if one of these branches is a trunk."""
        if self.repository is None:
            return _NO_REPOSITORY
        trunks = [name for name in branches if is_trunk_name(name) and owner_of_branch(name) is None]
        keys = [str(RepositoryKey(self.repository)), *(str(TrunkKey(self.repository, name)) for name in trunks)]
        return Poked(tuple(dict.fromkeys(keys)), reason)

    def branch(self, name: str, reason: str) -> Routing:
        """Poke the ticket of a branch; of the whole repository where the grammar knows no ticket."""
        if not name:
            return Ignored("no branch is named")
        if name.startswith("gh-readonly-queue/"):
            return Ignored("merge queue ref")
        if name.startswith("agent-recovery/"):
            return Ignored("own ref")
        if name == _text(_part(self.payload, "repository"), "default_branch"):
            return self.whole_repository(f"{reason}: the default branch, where the policy is")
        ticket = owner_of_branch(name)
        if ticket is None:
            return self.whole_repository(f"{reason}: a branch of no known ticket")
        return self.tickets([ticket], reason)


_NO_REPOSITORY = Ignored("no valid repository name")


def _issue(delivery: _Delivery) -> Routing:
    return delivery.tickets([_part(delivery.payload, "issue").get("number")], "the Issue changed")


def _issue_comment(delivery: _Delivery) -> Routing:
    comment = _part(delivery.payload, "comment")
    sender = _part(delivery.payload, "sender")
    author = _part(comment, "user").get("id")
    through = _part(comment, "performed_via_github_app").get("id")
    by_its_author = is_number(author) and sender.get("id") == author and sender.get("type") == "Bot"
    if through == delivery.own_app_id and by_its_author:
        return Ignored("our own comment")
    issue = _part(delivery.payload, "issue")
    if not _part(issue, "pull_request"):
        return delivery.tickets([issue.get("number")], "a comment")
    # A PR: its ticket stands in its text, and in our own comment, which a person may have rewritten or deleted.
    before = _text(_part(_part(delivery.payload, "changes"), "body"), "from")
    told = [ticket_of_comment(text) for text in (_text(comment, "body"), before)]
    named: list[object] = [linked_issue_of(_text(issue, "body")), *told]
    is_taken_back = delivery.action in ("edited", "deleted")
    if is_taken_back and (not any(named) or any(COMMAND in text for text in (_text(comment, "body"), before))):
        # A person's word for a release may stand in it, and the number of its pull request is all that is told.
        return delivery.tickets([*named, issue.get("number")], "a comment that was changed or removed")
    if not any(named):
        return Ignored("a comment on a pull request of no known ticket")
    return delivery.tickets(named, "a comment on its pull request")


def _relations(*sides: str) -> Callable[[_Delivery], Routing]:
    """Events between two Issues. Each side's repository gets a delivery of its own; others are left out."""

    def rule(delivery: _Delivery) -> Routing:
        numbers = []
        for side in sides:
            other = _part(delivery.payload, f"{side}_repo").get("full_name", delivery.repository)
            if other == delivery.repository:
                numbers.append(_part(delivery.payload, side).get("number"))
        return delivery.tickets(numbers, "a relation between Issues changed")

    return rule


def _pull_request(delivery: _Delivery) -> Routing:
    pull = _part(delivery.payload, "pull_request")
    head = _part(pull, "head")
    body_before = _text(_part(_part(delivery.payload, "changes"), "body"), "from")
    tickets: list[TicketId | None] = [linked_issue_of(_text(pull, "body")), linked_issue_of(body_before)]
    # A fork may name its branch as it likes: only a branch of this very repository is a ticket's.
    is_own = _part(head, "repo").get("full_name") == delivery.repository
    owner = owner_of_branch(_text(head, "ref")) if is_own else None
    base = _text(_part(pull, "base"), "ref")
    if any([*tickets, owner]):
        routed = delivery.tickets([*tickets, owner], "its pull request changed")
        into_default = base == _text(_part(delivery.payload, "repository"), "default_branch")
        # A release's text may be made to name a ticket, and what else goes where releases go shows what the guard says.
        is_more = delivery.action in _NEWS_OF_RELEASES and (owner is None or into_default)
        return delivery.and_the_repository(routed) if is_more else routed
    if delivery.action == "closed":
        return delivery.whole_repository("a pull request of no known ticket was closed")
    if delivery.action not in _NEWS_OF_NOBODYS:
        return Ignored("nothing that changes what a pull request of no known ticket shows")
    # Its own number, for its check; and the ticket onto whose branch it goes.
    below = owner_of_branch(_text(_part(pull, "base"), "ref"))
    return delivery.tickets([pull.get("number"), below], "a pull request of no known ticket")


_NEWS_OF_NOBODYS = frozenset(
    {
        *("opened", "reopened", "synchronize", "edited"),
        *("auto_merge_enabled", "auto_merge_disabled", "enqueued", "dequeued"),
        *("ready_for_review", "converted_to_draft"),
    }
)
"""What changes the check of a pull request of nobody, its head, its base and that it stands at all; and what brings a
release's closer to its merge, or takes it back.
"""
_NEWS_OF_RELEASES = _NEWS_OF_NOBODYS | {"closed"}


def _push(delivery: _Delivery) -> Routing:
    ref = _text(delivery.payload, "ref")
    if ref.startswith("refs/tags/"):
        return Ignored("a tag")
    if not ref.startswith("refs/heads/"):
        return Ignored("not a branch")
    # A deleted branch comes with a SHA of zeros and no commit.
    routed = delivery.branch(ref.removeprefix("refs/heads/"), "a push")
    # Its pull request is to show what the policy file would say, whosever branch it is.
    return delivery.and_the_repository(routed) if _changes_policy(delivery.payload) else routed


def _create_or_delete(delivery: _Delivery) -> Routing:
    if _text(delivery.payload, "ref_type") != "branch":
        return Ignored("a tag")
    return delivery.branch(_text(delivery.payload, "ref"), "a branch came or went")


def _check_run(delivery: _Delivery) -> Routing:
    run = _part(delivery.payload, "check_run")
    own = _part(run, "app").get("id") == delivery.own_app_id
    # `rerequested` and `requested_action` on our own check are a person's click.
    if own and delivery.action in ("created", "completed"):
        return Ignored("our own check-run")
    suite = _part(run, "check_suite")
    branches = [_text(suite, "head_branch"), *_pull_branches(run, suite)]
    if own and _text(run, "name") == RELEASE_CHECK_NAME:
        return delivery.releases(branches, "a person asks for the release check anew")
    return _checked(delivery, branches)


def _check_suite(delivery: _Delivery) -> Routing:
    # Whoever may write checks hears of suites unasked, also that its own one is complete.
    own = _part(_part(delivery.payload, "check_suite"), "app").get("id") == delivery.own_app_id
    if own and delivery.action == "completed":
        return Ignored("our own check-suite")
    routed = _checks_in("check_suite")(delivery)
    if own and delivery.action == "rerequested":
        suite = _part(delivery.payload, "check_suite")
        asked = delivery.releases([_text(suite, "head_branch"), *_pull_branches(suite)], "checks are asked for anew")
        keys = [key for one in (routed, asked) if isinstance(one, Poked) for key in one.keys]
        return _poked(keys, "checks are asked for anew") or routed
    return routed


def _checks_in(part: str) -> Callable[[_Delivery], Routing]:
    def rule(delivery: _Delivery) -> Routing:
        checked = _part(delivery.payload, part)
        return _checked(delivery, [_text(checked, "head_branch"), *_pull_branches(checked)])

    return rule


def _workflow_run(delivery: _Delivery) -> Routing:
    """A run's name may say whose agent it is; what it checks besides is news of its branch."""
    routed = _checks_in("workflow_run")(delivery)
    run = _part(delivery.payload, "workflow_run")
    if run.get("event") not in DISPATCHES:
        return routed
    named = delivery.tickets(tickets_named(_text(run, "display_title")), "a run of an agent")
    keys = [key for one in (named, routed) if isinstance(one, Poked) for key in one.keys]
    return _poked(keys, "a run of an agent" if isinstance(named, Poked) else "a check changed") or routed


DISPATCHES = ("workflow_dispatch", "repository_dispatch")
"""What starts a run by somebody's request."""


def _status(delivery: _Delivery) -> Routing:
    return _checked(delivery, [_text(branch, "name") for branch in _parts(delivery.payload, "branches")])


def _checked(delivery: _Delivery, branches: list[str]) -> Routing:
    """Checks of the default branch are nobody's news: they come by the hundred and change no ticket."""
    tickets = [owner_of_branch(branch) for branch in branches]
    if any(tickets):
        return delivery.tickets(tickets, "a check changed")
    default = _text(_part(delivery.payload, "repository"), "default_branch")
    if not any(branch and branch != default for branch in branches):
        return Ignored("a check of no branch that matters here")
    return delivery.whole_repository("a check changed: a branch of no known ticket")


def _merge_group(delivery: _Delivery) -> Routing:
    if not _QUEUED_PR.fullmatch(_text(_part(delivery.payload, "merge_group"), "head_ref")):
        return Ignored("not a merge group")
    # It names its pull request by number alone, and that says no ticket.
    return delivery.whole_repository("a merge group changed")


def _repository(delivery: _Delivery) -> Routing:
    return delivery.whole_repository("the repository or its rules changed")


def _installation(delivery: _Delivery) -> Routing:
    if (state := _ENDS.get(delivery.action)) is not None:
        return _left(Left(state))
    if delivery.action not in ("created", "unsuspend", "new_permissions_accepted"):
        return Ignored("the installation ends, or nothing new may be done")
    number = _part(delivery.payload, "installation").get("id")
    if not is_installation_id(number):
        return Ignored("no installation is named")
    # Its repositories may not be listed (unsuspend lists none) or be very many: the key stands for all of them.
    return Poked((str(InstallationKey(int(str(number)))),), "the App may act here now")


_ENDS = {"deleted": Reach.UNINSTALLED, "suspend": Reach.SUSPENDED}


def _left(left: Left) -> Ignored:
    return Ignored(left.reason, left)


def _installation_repositories(delivery: _Delivery) -> Routing:
    if delivery.action == "removed":
        ids = (repository.get("id") for repository in _parts(delivery.payload, "repositories_removed"))
        return _left(Left(Reach.INSTALLED, tuple(int(str(id)) for id in ids if is_installation_id(id))))
    if delivery.action != "added":
        return Ignored("no repository was added")
    names = [repository.get("full_name") for repository in _parts(delivery.payload, "repositories_added")]
    keys = (str(RepositoryKey(str(name))) for name in names if is_repository_name(name))
    return _poked(keys, "the App may act here now") or Ignored("no repository is listed")


def _project_item(delivery: _Delivery) -> Routing:
    item = _part(delivery.payload, "projects_v2_item")
    if item.get("content_type") != "Issue" or delivery.action == "reordered":
        return Ignored("not the fields of an Issue on a board")
    number, issue = _part(delivery.payload, "installation").get("id"), item.get("content_node_id")
    if not is_installation_id(number) or not is_node_id(issue):
        return Ignored("no installation or no Issue is named")
    # The event belongs to the organization and names no repository.
    return Poked((str(IssueKey(int(str(number)), str(issue))),), "an Issue moved on a board")


_RULES: Mapping[str, Callable[[_Delivery], Routing]] = {
    "issues": _issue,
    "issue_comment": _issue_comment,
    "sub_issues": _relations("parent_issue", "sub_issue"),
    "issue_dependencies": _relations("blocked_issue", "blocking_issue"),
    "pull_request": _pull_request,
    "pull_request_review": _pull_request,
    "pull_request_review_comment": _pull_request,
    "pull_request_review_thread": _pull_request,
    "projects_v2_item": _project_item,
    "push": _push,
    "create": _create_or_delete,
    "delete": _create_or_delete,
    "check_run": _check_run,
    "check_suite": _check_suite,
    "workflow_run": _workflow_run,
    "workflow_job": _checks_in("workflow_job"),
    "status": _status,
    "merge_group": _merge_group,
    "repository": _repository,
    "repository_ruleset": _repository,
    "branch_protection_rule": _repository,
    "installation": _installation,
    "installation_repositories": _installation_repositories,
}


def _ticket(named: object) -> TicketId | None:
    if isinstance(named, Child):
        return named if is_number(named.parent) else None
    return int(str(named)) if is_number(named) else None


def _part(of: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = of.get(name)
    return value if isinstance(value, Mapping) else _NOTHING


def _parts(of: Mapping[str, object], name: str) -> Iterator[Mapping[str, object]]:
    value = of.get(name)
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, Mapping))


def _changes_policy(push: Mapping[str, object]) -> bool:
    """Whether one of the commits that the delivery lists changes the policy file."""
    listed = (commit.get(kind) for commit in _parts(push, "commits") for kind in ("added", "modified", "removed"))
    return any(isinstance(paths, list) and PATH in paths for paths in listed)


def _text(of: Mapping[str, object], name: str) -> str:
    value = of.get(name)
    return value if isinstance(value, str) else ""


def _pull_branches(*sources: Mapping[str, object]) -> list[str]:
    return [_text(_part(pull, "head"), "ref") for source in sources for pull in _parts(source, "pull_requests")]


def _poked(keys: Iterable[str], reason: str) -> Poked | None:
    unique = tuple(dict.fromkeys(keys))
    return Poked(unique, reason) if unique else None
