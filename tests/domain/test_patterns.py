"""Which files a policy's patterns protect; how branches are matched stands beside the trunks."""

import pytest

from app.domain.patterns import protected
from app.domain.policy import Policy

DEFAULT = Policy().protected_paths


@pytest.mark.parametrize(
    ("pattern", "file", "expected"),
    [
        (".github/**", ".github/workflows/ci.yml", True),
        (".github/**", ".github/agent-recovery.yml", True),
        (".github/**", ".github", True),  # replaced by a link or a submodule
        (".github/**", ".githubx/ci.yml", False),
        (".github/**", "docs/.github/ci.yml", False),
        ("**/.github/**", "docs/.github/ci.yml", True),
        ("**/.github/**", ".github/ci.yml", True),
        (".github/", ".github/workflows/ci.yml", True),
        (".github/*", ".github/workflows/ci.yml", False),
        (".github/*", ".github/CODEOWNERS", True),
        ("AGENTS.md", "AGENTS.md", True),
        ("AGENTS.md", "agents.MD", True),
        ("AGENTS.md", "packages/api/AGENTS.md", True),
        ("AGENTS.md", "AGENTS.md.bak", False),
        ("AGENTS.md", "OTHERAGENTS.md", False),
        ("/AGENTS.md", "AGENTS.md", True),
        ("/AGENTS.md", "packages/api/AGENTS.md", False),
        ("./Makefile", "Makefile", True),
        ("*.tf", "infra/main.tf", True),
        ("infra/*.tf", "infra/main.tf", True),
        ("infra/*.tf", "infra/eu/main.tf", False),
        ("infra/**/*.tf", "infra/eu/main.tf", True),
        ("**", "anything/at/all", True),
        ("a[b].md", "ab.md", False),
        ("a[b].md", "a[b].md", True),
        ("(.*)+$", "whatever", False),
        ("?", "ä", True),
        ("dir/\n/x", "dir/\n/x", True),  # a file's name may hold a line end
    ],
)
def test_a_file_is_protected(pattern: str, file: str, expected: bool) -> None:
    assert protected([file], [pattern]) == ((file,) if expected else ())


@pytest.mark.parametrize(
    "file",
    [
        ".github/workflows/release.yml",
        ".claude/settings.json",
        ".mcp.json",
        "AGENTS.md",
        "CLAUDE.md",
        "sub/CLAUDE.md",
        ".githooks/pre-push",
        ".husky/pre-commit",
    ],
)
def test_what_the_policy_protects_by_itself(file: str) -> None:
    assert protected([file, "src/app.py"], DEFAULT) == (file,)


def test_no_pattern_is_slow() -> None:
    assert protected(["a" * 255] * 5, ["*a" * 100 + "b", "**a" * 80 + "b"]) == ()


def test_many_files_are_quick() -> None:
    files = [f"src/module_{n}/part_{n}/file.py" for n in range(3000)]
    assert protected([*files, "AGENTS.md"], DEFAULT) == ("AGENTS.md",)


def test_the_root_is_everything() -> None:
    assert protected(["a", "b/c"], ["/"]) == ("a", "b/c")
