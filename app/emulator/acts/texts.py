"""The length of what people write, as GitHub counts it.

GitHub's refusal speaks of 65,536 characters. Measured in September 2026 (objectstack-ai/objectstack#18793, #18826) it
comes at 262,145 bytes of UTF-8 for comments and Issues, and an Issue's body that is too long is dropped from a PATCH
without a word; pull requests were seen to keep to the characters (dead-claudia/github-limits#13). Reports differ, so
the emulator refuses at the smaller limit unless the switch ``text_limit`` says "bytes".
"""

from __future__ import annotations

from app.emulator.errors import ApiError
from app.emulator.state import Repository
from app.emulator.world import World

MAX_CHARS = 65_536
MAX_BYTES = 262_144
MAX_TITLE = 256


def too_long(world: World, repo: Repository, body: str | None, *, pull: bool = False) -> bool:
    """Would GitHub refuse to store this text?"""
    if body is None:
        return False
    if world.switches.value(repo.id, "text_limit") == "bytes" and not pull:
        return len(body.encode("utf-8", "surrogatepass")) > MAX_BYTES
    return len(body) > MAX_CHARS


def check_comment(world: World, repo: Repository, body: str, *, word: str = "Body") -> None:
    """Refuse a comment that is too long with GitHub's sentence, which an edit begins in lower case."""
    if too_long(world, repo, body):
        message = f"{word} is too long (maximum is {MAX_CHARS} characters)"
        raise ApiError(
            422,
            "Validation Failed",
            [{"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": message}],
        )


def check_body(world: World, repo: Repository, body: str | None, *, pull: bool = False) -> None:
    """Refuse the text of a new Issue or pull request that is too long. GitHub names the resource "Issue" for both
    (renovatebot/renovate#2032, denoland/bump-workspaces#34)."""
    if too_long(world, repo, body, pull=pull):
        message = f"body is too long (maximum is {MAX_CHARS} characters)"
        raise ApiError(
            422,
            "Validation Failed",
            [{"resource": "Issue", "code": "custom", "field": "body", "message": message}],
        )


def check_title(resource: str, title: str) -> None:
    """Refuse an empty or overlong title."""
    if not title.strip():
        raise ApiError(422, "Validation Failed", [{"resource": resource, "field": "title", "code": "missing_field"}])
    if len(title) > MAX_TITLE:
        message = f"title is too long (maximum is {MAX_TITLE} characters)"
        raise ApiError(
            422, "Validation Failed", [{"resource": resource, "code": "custom", "field": "title", "message": message}]
        )
