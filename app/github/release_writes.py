"""What the App writes about a release's pull request, its merge among it.

Landing has its own way to merge, which takes a ticket's pull request and nothing else; this one takes the order that an
authorized release alone becomes. Neither can express the other.
"""

import re

from app.domain.model import Message
from app.domain.release_actions import MergeRelease
from app.github.branch_rules import GuardedBranches
from app.github.errors import Conflict, Forbidden, GraphQLFailed, MethodNotAllowed, NotFound, Unanswered, Validation
from app.github.merging import MergeReply

_MERGE = "/repos/{owner}/{repo}/pulls/{number}/merge"
_PULL = "/repos/{owner}/{repo}/pulls/{number}"
_STOP = """
mutation StopAutoMerge($id: ID!) {
  disablePullRequestAutoMerge(input: {pullRequestId: $id}) { clientMutationId }
}
"""
_SHA = re.compile(r"[0-9a-f]{40}")
_NONE_TO_STOP = "can't disable auto-merge"


class ReleaseWrites(GuardedBranches):
    """Writes about a release's pull request."""

    async def merge_release(self, order: MergeRelease) -> MergeReply:
        """Merge a release, if its head is still the authorized commit. Never later, never through a queue and never
        together with anything else: where GitHub would have it so, its refusal is the answer.

        Refusals are values; Moved, Suspended and RateLimited are raised, and then nothing was done. Raises ValueError
        on an order that names no full commit, nobody who authorized it, or nobody who asked for it. `sha` does not bind
        the base: the caller has just read that it is `order.base`, and compares after the merge.

        Done but not heard: status None, and the pull request says whether it is merged; it is never asked for again
        unread. Two of us: GitHub merges once and tells the other `not mergeable`. Lease gone: none is involved; where
        the authorization goes, the guard is red and the PR a draft before anybody is told, and GitHub refuses every
        other head.
        """
        if not _SHA.fullmatch(order.head_sha) or not order.authorized_by or not order.asked_by:
            raise ValueError(
                "a release is merged for one full commit, which somebody authorized and somebody asked for"
            )
        fields = {
            "sha": order.head_sha,
            "merge_method": order.method,
            "commit_title": order.title,
            "commit_message": order.message,
        }
        try:
            answer = await self.session.write("PUT", _MERGE, self._at(number=order.number), fields)
        except Unanswered as e:
            return MergeReply(None, e.message)
        except (Conflict, Forbidden, MethodNotAllowed, NotFound, Validation) as e:
            # What was refused may be refused by a rule that was not there when the rules were read.
            self.forget_branch_rules()
            words = e.sentences if isinstance(e, Validation) else e.lines
            return MergeReply(e.status or 405, "\n".join(words))
        done = _Merged.model_validate(answer.body if isinstance(answer.body, dict) else {})
        return MergeReply(answer.status, done.message, done.sha) if done.merged else MergeReply(None, done.message)

    async def stop_auto_merge(self, node_id: str) -> None:
        """Switch a pull request's auto-merge off; where it is off already, that is what was wanted. Raises
        GraphQLFailed where GitHub refuses it, Unanswered, and other GitHubErrors.

        Done but not heard, or two of us: it is off, and the pull request shows it. Lease gone: no release merges by
        itself, whoever holds what; a person may switch it on again, and the next look switches it off.
        """
        try:
            await self.session.mutate("StopAutoMerge", _STOP, {"id": node_id})
        except GraphQLFailed as e:
            if not all(_NONE_TO_STOP in problem.message.lower().replace("’", "'") for problem in e.errors):
                raise

    async def edit_text(self, number: int, title: str | None, body: str | None) -> None:
        """Replace a pull request's title, its body, or both (None: as it is). Raises NotFound, Validation and other
        GitHubErrors.

        Done but not heard, or two of us: both are set to a value, which the next look compares. Lease gone: a late old
        list of tickets is visible and is brought up to date.
        """
        given = {"title": title, "body": body}
        fields = {name: value for name, value in given.items() if value is not None}
        if fields:
            await self.session.write("PATCH", _PULL, self._at(number=number), fields)


class _Merged(Message):
    merged: bool = False
    message: str = ""
    sha: str | None = None
