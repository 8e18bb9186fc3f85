"""The bytes of receive-pack, read by real git where git can read them."""

import subprocess
from pathlib import Path

import pytest

from app.domain.model import ZERO_SHA
from app.github.pack import empty_pack
from app.github.receive_pack import advertised_capabilities, report_of, request_body

REF, OTHER = "refs/agent-recovery/active/42", "refs/agent-recovery/done/42"


def git(*args: str, cwd: Path, stdin: bytes | None = None) -> bytes:
    return subprocess.run(["git", *args], cwd=cwd, input=stdin, check=True, capture_output=True).stdout


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    git("init", "-q", "--bare", ".", cwd=tmp_path)
    return tmp_path


def commit(bare: Path, message: str) -> str:
    tree = git("hash-object", "-t", "tree", "-w", "/dev/null", cwd=bare).decode().strip()
    who = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"]
    return git(*who, "commit-tree", tree, "-m", message, cwd=bare).decode().strip()


def push(bare: Path, commands: list[tuple[str, str, str]]) -> dict[str, str | None]:
    answer = git("receive-pack", "--stateless-rpc", ".", cwd=bare, stdin=request_body(commands))
    return report_of(answer, [ref for ref, _, _ in commands])


def refs(bare: Path) -> dict[str, str]:
    lines = git("for-each-ref", "--format=%(refname) %(objectname)", cwd=bare).decode().split("\n")
    return dict(line.split(" ", 1) for line in lines if line)


def test_real_git_takes_commands_with_an_empty_pack(bare: Path) -> None:
    first, second = commit(bare, "1"), commit(bare, "2")
    assert push(bare, [(REF, ZERO_SHA, first), (OTHER, ZERO_SHA, first)]) == {REF: None, OTHER: None}
    assert push(bare, [(REF, first, second), (OTHER, first, ZERO_SHA)]) == {REF: None, OTHER: None}
    assert refs(bare) == {REF: second}
    assert push(bare, [(REF, second, ZERO_SHA)]) == {REF: None}
    assert refs(bare) == {}


def test_one_stale_value_refuses_all_and_the_report_says_why(bare: Path) -> None:
    first, second = commit(bare, "1"), commit(bare, "2")
    push(bare, [(REF, ZERO_SHA, first)])
    report = push(bare, [(OTHER, ZERO_SHA, second), (REF, second, first)])
    assert report[REF]
    assert report[OTHER]
    assert refs(bare) == {REF: first}


def test_the_advertisement_says_what_the_server_can(bare: Path) -> None:
    advertised = git("receive-pack", "--stateless-rpc", "--http-backend-info-refs", ".", cwd=bare)
    assert advertised_capabilities(advertised) >= {"report-status", "atomic", "delete-refs"}


def test_an_empty_pack_is_32_bytes_git_accepts(bare: Path) -> None:
    assert len(empty_pack()) == 32
    git("unpack-objects", "-n", cwd=bare, stdin=empty_pack())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>sorry</html>",
        b"000eunpack ok\n0000",
        b"000eunpack ok\n0015ok refs/heads/other\n0000",
        b"fffeunpack ok\n",
        b"000eunpack ok\n" + b"zzzz",
    ],
)
def test_a_report_that_leaves_a_ref_out_is_no_report(body: bytes) -> None:
    with pytest.raises(ValueError, match="without a complete report"):
        report_of(body, [REF])


def test_a_pack_that_was_not_unpacked_moves_nothing() -> None:
    assert report_of(b"001aunpack missing object\n0000", [REF]) == {REF: "unpack: missing object"}
