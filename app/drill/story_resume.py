"""The story of resuming: agents crash, and the App starts the next one, or tells a person why it does not.

Three tickets: one whose agent died and is followed by a workflow run; one that nobody came for in time, which is left
to a person; one whose agents die as soon as they claim.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from app.drill import proofs_of_resuming as proofs
from app.drill import world_resume as names
from app.drill.people import Person
from app.drill.processes import StoryProcess, StoryStopped
from app.drill.proof import Proof, Proved
from app.drill.proofs_of_work import Place
from app.drill.story import Death, Moment, Story
from app.drill.world_resume import ResumeWorld

PROOFS = (
    "installed",
    "first_crashed",
    "not_at_once",
    "dispatched",
    "claimed_by_run",
    "finished",
    "no_credential",
    "too_old",
    "word_of_a_person",
    "dispatched_again",
    "finished_again",
    "second_attempt",
    "third_attempt",
    "exhausted",
    "nothing_more",
)
MAX_ATTEMPTS = 3
"""The policy's default."""
TOO_OLD_S = 5 * 3600
"""Longer than `resume.max_age`, which is four hours by default."""
_WORKED_OUT = 30.0


@dataclass(frozen=True)
class Crashed:
    """What is left of an agent that was killed: its exit code and the commits it had published."""

    exit_code: int
    published: tuple[str, ...]


@dataclass(frozen=True)
class Beginning:
    """An agent that works, and the death that waits for it."""

    place: Place
    agent: StoryProcess
    death: Death


def tell_of_resuming(story: Story) -> None:
    """Every chapter in order. Raises StoryStopped where the story cannot go on."""
    story.install()
    resume = Resume(story)
    resume.with_an_agent_that_crashes()
    resume.with_a_ticket_that_is_too_old()
    resume.with_an_agent_that_always_crashes()
    for place in resume.places:
        story.look_for_duplicates(place, story.world.observer.ledger_anywhere(place.ticket)[0].sha)


