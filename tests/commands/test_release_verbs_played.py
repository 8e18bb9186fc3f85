"""The words about a release through the webhook, each in one comment on the release PR."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from spoken_world import MARKER, Replica, SpokenWorld

from app.commands.grammar import commands_in
from app.emulator.client import Emulator

if TYPE_CHECKING:
    from release_world import ReleaseWorld

sys.path.append(str(Path(__file__).parents[1] / "release"))


class Stage:
    """A release with its PR, and the service that hears what is said on it."""

    def __init__(self, world: "ReleaseWorld", folder: Path) -> None:
        self.world = world
        self.service = Replica(world, folder / "service.db", None)  # type: ignore[arg-type]
        self.number = 0

    async def begin(self) -> str:
        """The head of the release PR."""
        self.world.require_guard()
        self.world.differ()
        await self.world.settle(self.service.controller)
        self.number = int(self.world.pull()["number"])
        self.world.emulator.advance(2)
        return self.head

    @property
    def head(self) -> str:
        return str(self.world.pull(self.number)["head"]["sha"])

    async def says(self, text: str, by: str = "wanda") -> str:
        comment = self.world.say(by, self.number, f"/recovery {text}")
        payload: dict[str, Any] = {
            "action": "created",
            "issue": self.world.get(f"issues/{self.number}"),
            "comment": comment,
            "sender": comment["user"],
            "repository": {"full_name": "acme/shop", "default_branch": "main"},
        }
        await SpokenWorld.deliver(self.world, self.service, "issue_comment", payload)  # type: ignore[arg-type]
        await self.service.hear()
        (answer,) = self.world.comments(self.number, f"{MARKER}{comment['id']} -->")
        assert commands_in(answer["body"]).commands == ()
        return str(answer["body"])

    async def does(self, text: str, by: str = "wanda") -> str:
        answer = await self.says(text, by)
        assert ": done." in answer, answer
        return answer

    async def refused(self, text: str, by: str = "wanda") -> str:
        answer = await self.says(text, by)
        assert ": not done." in answer, answer
        return answer


@pytest.fixture
async def stage(emulator: Emulator, tmp_path: Path) -> AsyncIterator[Stage]:
    from release_world import ReleaseWorld  # here, because its folder is put on the path above

    world = ReleaseWorld(emulator, tmp_path)
    made = Stage(world, tmp_path)
    yield made
    await made.service.http.aclose()
    await world.close()


async def test_a_release_is_authorized_revoked_authorized_again_and_merged(stage: Stage) -> None:
    sha = await stage.begin()
    assert "authorize-release" in await stage.does("help", "rita")
    assert "takeover" not in await stage.does("help", "rita")
    assert sha in await stage.does("status", "rita")
    assert "authorize" in await stage.refused("merge-release")
    for words in ("", sha[:7]):
        assert f"`/recovery authorize-release {sha}`" in await stage.refused(f"authorize-release {words}", "maya")
    await stage.refused(f"authorize-release {sha}", "rita")
    await stage.refused(f"authorize-release {sha}", "wanda")
    await stage.refused("hold", "maya")
    await stage.does(f"authorize-release {sha}", "maya")
    assert "maya" in await stage.does("status", "rita")
    await stage.refused("revoke-release", "rita")
    await stage.does("revoke-release")
    await stage.refused("merge-release")
    await stage.does(f"authorize-release {sha}", "maya")
    newer = stage.world.differ()
    stage.world.emulator.advance(2)
    assert newer in await stage.refused("merge-release")
    assert f"`/recovery authorize-release {newer}`" in await stage.refused(f"authorize-release {sha}", "maya")
    await stage.world.settle(stage.service.controller)
    await stage.does(f"authorize-release {newer}", "milo")
    await stage.does("merge-release")
    await stage.world.settle(stage.service.controller)
    pull = stage.world.pull(stage.number)
    assert (pull["merged"], pull["merged_by"]["login"]) == (True, stage.world.app["bot_login"])
    assert "merged" in (await stage.says("revoke-release")).lower()
