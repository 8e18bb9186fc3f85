"""Proposing a policy: one file on a branch of its own, in a pull request. The default branch is never pushed to, and no
file, branch or pull request that stands is ever changed.

What if it happened and we did not hear: the next run finds the branch and the pull request, and goes on from there.
What if two of us do it: GitHub lets one branch and one pull request stand.
"""

from dataclasses import dataclass

from app.controller.view import Views
from app.domain.observation import Pull
from app.domain.outcome import Blocked, Code, Refused
from app.domain.policy import PATH, Mode
from app.domain.proposed_policy import BRANCH, Proposed, proposed_policy
from app.github.discovery import Page
from app.github.errors import Validation
from app.github.pulls import PullRefusal, PullRefused
from app.github.repository import Repository

MOST_PAGES = 10
TITLE = "Add a policy for Agent Recovery"


@dataclass(frozen=True)
class Proposal:
    """`existing`: the policy file that stands on the default branch. `pull`: the open pull request that proposes one.
    Either way nothing is left to write.
    """

    repository: str
    default_branch: str
    default_head: str
    proposed: Proposed
    existing: str | None
    pull: Pull | None


@dataclass(frozen=True)
class Opened:
    """The pull request that proposes the policy. `by_us`: it was opened by this call."""

    number: int
    url: str


class Proposing:
    """Proposes policies."""

    def __init__(self, views: Views) -> None:
        self._views = views

    async def prepare(
        self, owner: str, name: str, *, mode: Mode, label: str | None, schema_url: str | None
    ) -> Proposal:
        """What would be proposed, and what stands already. Reads only. Raises Refused, GitHubError."""
        repo, _ = await self._views.ledger(owner, name)
        seen = await repo.discover(None, Page(more=False), Page(more=False), Page(), PATH)
        if seen.archived:
            raise Refused(_blocked(f"{repo.full_name} is archived", "unarchive it first"))
        if seen.default_head is None:
            raise Refused(_blocked(f"{repo.full_name} has no commit yet", "push a first commit"))
        branches, rest = [b.name for b in seen.branches], seen.next_branch
        for _ in range(MOST_PAGES - 1):
            if not rest.more:
                break
            page = await repo.discover(None, Page(more=False), Page(more=False), rest, PATH)
            branches += [b.name for b in page.branches]
            rest = page.next_branch
        labels = await repo.label_names()
        if label is not None and label.casefold() not in {known.casefold() for known in labels}:
            raise Refused(_blocked(f"the repository has no label {label!r}", "create it, or choose one that it has"))
        standing = await repo.find_pulls(BRANCH, seen.default_branch, "open")
        try:
            made = proposed_policy(branches, labels, seen.default_branch, mode=mode, label=label, schema_url=schema_url)
        except ValueError:
            raise Refused(_blocked(f"no policy can name the label {label!r}", "choose another label")) from None
        return Proposal(
            repository=repo.full_name,
            default_branch=seen.default_branch,
            default_head=seen.default_head,
            proposed=made,
            existing=seen.policy_text,
            pull=standing[0] if standing else None,
        )

    async def open(self, owner: str, name: str, proposal: Proposal) -> Opened:
        """Open the pull request. Raises Refused where something else stands in its place, GitHubError."""
        repo, _ = await self._views.ledger(owner, name)
        text, base = proposal.proposed.text, proposal.default_branch
        head = await repo.commit_of_branch(BRANCH)
        if head is None:
            commit = await repo.commit_with_file(proposal.default_head, PATH, text, TITLE)
            await self._branch(repo, commit)
        elif await _file_at(repo, head) != text:
            reason = f"the branch {BRANCH} stands already and holds something else"
            raise Refused(_blocked(reason, "open a pull request from it yourself, or delete it and run this again"))
        answer = await repo.create_pull(BRANCH, base, TITLE, _body(text), draft=False)
        if not isinstance(answer, PullRefused):
            return Opened(answer.number, answer.url)
        standing = await repo.find_pulls(BRANCH, base, "open")
        if answer.kind is PullRefusal.ALREADY_EXISTS and standing:
            return Opened(standing[0].number, standing[0].url)
        raise Refused(_blocked(f"GitHub opens no pull request: {answer.message}", "mend that and run this again"))

    async def _branch(self, repo: Repository, commit: str) -> None:
        try:
            made = await repo.create_branch(BRANCH, commit)
        except Validation as refusal:
            reason = f"GitHub makes no branch {BRANCH}: {'; '.join(refusal.sentences)}"
            raise Refused(_blocked(reason, "let the App make that branch, or add the printed file yourself")) from None
        if not made:
            raise Refused(_blocked(f"the branch {BRANCH} came meanwhile", "run this again"))


async def _file_at(repo: Repository, commit: str) -> str | None:
    page = await repo.policy_line(commit, PATH)
    blob = next((at.blob for at in page.commits if at.commit == commit), None)
    return None if blob is None else (await repo.blob_texts([blob])).get(blob)


def _body(text: str) -> str:
    return (
        "This adds the file that says how far Agent Recovery may go in this repository. The App reads it from the "
        "default branch only, and writes nothing while it says `observe`.\n\n"
        f"```yaml\n{text}```\n\n"
        "`agent-recovery plan --repo OWNER/NAME` shows what each mode would do here. Closing this pull request changes "
        "nothing."
    )


def _blocked(reason: str, remedy: str) -> Blocked:
    return Blocked(Code.USAGE, reason, remedy)
