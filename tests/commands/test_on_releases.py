"""What is said on the PR of a release, from the comment to the merge, and what cannot be said there."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spoken_world import MARKER, Replica, SpokenWorld

from app.emulator.client import Emulator

if TYPE_CHECKING:
    from release_world import ReleaseWorld

sys.path.append(str(Path(__file__).parents[1] / "release"))


@pytest.fixture
async def release(emulator: Emulator, tmp_path: Path) -> AsyncIterator["ReleaseWorld"]:
    from release_world import ReleaseWorld  # here, because its folder is put on the path above

    made = ReleaseWorld(emulator, tmp_path)
    yield made
    await made.close()


async def say(world: "ReleaseWorld", service: Replica, who: str, text: str) -> tuple[list[str], str]:
    """A comment on the release PR, delivered and heard: our reactions, and the one answer."""
    number = int(world.pull()["number"])
    comment = world.say(who, number, text)
    payload = SpokenWorld.payload(world, number, comment)  # type: ignore[arg-type]
    for _ in range(2):
        await SpokenWorld.deliver(world, service, "issue_comment", payload)  # type: ignore[arg-type]
        await service.hear()
    (answer,) = world.comments(number, f"{MARKER}{comment['id']} -->")
    return SpokenWorld.reactions(world, comment["id"]), answer["body"]  # type: ignore[arg-type]


async def test_from_the_word_to_the_merge(release: "ReleaseWorld") -> None:
    from release_world import TRUNK

    service = Replica(release, release.folder / "words.db", None)  # type: ignore[arg-type]
    release.require_guard()
    release.differ()
    await release.settle(service.controller)
    shown, status = await say(release, service, "rita", "/recovery status")
    assert (shown, "`/recovery status`: done." in status) == (["eyes", "rocket"], True)
    shown, refused = await say(release, service, "maya", "/recovery merge-release")
    assert (shown, release.merges()) == (["eyes", "confused"], [])
    assert "not done" in refused
    shown, short = await say(release, service, "maya", "/recovery authorize-release abc")
    assert (shown, "all 40 characters" in short) == (["eyes", "confused"], True)
    head = str(release.head(TRUNK))
    for nobody in ("rita", "wanda"):
        shown, _ = await say(release, service, nobody, f"/recovery authorize-release {head}")
        assert shown == ["eyes", "confused"], nobody
    assert release.guard() == "action_required"
    shown, hold = await say(release, service, "maya", "/recovery hold")
    assert (shown, "the PR of a release" in hold) == (["eyes", "confused"], True)
    shown, authorized = await say(release, service, "maya", f"/recovery authorize-release {head}")
    assert shown == ["eyes", "rocket"], authorized
    await release.settle(service.controller)
    assert release.guard() == "success"
    shown, merged = await say(release, service, "maya", "/recovery merge-release")
    assert shown == ["eyes", "rocket"], merged
    number = int(release.pull()["number"]) if release.pulls("open") else int(release.pulls()[-1]["number"])
    await release.settle(service.controller)
    assert release.merges() == [number]
    await service.http.aclose()


async def test_a_frozen_release_is_begun_anew_by_somebody_with_maintain(release: "ReleaseWorld") -> None:
    from release_world import TRUNK

    service = Replica(release, release.folder / "words.db", None)  # type: ignore[arg-type]
    release.require_guard()
    release.differ()
    await release.settle(service.controller)
    head = str(release.head(TRUNK))
    shown, sound = await say(release, service, "maya", "/recovery recover")
    assert (shown, "ledger is sound" in sound) == (["eyes", "confused"], True)
    await say(release, service, "maya", f"/recovery authorize-release {head}")
    await release.settle(service.controller)
    assert release.guard() == "success"
    # Somebody rolls the ledger back to before a revoke.
    ref = f"agent-recovery/releases/{TRUNK}"
    (authorized,) = release.get(f"git/matching-refs/{ref}")
    await say(release, service, "milo", "/recovery revoke-release")
    release.as_person("wanda", "PATCH", f"git/refs/{ref}", sha=authorized["object"]["sha"], force=True)
    await release.settle(service.controller)
    assert release.guard() == "action_required"
    (report,) = [c["body"] for c in release.ours(int(release.pull()["number"])) if "has stopped acting" in c["body"]]
    assert "`/recovery recover`" in report
    shown, frozen = await say(release, service, "maya", "/recovery merge-release")
    assert (shown, "`/recovery recover`" in frozen) == (["eyes", "confused"], True)
    shown, refused = await say(release, service, "wanda", "/recovery recover")
    assert (shown, "needs maintain" in refused) == (["eyes", "confused"], True)
    assert release.get(f"git/matching-refs/{ref}") == [authorized]
    shown, begun = await say(release, service, "milo", f"/recovery recover\n\n/recovery authorize-release {head}")
    assert shown == ["eyes", "confused"]
    assert "`/recovery recover`: done" in begun
    assert "`/recovery authorize-release`: not done" in begun
    kept = release.get(f"git/matching-refs/agent-recovery/recovered/release.{TRUNK}/")
    assert [one["object"]["sha"] for one in kept] == [authorized["object"]["sha"]]
    await release.settle(service.controller)
    assert (release.guard(), release.merges()) == ("action_required", [])
    release.emulator.advance(2)
    shown, anew = await say(release, service, "maya", f"/recovery authorize-release {head}")
    assert shown == ["eyes", "rocket"], anew
    await release.settle(service.controller)
    assert release.guard() == "success"
    shown, merged = await say(release, service, "maya", "/recovery merge-release")
    assert shown == ["eyes", "rocket"], merged
    await release.settle(service.controller)
    assert (len(release.merges()), release.issues_of_app()) == (1, [])
    await service.http.aclose()
