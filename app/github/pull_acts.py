"""The part of a PR's timeline that tells clicks apart: what is asked of GraphQL, and how it becomes the domain's words.

Each kind has a limit of its own, so that a stream of labels cannot hide who clicked last.
"""

from pydantic import AwareDatetime, Field

from app.domain.model import Message
from app.domain.pull_acts import Act, ActKind

FRAGMENTS = """
fragment acts on PullRequest {
  reviewRequests(first: 50) { nodes { requestedReviewer { ...reviewer } } }
  clicks: timelineItems(last: 5, itemTypes: [READY_FOR_REVIEW_EVENT, CONVERT_TO_DRAFT_EVENT]) {
    nodes {
      __typename
      ... on ReadyForReviewEvent { id createdAt actor { __typename login } }
      ... on ConvertToDraftEvent { id createdAt actor { __typename login } }
    }
  }
  rebased: timelineItems(last: 5, itemTypes: [BASE_REF_CHANGED_EVENT]) {
    nodes { __typename ... on BaseRefChangedEvent { id createdAt currentRefName actor { __typename login } } }
  }
  closings: timelineItems(
    last: 10
    itemTypes: [CLOSED_EVENT, HEAD_REF_DELETED_EVENT, HEAD_REF_FORCE_PUSHED_EVENT, BASE_REF_DELETED_EVENT]
  ) {
    nodes {
      __typename
      ... on ClosedEvent { id createdAt actor { __typename login } }
      ... on HeadRefDeletedEvent { id createdAt actor { __typename login } }
      ... on HeadRefForcePushedEvent { id createdAt actor { __typename login } }
      ... on BaseRefDeletedEvent { id createdAt actor { __typename login } }
    }
  }
  removed: timelineItems(
    last: 50
    itemTypes: [UNASSIGNED_EVENT, UNLABELED_EVENT, REVIEW_REQUESTED_EVENT, REVIEW_REQUEST_REMOVED_EVENT]
  ) {
    nodes {
      __typename
      ... on UnassignedEvent { id createdAt actor { __typename login } assignee { ... on Actor { login } } }
      ... on UnlabeledEvent { id createdAt actor { __typename login } label { name } }
      ... on ReviewRequestedEvent { id createdAt actor { __typename login } requestedReviewer { ...reviewer } }
      ... on ReviewRequestRemovedEvent { id createdAt actor { __typename login } requestedReviewer { ...reviewer } }
    }
  }
}
fragment reviewer on RequestedReviewer { ... on Actor { login } ... on Team { combinedSlug } }
"""

_KINDS: dict[str, ActKind] = {
    "ReadyForReviewEvent": "ready",
    "ConvertToDraftEvent": "draft",
    "BaseRefChangedEvent": "base",
    "UnassignedEvent": "unassigned",
    "UnlabeledEvent": "unlabeled",
    "ReviewRequestedEvent": "review_requested",
    "ReviewRequestRemovedEvent": "review_removed",
    "ClosedEvent": "closed",
    "HeadRefDeletedEvent": "head_gone",
    "HeadRefForcePushedEvent": "head_rewritten",
    "BaseRefDeletedEvent": "base_gone",
}


_PEOPLE = frozenset({"User", "EnterpriseUserAccount"})


class _Account(Message):
    login: str | None = None


class _Actor(_Account):
    typename: str | None = Field(default=None, alias="__typename")


class _Reviewer(Message):
    login: str | None = None
    slug: str | None = Field(default=None, alias="combinedSlug")

    @property
    def name(self) -> str:
        return self.login or self.slug or ""


class _Label(Message):
    name: str


class _Request(Message):
    reviewer: _Reviewer | None = Field(default=None, alias="requestedReviewer")


class ReviewRequests(Message):
    nodes: tuple[_Request, ...] = ()

    def names(self) -> tuple[str, ...]:
        """Accounts by login, teams as `organization/team`."""
        return tuple(node.reviewer.name for node in self.nodes if node.reviewer is not None and node.reviewer.name)


class _Entry(Message):
    typename: str = Field(alias="__typename")
    id: str
    at: AwareDatetime = Field(alias="createdAt")
    actor: _Actor | None = None
    base: str | None = Field(default=None, alias="currentRefName")
    assignee: _Account | None = None
    label: _Label | None = None
    reviewer: _Reviewer | None = Field(default=None, alias="requestedReviewer")

    def act(self, app: str | None) -> Act:
        by = self.actor.login if self.actor is not None else None
        # A person may have the App's name as a login: only an App's own account counts.
        is_app = self.actor is not None and self.actor.typename == "Bot"
        what = self.base or (self.label.name if self.label else None) or (self.reviewer.name if self.reviewer else None)
        return Act(
            id=self.id,
            kind=_KINDS[self.typename],
            by=by,
            ours=is_app and by is not None and app is not None and plain_login(by) == plain_login(app),
            at=self.at,
            what=what or (self.assignee.login if self.assignee else None) or "",
            by_person=self.actor is not None and self.actor.typename in _PEOPLE,
        )


class Timeline(Message):
    nodes: tuple[_Entry, ...] = ()


def acts(app: str | None, *timelines: Timeline) -> tuple[Act, ...]:
    """The entries as acts, in the order in which they were done. `app`: the App's own login; where it is None,
    nothing counts as done by the App.
    """
    found = [entry.act(app) for timeline in timelines for entry in timeline.nodes if entry.typename in _KINDS]
    return tuple(sorted(found, key=lambda act: act.at))


def plain_login(login: str) -> str:
    """An App's login as both forms of GitHub's API have it: the viewer's ends in `[bot]`, an actor's does not."""
    return login.lower().removesuffix("[bot]")
