"""Plays a story from the first chapter to the summary, whatever happens in between."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.drill.processes import StoryStopped
from app.drill.proof import Unproved
from app.drill.story import PROOFS, Story
from app.drill.story_landing import Delivery
from app.drill.story_release import Release
from app.drill.story_resume import PROOFS as PROOFS_OF_RESUMING
from app.drill.story_resume import tell_of_resuming
from app.drill.story_zombie import Zombie
from app.drill.telling import Result, Telling
from app.drill.world import World
from app.drill.world_resume import ResumeWorld


@dataclass(frozen=True)
class Tale:
    """One story of the demo: what it is about, what it proves, where it plays. `measures` as in a `Result`."""

    about: str
    proofs: tuple[str, ...]
    world: type[World]
    tell: Callable[[Story], None]
    measures: bool


def play(
    folder: Path,
    *,
    seed: int,
    story: str = "delivery",
    telling: Telling,
    at_end: Callable[[Result], None] = lambda _: None,
    as_data: Callable[[dict[str, Any]], None] | None = None,
) -> Result:
    """Plays a story of `TALES` once in `folder` and stops everything it started, after `at_end` returns.

    What was not proved stands in the result's `failed` with the reason. `as_data` gets the outcome as data.
    """
    tale = TALES[story]
    result = Result(seed=seed, story=story, measures=tale.measures)
    world: World | None = None
    try:
        try:
            telling.doing("starting a GitHub on this machine")
            world = tale.world(folder)
            tale.tell(Story(world, telling, result))
        except (StoryStopped, Unproved) as stop:
            telling.settle()
            telling.remark(f"The story stopped: {stop}")
            left = [name for name in tale.proofs if name not in result.proved | result.failed]
            result.not_reached = dict.fromkeys(left, str(stop)[:600])
        result.seconds = telling.seconds
        if world is not None:
            result.urls = {"GitHub": world.emulator.url, "service": world.service_url, "folder": str(folder)}
        telling.summary(result)
        if as_data is not None:
            as_data(result.data())
        at_end(result)
        return result
    finally:
        telling.settle()
        if world is not None:
            world.stop()


def tell_of_delivery(story: Story) -> None:
    """Every chapter in order. Raises StoryStopped where the story cannot go on."""
    story.install()
    agents = story.work_until_death()
    story.lose_the_service()
    story.recover(agents)
    zombie = Zombie(story, agents)
    zombie.with_its_old_lease()
    zombie.with_a_plain_push()
    zombie.with_a_forced_push()
    zombie.with_a_deletion()
    ledger_head = zombie.with_the_ledger_moved_back()
    story.look_for_duplicates(story.place, ledger_head)
    assert agents.second_folder is not None
    delivery = Delivery(story, agents.second_folder, ledger_head)
    delivery.with_a_missing_pull()
    delivery.until_both_are_ready()
    delivery.until_both_have_landed()
    for place in delivery.places():
        story.look_for_duplicates(place, story.world.observer.ledger_anywhere(place.ticket)[0].sha)
    Release(story, tuple(place.ticket for place in delivery.places())).until_it_is_merged()


TALES = {
    "delivery": Tale(
        "an agent dies, a fresh one goes on, the dead one comes back; two tickets land, a word brings the release",
        PROOFS,
        World,
        tell_of_delivery,
        measures=True,
    ),
    "resume": Tale(
        "agents crash: the App starts the next one, leaves a stale ticket to a person, stops after three attempts",
        PROOFS_OF_RESUMING,
        ResumeWorld,
        tell_of_resuming,
        measures=False,
    ),
}
"""The stories, by the names they are asked for with."""
