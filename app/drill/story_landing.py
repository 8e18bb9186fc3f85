"""The delivery: a ticket whose pull request is missing gets it, and two ready tickets land and leave nothing behind.

The policy goes from `repair` to `full` before people's eyes: each change is a commit by the repository's owner, and the
story says what it says. The owner also makes the ruleset by which GitHub requires the release check on the base of
releases; without it nothing would land.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from app.drill import orchard
from app.drill import proofs_of_landing as proofs
from app.drill import proofs_of_release as release
from app.drill import world as names
from app.drill.people import Person
from app.drill.processes import StoryStopped
from app.drill.proof import Attempt
from app.drill.proofs_of_work import Place
from app.drill.story import Story
from app.drill.story_release import guard_the_base


@dataclass(frozen=True)
class Work:
    """A ticket that is to land, who brings it to the end, and where."""

    place: Place
    person: Person
    folder: Path


class Delivery:
    """The chapters of the delivery, on a story whose first ticket stands, frozen or ready."""

    def __init__(self, story: Story, holder: Path, ledger_head: str) -> None:
        """`holder`: the workspace of who holds the first ticket; `ledger_head`: where its ledger truly stands."""
        self._story = story
        self._world = story.world
        self._observer = story.world.observer
        self._first = story.place
        self._holder = holder
        self._ledger_head = ledger_head
        self._second: Place | None = None

    def with_a_missing_pull(self) -> None:
        """A person pushes work for an Issue that nobody claimed, and opens no pull request: the App opens it."""
        self._story.telling.chapter("7  A second ticket's branch has work, and its pull request is missing")
        place = self.push_without_a_pull()
        self._story.prove("missing_pr", lambda: proofs.missing_pr(self._observer, place))

    def push_without_a_pull(self) -> Place:
        """The second ticket, from now on: an Issue, the policy that takes it in, and a branch with work."""
        world, telling = self._world, self._story.telling
        world.say_policy(orchard.POLICY_TEXT + orchard.ENROLS, "Take in the tickets of branches")
        telling.remark(f"the policy now says: enroll.{_in_one_line(orchard.ENROLS)}")
        number = world.open_issue(orchard.SECOND_TITLE, orchard.SECOND_BODY)
        self._second = place = replace(self._first, ticket=number, branch=f"ticket/{number}-press-the-cider")
        head = world.work_by_hand(world.third, place.branch, orchard.SECOND_WORK, "Wash the press")
        telling.remark(f"{world.third.login} pushed {head[:12]} to {place.branch} and opened no pull request")
        return place

    def until_both_are_ready(self) -> None:
        """The owner lets the App land; a person puts the frozen ledger back; agents bring both tickets to their end."""
        self._story.telling.chapter("8  Both become ready, and land")
        self.let_the_app_land()
        guard_the_base(self._story)
        self._story.prove("base_guarded", lambda: release.base_guarded(self._observer, self._first))
        self.put_the_ledger_back()
        with ThreadPoolExecutor(2) as at_once:
            list(at_once.map(self._finish, self.works()))
        self._story.prove("both_ready", lambda: proofs.both_ready(self._observer, self.places()))

    def works(self) -> tuple[Work, Work]:
        """Who brings which ticket to its end. Raises StoryStopped before there is a second one."""
        if self._second is None:
            raise StoryStopped("there is no second ticket that could land")
        return (
            Work(self._first, self._world.second, self._holder),
            Work(self._second, self._world.third, self._world.folder / "cider-agent"),
        )

    def places(self) -> tuple[Place, ...]:
        return tuple(work.place for work in self.works())

    def put_the_ledger_back(self) -> None:
        """Nothing was lost, so nothing has to be begun anew: a person moves the ref to where the App last saw it."""
        ref = f"refs/agent-recovery/active/{self._first.ticket}"
        push = ("push", "--force", "origin", f"{self._ledger_head}:{ref}")
        self._must(self._world.git(self._world.second, self._holder, "fetch", "--quiet", "origin", self._ledger_head))
        done = self._must(self._world.git(self._world.second, self._holder, *push))
        self._story.telling.remark(f"a person who looked puts the ledger of #{self._first.ticket} back: {done.gist}")

    def until_both_have_landed(self) -> None:
        """The required check passes on both heads, and the loop does the rest."""
        observer, places, prove = self._observer, self.places(), self._story.prove
        since = self.pass_the_checks()
        prove("landed", lambda: proofs.landed(observer, places, since=since))
        prove("issues_closed", lambda: proofs.issues_closed(observer, places))
        prove("branches_gone", lambda: proofs.branches_gone(observer, places))
        prove("ledgers_done", lambda: proofs.ledgers_done(observer, places))

    def let_the_app_land(self) -> None:
        """The policy that lets it."""
        full = orchard.POLICY_TEXT.replace("mode: repair", "mode: full")
        self._world.say_policy(full + orchard.ENROLS + orchard.LANDS, "Let ready tickets land")
        self._story.telling.remark(f"the policy now says: mode: full, landing.{{{_in_one_line(orchard.LANDS)}}}")

    def pass_the_checks(self) -> str:
        """The CI's results on both heads. Where the trunk stood before."""
        since = self._observer.branch(names.TRUNK)
        heads = [self._observer.branch(place.branch) for place in self.places()]
        self._world.pass_check(*heads)
        self._story.telling.remark(f"{proofs.CI} passes on {' and '.join(head[:12] for head in heads)}")
        return since

    def _finish(self, work: Work) -> None:
        """An agent checks the ticket's head and says that it is ready; the second ticket it takes over first."""
        if not work.folder.exists():
            work.folder.mkdir()
            self._must(self._agent(work, "recover", str(work.place.ticket), "--json"))
            self._must(self._agent(work, "adopt", self._observer.branch(work.place.branch), "--json"))
        self._must(self._agent(work, "validate", "verify", "--json"))
        self._must(self._agent(work, "ready", "--json"))

    def _agent(self, work: Work, *arguments: str) -> Attempt:
        return self._world.command(work.person, work.folder, *arguments)

    @staticmethod
    def _must(attempt: Attempt) -> Attempt:
        if attempt.exit_code != 0:
            raise StoryStopped(f"{attempt.command} ended with {attempt.exit_code}: {attempt.answer}")
        return attempt


def _in_one_line(text: str) -> str:
    return ", ".join(line.strip() for line in text.splitlines() if not line.endswith(":"))
