"""A pack passed on with objects of ours: git takes it, whole and in whatever pieces it came."""

import hashlib
import random
import subprocess
from pathlib import Path

import pytest

from app.github.pack import BadPack, NewObject, PassedPack, empty_pack


def git(*arguments: str, cwd: Path, stdin: bytes = b"") -> bytes:
    return subprocess.run(["git", *arguments], cwd=cwd, input=stdin, capture_output=True, check=True).stdout


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    git("init", "-q", "--bare", "bare", cwd=tmp_path)
    return tmp_path / "bare"


@pytest.fixture
def pack(tmp_path: Path) -> bytes:
    """A pack of a few objects, one of them large enough for a long header."""
    git("init", "-q", "work", cwd=tmp_path)
    work = tmp_path / "work"
    blobs = [random.Random(seed).randbytes(seed * 7000) for seed in range(1, 6)]
    shas = [git("hash-object", "-w", "--stdin", cwd=work, stdin=blob).decode().strip() for blob in blobs]
    return git("pack-objects", "--stdout", cwd=work, stdin="\n".join(shas).encode())


def passed(pack: bytes, objects: list[NewObject], sizes: list[int]) -> bytes:
    through, sent, at = PassedPack(objects), b"", 0
    while at < len(pack):
        size = sizes[at % len(sizes)]
        sent += through.pass_on(pack[at : at + size])
        at += size
    return sent + through.end()


@pytest.mark.parametrize(
    ("sizes", "length"),
    [([1], 16), ([7, 64], 0), ([3, 11, 20, 21, 4096], 15), ([100_000], 2047), ([100_000], 2048), ([999], 48 * 1024)],
)
def test_git_reads_our_object_behind_theirs(bare: Path, pack: bytes, sizes: list[int], length: int) -> None:
    content = bytes(i % 251 for i in range(length))
    sent = passed(pack, [NewObject("blob", content)], sizes)
    git("index-pack", "--stdin", "--strict", cwd=bare, stdin=sent)
    name = hashlib.sha1(f"blob {length}\0".encode() + content, usedforsecurity=False).hexdigest()
    assert git("cat-file", "blob", name, cwd=bare) == content
    listed = git("cat-file", "--batch-all-objects", "--batch-check", cwd=bare).splitlines()
    assert len(listed) == 6


def test_an_empty_pack_takes_objects_too(bare: Path) -> None:
    git("unpack-objects", cwd=bare, stdin=passed(empty_pack(), [NewObject("blob", b"x")], [5]))
    assert b"blob" in git("cat-file", "--batch-all-objects", "--batch-check", cwd=bare)


def test_without_objects_a_pack_stays_as_it_is(pack: bytes) -> None:
    assert passed(pack, [], [777]) == pack


@pytest.mark.parametrize("damage", ["cut", "byte", "no pack", "short", "version"])
def test_what_is_no_whole_pack_is_told_as_such(pack: bytes, damage: str) -> None:
    bad = {
        "cut": pack[:-30],
        "byte": pack[:500] + bytes([pack[500] ^ 1]) + pack[501:],
        "no pack": b"x" * 100,
        "short": b"PACK",
        "version": b"PACK" + (9).to_bytes(4, "big") + pack[8:],
    }[damage]
    with pytest.raises(BadPack):
        passed(bad, [], [1000])


def test_it_holds_twenty_bytes_however_long_the_pack_is() -> None:
    through = PassedPack()
    sent = len(through.pass_on(empty_pack()[:12]))
    for _ in range(50):
        sent += len(through.pass_on(bytes(64 * 1024)))
    assert sent == 12 + 50 * 64 * 1024 - 20
