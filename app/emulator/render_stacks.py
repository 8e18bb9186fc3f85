"""How REST answers and webhook payloads show stacks of pull requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.emulator.stack_state import Stack
from app.emulator.state import Account, PullRequest, Repository

Json = dict[str, Any]


class StackRender:
    """The part of the renderer that shows stacks; the rest of it is in :mod:`app.emulator.render`."""

    html: str
    api: str

    if TYPE_CHECKING:

        def account_or_none(self, account: Account | None) -> Json | None: ...

    def stack(self, stack: Stack) -> Json:
        """A stack with its pull requests."""
        return self._stack(stack) | {"pull_requests": [self._pull_of_stack(pull) for pull in stack.pulls]}

    def stack_in_list(self, stack: Stack) -> Json:
        """A stack as lists show it."""
        return self._stack(stack) | {"pull_requests": [_short(pull) for pull in stack.pulls]}

    def stack_of(self, pull: PullRequest) -> Json | None:
        """The place of a pull request in its stack; null where it is in none."""
        stack = pull.stack
        if stack is None:
            return None
        sha = stack.repo.git.branch(stack.base_ref) or pull.base_sha
        return {
            "id": stack.id,
            "number": stack.number,
            "size": len(stack.pulls),
            "position": stack.pulls.index(pull) + 1,
            "base": {"ref": stack.base_ref, "sha": sha},
        }

    def _stack(self, stack: Stack) -> Json:
        return {
            "id": stack.id,
            "number": stack.number,
            "node_id": stack.node_id,
            "url": f"{self.api}/repos/{stack.repo.full_name}/stacks/{stack.number}",
            "base": {"ref": stack.base_ref},
            "open": any(pull.state == "open" for pull in stack.pulls),
            "created_at": stack.created_at,
        }

    def _pull_of_stack(self, pull: PullRequest) -> Json:
        name = pull.repo.full_name
        return {
            "id": pull.pull_id,
            "node_id": pull.node_id,
            "number": pull.number,
            "url": f"{self.api}/repos/{name}/pulls/{pull.number}",
            "html_url": f"{self.html}/{name}/pull/{pull.number}",
            "title": pull.title,
            "state": pull.state,
            "draft": pull.draft,
            "merged_at": pull.merged_at,
            "user": self.account_or_none(pull.author),
            "head": {"ref": pull.head_ref, "sha": pull.head_sha, "repo": self._place(pull.repo)},
            "base": {"ref": pull.base_ref, "sha": pull.base_sha, "repo": self._place(pull.repo)},
        }

    def _place(self, repo: Repository) -> Json:
        return {"id": repo.id, "url": f"{self.api}/repos/{repo.full_name}", "name": repo.name}


def _short(pull: PullRequest) -> Json:
    return {
        "number": pull.number,
        "state": pull.state,
        "draft": pull.draft,
        "merged_at": pull.merged_at,
        "head": {"ref": pull.head_ref, "sha": pull.head_sha},
    }
