"""Stories of releases, played with every call disturbed: the one PR, a person's word, the merge, and its incident."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from loop_world import REPO, LoopWorld
from release_world import INTO, TRUNK, ReleaseWorld

from app.domain.keys import TicketKey, TrunkKey
from tests.crash import Play, Story
from tests.crash_end import git_of, repository_of
from tests.crash_words import SpokenPlay, answers_of, reactions_of

LEDGER = f"refs/agent-recovery/releases/{TRUNK}"


class ReleasePlay(SpokenPlay):
    """A play in the world of a release: its trunk is looked after."""

    longest_wait_s = 200.0

    @property
    def keys(self) -> list[TicketKey | TrunkKey]:
        return [TrunkKey(REPO, TRUNK)]

    @property
    def at(self) -> ReleaseWorld:
        assert isinstance(self.world, ReleaseWorld)
        return self.world

    def _people(self, world: LoopWorld) -> dict[str, str]:
        assert isinstance(world, ReleaseWorld)
        return {who: client.headers["Authorization"].split()[1] for who, client in world.people.items()}


@dataclass(frozen=True)
class ReleaseEnd:
    """The end of a release, without anything that differs from run to run."""

    pulls: tuple[tuple[str, bool, str], ...]
    """(state, merged, base) of each PR of the trunk."""
    guards: tuple[tuple[str, ...], ...]
    """What the guard says on the heads of those PRs and on the trunk: one word each."""
    doubled: int
    """Guard runs beyond one a commit. GitHub lets nobody delete a check-run."""
    merges: int
    base_has_trunk: bool
    comments: int
    """Comments of the App that show what is authorized, on all of those PRs."""
    incidents: int
    status: str
    open_permits: int
    receipts: tuple[tuple[str, str], ...]
    """(who, why it counts no more) of the record's receipts."""
    merged: int
    """What the record knows as merged."""
    answers: tuple[tuple[str, ...], ...]
    reactions: tuple[tuple[str, ...], ...]


async def release_end(play: Play, data: Path) -> ReleaseEnd:
    """The end of a play of a ReleasePlay; `data` is where the emulator keeps its repositories."""
    assert isinstance(play, ReleasePlay)
    world, bare = play.at, repository_of(data)
    record = json.loads(git_of(bare, "show", f"{LEDGER}:record.json"))
    pulls = world.pulls()
    heads = dict.fromkeys([*(str(p["head"]["sha"]) for p in pulls), str(world.head(TRUNK))])
    runs = {sha: world.guards(sha) for sha in heads}
    shown = [c["body"] for p in pulls for c in world.ours(p["number"]) if "agent-recovery:release:" in c["body"]]
    base = git_of(bare, "merge-base", INTO, TRUNK)
    return ReleaseEnd(
        pulls=tuple((p["state"], p["merged_at"] is not None, p["base"]["ref"]) for p in pulls),
        guards=tuple(tuple(sorted({str(r["conclusion"]) for r in runs[sha]})) for sha in heads),
        doubled=sum(len(of_one) - 1 for of_one in runs.values() if of_one),
        merges=len(world.merges()),
        base_has_trunk=base == world.head(TRUNK),
        comments=len(shown),
        incidents=len(world.issues_of_app()),
        status=record["status"],
        open_permits=len(record.get("open", ())),
        receipts=tuple((a["by"]["login"], (a.get("voided") or {}).get("why", "")) for a in record["authorizations"]),
        merged=len(record["merged"]),
        answers=answers_of(play),
        reactions=reactions_of(play),
    )


Scene = Callable[[ReleasePlay], Awaitable[None]]


def _story(before: Scene, then: Scene) -> Story:
    """What is disturbed is `then`, once `before` has come to rest."""

    async def story(play: Play) -> None:
        assert isinstance(play, ReleasePlay)
        play.at.require_guard()
        await before(play)
        await play.settle()
        play.begin()
        await then(play)

    return story


async def _nothing(play: ReleasePlay) -> None:
    """The trunk brings nothing yet."""


async def _differs(play: ReleasePlay) -> None:
    play.at.differ("pears")


async def _authorized(play: ReleasePlay) -> None:
    await _differs(play)
    await play.settle()
    await authorize(play)


async def authorize(play: ReleasePlay) -> None:
    """The word of a person who may, for the head that stands now."""
    await play.say(f"/recovery authorize-release {play.at.head(TRUNK)}", "maya", _number(play))


async def merge(play: ReleasePlay) -> None:
    """Ask for the merge."""
    await play.say("/recovery merge-release", "maya", _number(play))


async def authorize_and_merge(play: ReleasePlay) -> None:
    """Both, one after the other."""
    await authorize(play)
    await play.settle()
    await merge(play)


async def revoke(play: ReleasePlay) -> None:
    """The word is taken back."""
    await play.say("/recovery revoke-release", "maya", _number(play))


async def push_once_more(play: ReleasePlay) -> None:
    """Another commit than the authorized one."""
    play.at.differ("plums")


async def merge_unauthorized(play: ReleasePlay) -> None:
    """Without a word for it."""
    await play.say("/recovery merge-release", "maya", _number(play))


async def merge_by_hand(play: ReleasePlay) -> None:
    """Somebody merges it around the guard, which an administrator took away."""
    for ruleset in play.at.get("rulesets"):
        play.at.as_person("boss", "DELETE", f"rulesets/{ruleset['id']}")
    pull = play.at.pull()
    query = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
    assert "errors" not in play.at.graphql("boss", query, id=pull["node_id"])
    play.at.as_person("boss", "PUT", f"pulls/{pull['number']}/merge")


def _number(play: ReleasePlay) -> int:
    return int(play.at.pull()["number"])


STORIES_OF_RELEASES: dict[str, Story] = {
    "first difference": _story(_nothing, _differs),
    "authorize-release": _story(_differs, authorize),
    "authorize and merge": _story(_differs, authorize_and_merge),
    "merge-release": _story(_authorized, merge),
    "merge-release unauthorized": _story(_differs, merge_unauthorized),
    "revoke-release": _story(_authorized, revoke),
    "another head": _story(_authorized, push_once_more),
    "merged by hand": _story(_differs, merge_by_hand),
}
