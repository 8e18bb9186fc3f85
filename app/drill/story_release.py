"""The release boundary: what landed makes the trunk differ from the base of releases, and only a person's word for
exactly one commit lets that through.

Who says it is the repository's owner, who never held a lease; the App asks GitHub for the permission each time.
"""

import json

from app.drill import orchard
from app.drill import proofs_of_release as proofs
from app.drill import world as names
from app.drill.processes import StoryStopped
from app.drill.proof import Attempt, Proved
from app.drill.proofs_of_landing import CI
from app.drill.proofs_of_release import Word
from app.drill.proofs_of_work import Place
from app.drill.story import Story


class Release:
    """The chapters of a release, on a story whose tickets have landed."""

    def __init__(self, story: Story, tickets: tuple[int, ...]) -> None:
        self._story = story
        self._world = story.world
        self._observer = story.world.observer
        self._place: Place = story.place
        self._tickets = tickets

    def until_it_is_merged(self) -> None:
        """Refused without a word, let through by one, held back again by the next commit, then merged."""
        story, observer, place = self._story, self._observer, self._place
        story.telling.chapter("9  The release branch differs: a person's word, for one commit")
        draft = story.prove("release_draft", lambda: proofs.release_draft(observer, place, tickets=self._tickets))
        pull, before = int(draft.evidence["pull"]), str(draft.evidence["base_sha"])
        asked = self.ask_to_merge(pull)
        by_hand = self.try_by_hand(pull)
        story.prove(
            "release_refused", lambda: proofs.release_refused(observer, place, asked, by_hand, base_before=before)
        )
        old = self.authorize(pull)
        story.prove("release_authorized", lambda: proofs.release_authorized(observer, place, old))
        self.push_once_more()
        again = self.ask_to_merge(pull)
        story.prove("release_void", lambda: proofs.release_void(observer, place, old, again, base_before=before))
        self.merge(pull, before)

    def merge(self, pull: int, before: str) -> Proved:
        """The word for the head that stands now, and the merge that it allows."""
        word = self.let_it_through(pull)
        self.ask_to_merge(pull)
        return self._story.prove(
            "release_merged",
            lambda: proofs.release_merged(self._observer, self._place, word, base_before=before),
        )

    def let_it_through(self, pull: int) -> Word:
        """The CI passes on the head that stands now, and the owner authorizes it: its guard is green."""
        head = self._observer.branch(names.TRUNK)
        self._world.pass_check(head)
        self._story.telling.remark(f"{CI} passes on {head[:12]}")
        word = self.authorize(pull)
        self._story.ask("the guard", lambda: proofs.release_authorized(self._observer, self._place, word))
        return word

    def ask_to_merge(self, pull: int) -> Word:
        """`/recovery merge-release`, by the owner."""
        return self._say(pull, "/recovery merge-release")

    def authorize(self, pull: int) -> Word:
        """`/recovery authorize-release` for the head that stands now, by the owner."""
        return self._say(pull, f"/recovery authorize-release {self._observer.branch(names.TRUNK)}")

    def try_by_hand(self, pull: int) -> Attempt:
        """A person makes the PR ready and merges it on GitHub, past the App; what GitHub answers."""
        people, person = self._world.people, self._world.third
        people.make_ready(person, pull)
        attempt = people.try_to_merge(person, pull)
        self._story.telling.remark(f"{person.login} tries {attempt.command}: {attempt.exit_code} {attempt.answer}")
        return attempt

    def push_once_more(self) -> str:
        """One more commit on the trunk; its SHA."""
        person = self._world.third
        head = self._world.people.push(person, names.TRUNK, orchard.LATE_WORK, "Sweep the yard")
        self._story.telling.remark(f"{person.login} pushes {head[:12]} to {names.TRUNK}")
        return head

    def _say(self, pull: int, text: str) -> Word:
        owner = self._world.author
        head = self._observer.branch(names.TRUNK)
        comment = self._world.people.say(owner, pull, text)
        self._story.telling.remark(f"{owner.login} on #{pull}: {text}")
        return Word(pull, comment, owner.login, text, head)


def guard_the_base(story: Story) -> None:
    """The owner makes the ruleset that the doctor shows: GitHub requires the release check from this App."""
    world = story.world
    shown = world.operate("doctor", "--repo", names.REPOSITORY, "--fix", "--enforce", "--dry-run", "--json")
    if shown.exit_code != 0:
        raise StoryStopped(f"{shown.command} ended with {shown.exit_code}: {shown.answer}")
    told, _ = json.JSONDecoder().raw_decode(shown.said[shown.said.index("{") :])
    ruleset = told["change"]["body"]
    world.people.make_ruleset(world.author, ruleset)
    story.telling.remark(f"{world.author.login} makes the ruleset {ruleset['name']!r} that the doctor shows")