class Resume:
    """The chapters, on a story whose App is installed and whose policy starts agents."""

    def __init__(self, story: Story) -> None:
        world = story.world
        if not isinstance(world, ResumeWorld):
            raise TypeError("this story plays in a ResumeWorld")
        self._story = story
        self._world: ResumeWorld = world
        self._observer = world.observer
        self.places = [story.place]

    def with_an_agent_that_crashes(self) -> None:
        """Crash, expiry, gates, dispatch, finish."""
        story, world, observer, place = self._story, self._world, self._observer, self.places[0]
        story.telling.chapter("2  Its agent crashes; the App starts the next one")
        crashed = self._crash(self._begin(place, world.first, amid="2"))
        story.prove("first_crashed", lambda: proofs.crashed(observer, place, exit_code=crashed.exit_code, generation=1))
        world.jump(names.LEASE_S)
        story.telling.remark("GitHub's clock moves past the lease; nobody heard anything in between")
        story.prove("not_at_once", lambda: proofs.nothing_started(observer, place, after=self._now))
        since = world.requests_served()
        self._prove_in_time("dispatched", lambda: proofs.dispatched(observer, place, runs=1, attempts=1))
        # On another ticket an agent begins meanwhile; this chapter moves no clock any more.
        stale = self._open(names.STALE_TITLE, names.STALE_STEPS, "mend-the-fence")
        self._next = self._begin(stale, world.second, amid="2")
        self._finish(place, "claimed_by_run", "finished", generation=2, attempts=1, steps=names.STEPS, crashed=crashed)
        asked = world.asked_by_actions(since)
        story.prove("no_credential", lambda: proofs.without_credential(observer, place, asked=asked))

    def with_a_ticket_that_is_too_old(self) -> None:
        """Stale, abandoned, a person's word, resumed."""
        story, world, observer = self._story, self._world, self._observer
        story.telling.chapter("3  Nobody comes for a ticket in time; a person says that it goes on")
        place = self._next.place
        crashed = self._crash(self._next)
        world.jump(TOO_OLD_S)
        story.telling.remark("five hours pass, in which neither the agent nor the service is heard of")
        person = world.author
        self._prove_in_time("too_old", lambda: proofs.abandoned(observer, place, person=person.login, runs=0))
        comment = world.people.say(person, place.ticket, proofs.WAY_ON)
        story.telling.remark(f"{person.login} on #{place.ticket}: {proofs.WAY_ON}")
        word = proofs.Word(place.ticket, comment, person.login)
        story.prove("word_of_a_person", lambda: proofs.recovered_by_word(observer, place, word, before=1))
        self._prove_in_time("dispatched_again", lambda: proofs.dispatched(observer, place, runs=1, attempts=1))
        doomed = self._open(names.CRASHING_TITLE, names.CRASHING_STEPS, "drive-the-wasps-away")
        self._next = self._begin(doomed, world.third, amid="1")
        self._finish(place, None, "finished_again", generation=3, attempts=1, steps=names.STALE_STEPS, crashed=crashed)

    def with_an_agent_that_always_crashes(self) -> None:
        """Three attempts, then a person is asked."""
        story, world, observer = self._story, self._world, self._observer
        story.telling.chapter("4  An agent crashes whenever it begins; three attempts, then a person is asked")
        place = self._next.place
        world.run_agents(crash=True)
        self._crash(self._next)
        world.jump(names.LEASE_S)
        self._prove_in_time("second_attempt", lambda: proofs.dispatched(observer, place, runs=1, attempts=2))
        self._until_the_run_ended(place)
        self._prove_in_time("third_attempt", lambda: proofs.dispatched(observer, place, runs=2, attempts=MAX_ATTEMPTS))
        self._until_the_run_ended(place)
        person = world.author.login
        self._prove_in_time(
            "exhausted", lambda: proofs.exhausted(observer, place, person=person, attempts=MAX_ATTEMPTS, runs=2)
        )
        before, since = proofs.standing(observer, place), self._now
        world.jump(TOO_OLD_S)
        self._settle()
        story.prove("nothing_more", lambda: proofs.still_the_same(observer, place, before=before, since=since))

    def _finish(
        self,
        place: Place,
        claimed: str | None,
        finished: str,
        *,
        generation: int,
        attempts: int,
        steps: tuple[str, ...],
        crashed: Crashed,
    ) -> None:
        """The run claims, works and ends."""
        story, observer = self._story, self._observer
        if claimed is not None:
            story.prove(
                claimed,
                lambda: proofs.claimed_by_run(observer, place, generation=generation, attempts=attempts),
            )
        self._until_the_run_ended(place)
        ids = tuple(str(number) for number in range(1, len(steps) + 1))
        story.prove(
            finished,
            lambda: proofs.finished_by_run(
                observer, place, generation=generation, steps=ids, done_before=crashed.published
            ),
        )

    @property
    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._world.emulator.now(), UTC)

    def _open(self, title: str, steps: tuple[str, ...], slug: str) -> Place:
        """A further ticket."""
        number = self._world.ticket = self._world.open_issue(title, names.task_list(steps))
        place = replace(self.places[0], ticket=number, branch=f"ticket/{number}-{slug}")
        self.places.append(place)
        return place

    def _prove_in_time(self, name: str, look: Callable[[], Proof]) -> Proved:
        """Proves what comes with time alone."""
        self._settle(look)
        return self._story.prove(name, look)

    def _settle(self, until: Callable[[], Proof] | None = None) -> None:
        """The time in which the App waits for whoever may come back, and then for others to be of its mind; no longer
        than until something is proved.
        """
        self._story.telling.doing("letting time pass")
        self._world.let_time_pass(names.SETTLED_S, lambda: until is not None and isinstance(until(), Proved))

    def _begin(self, place: Place, person: Person, *, amid: str) -> Beginning:
        """An agent begins; it is to be killed in the middle of a step, and killed then at the latest."""
        agent, _ = self._world.start_agent(f"agent of {place.ticket}", person, place.ticket)
        return Beginning(place, agent, Death(agent, Moment(amid, 0.05)))

    def _crash(self, begun: Beginning) -> Crashed:
        """The agent claims, works, and is killed."""
        place, agent = begun.place, begun.agent
        self._story.telling.doing(f"an agent works on #{place.ticket}")
        code = begun.death.wait(_WORKED_OUT) or 0
        published = [event["head"] for event in agent.events if event["event"] == "pushed"]
        commits: list[str] = []
        if published:
            self._observer.git.fetch()
            trunk = self._observer.branch(place.trunk)
            commits = [c.sha for c in self._observer.git.commits(f"{trunk}..{published[-1]}")]
        self._story.telling.remark(f"the agent of #{place.ticket} is killed; {len(commits)} commit(s) were published")
        return Crashed(code, tuple(commits))

    def _until_the_run_ended(self, place: Place) -> None:
        """Waits for the newest run of a ticket. Raises StoryStopped with what it wrote."""
        self._story.telling.doing("waiting for the workflow run")
        runs = proofs.runs_of(self._observer, place.ticket)
        if not runs:
            raise StoryStopped(f"no run was started for #{place.ticket}")
        deadline = time.monotonic() + _WORKED_OUT
        while runs[-1].update() or runs[-1].status != "completed":
            if time.monotonic() > deadline:
                wrote = self._world.run_log(runs[-1].id)[-1500:]
                raise StoryStopped(f"run {runs[-1].id} did not end within {_WORKED_OUT:.0f} s: {wrote}")
            time.sleep(0.1)
