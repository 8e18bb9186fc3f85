"""Merges against merges and against pushes: nobody's commit is lost, and each merge is told once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from emulated import REPO, World, git, new_commit, rest

BASE = f"/repos/{REPO}"
PULLS = 6


def merge(world: World, number: int) -> tuple[int, str]:
    """Merge as a client does that tries again when the base has moved."""
    with rest(world.emulator, world.tokens["bot"]) as client:
        for _ in range(20):
            answer = client.put(f"{BASE}/pulls/{number}/merge", json={})
            if not answer.json()["message"].startswith("Base branch was modified"):
                break
        return answer.status_code, str(answer.json()["message"])


def test_of_two_who_merge_the_same_one_wins(world: World) -> None:
    number = world.open_pull()["number"]
    with ThreadPoolExecutor(4) as pool:
        said = sorted(pool.map(lambda _: merge(world, number), range(4)))
    assert said == [(200, "Pull Request successfully merged")] + [(405, "Pull Request is not mergeable")] * 3
    assert world.timeline(number) == ["merged", "closed"]


def test_merges_and_pushes_to_one_base_lose_nothing(world: World, tmp_path: Path) -> None:
    numbers = []
    for index in range(PULLS):
        name = f"work-{index}"
        world.update_refs({"name": f"refs/heads/{name}", "afterOid": world.head("release-1")})
        world.emulator.commit(REPO, {f"{name}.txt": "w\n"}, branch=name)
        numbers.append(world.open_pull(head=name)["number"])
    clone = world.clone(tmp_path / "c", "dev")
    git(clone, "checkout", "-q", "release-1")

    def push(index: int) -> str:
        for _ in range(20):
            git(clone, "fetch", "-q", "origin", "release-1")
            git(clone, "reset", "-q", "--hard", "origin/release-1")
            sha = new_commit(clone, f"pushed-{index}.txt")
            if git(clone, "push", "-q", "origin", "release-1", check=False).returncode == 0:
                return sha
        raise AssertionError("the push never came through")

    with ThreadPoolExecutor(3) as pool:
        pushed = pool.submit(lambda: [push(index) for index in range(4)])
        merged = list(pool.map(lambda number: merge(world, number), numbers))
        shas = pushed.result()
    assert merged == [(200, "Pull Request successfully merged")] * PULLS
    tip = world.head("release-1")
    for sha in [*shas, *(world.pull(n)["merge_commit_sha"] for n in numbers)]:
        assert world.bot.get(f"{BASE}/compare/{sha}...{tip}").json()["behind_by"] == 0
