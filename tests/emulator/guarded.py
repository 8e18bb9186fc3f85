"""What the tests of guarded branches share: an administrator, rulesets, checks."""

from __future__ import annotations

from typing import Any

import httpx
from emulated import REPO, World, rest

BASE = f"/repos/{REPO}"
RULES_HEAD = "Repository rule violations found\n\n"


def admin(world: World, login: str = "boss") -> httpx.Client:
    """A new administrator of octo/demo."""
    world.tokens[login] = world.emulator.user(login)["token"]
    world.emulator.change_repo(REPO, collaborators={login: "admin"})
    return rest(world.emulator, world.tokens[login])


def reviewer(world: World, login: str) -> httpx.Client:
    """A new person with write access."""
    world.tokens[login] = world.emulator.user(login)["token"]
    world.emulator.change_repo(REPO, collaborators={login: "write"})
    return rest(world.emulator, world.tokens[login])


def ruleset(boss: httpx.Client, *rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An active ruleset on release-1."""
    body = {
        "name": f"rules {len(boss.get(f'{BASE}/rulesets').json())}",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["refs/heads/release-1"], "exclude": []}},
        "rules": list(rules),
    }
    made = boss.post(f"{BASE}/rulesets", json=body | more)
    assert made.status_code == 201, made.text
    return dict(made.json())


def pull_request_rule(count: int = 0, **more: Any) -> dict[str, Any]:
    """A ``pull_request`` rule."""
    parameters = {
        "dismiss_stale_reviews_on_push": False,
        "require_code_owner_review": False,
        "require_last_push_approval": False,
        "required_approving_review_count": count,
        "required_review_thread_resolution": False,
    }
    return {"type": "pull_request", "parameters": parameters | more}


def checks_rule(*checks: dict[str, Any] | str, strict: bool = False) -> dict[str, Any]:
    """A ``required_status_checks`` rule; a bare name may come from anywhere."""
    listed = [{"context": c} if isinstance(c, str) else c for c in checks]
    parameters = {"required_status_checks": listed, "strict_required_status_checks_policy": strict}
    return {"type": "required_status_checks", "parameters": parameters}


def check(world: World, sha: str, name: str, conclusion: str | None = "success", client: Any = None) -> None:
    """A check-run of the App; without a conclusion it is in progress."""
    state = {"conclusion": conclusion} if conclusion else {"status": "in_progress"}
    made = (client or world.bot).post(f"{BASE}/check-runs", json={"name": name, "head_sha": sha} | state)
    assert made.status_code == 201, made.text


def status(client: httpx.Client, sha: str, context: str, state: str = "success") -> None:
    """A commit status."""
    made = client.post(f"{BASE}/statuses/{sha}", json={"state": state, "context": context})
    assert made.status_code == 201, made.text


def merge(client: httpx.Client, number: int, **more: Any) -> httpx.Response:
    """Merge a pull request by REST."""
    return client.put(f"{BASE}/pulls/{number}/merge", json=more)


def refusal(answer: httpx.Response, code: int = 405) -> str:
    """The sentences of a refusal by rulesets."""
    assert answer.status_code == code, answer.text
    message = str(answer.json()["message"])
    assert message.startswith(RULES_HEAD)
    assert message.endswith("\n\n")
    return message.removeprefix(RULES_HEAD).removesuffix("\n\n")
