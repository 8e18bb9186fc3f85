"""The demo's story with the real service, in which what each proof stands on is at first switched off.

GitHub refuses exactly the write that a proof is about, or the act itself does not happen; the proof is looked at in
that moment; then the story makes up for it and goes on, so that whatever comes before a proof has been proved. Service,
agents' commands, git, GitHub and the proofs are the demo's; only the agents' work is shorter. It is played once, as far
as somebody asks.
"""

import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from agents_hands import Hands

from app.drill import proofs_of_fencing as fencing
from app.drill import proofs_of_landing as landing
from app.drill import proofs_of_release as release
from app.drill import proofs_of_work as proofs
from app.drill import world as names
from app.drill.people import Person
from app.drill.processes import StoryProcess, clean_environment
from app.drill.proof import NotProved, Proof, Proved, Unproved
from app.drill.story import PATIENCE, PROOFS, STEP_IDS, Agents, Story
from app.drill.story_landing import Delivery
from app.drill.story_release import Release, guard_the_base
from app.drill.story_zombie import Zombie
from app.drill.telling import Result, Telling
from app.drill.world import SLUG, World

APP = f"app:{SLUG}"
LEDGER_WRITES = {"operation": "updateRefs", "identity": APP}
NEW_PULLS = {"method": "POST", "path_regex": "/pulls$", "identity": APP}
CHANGED_PULLS = {"method": "PATCH", "path_regex": "/pulls/[0-9]+$", "identity": APP}
COMMENTS = {"method": "POST", "path_regex": "/comments$", "identity": APP}
MERGES = {"method": "PUT", "path_regex": "/merge$", "identity": APP}
CHANGED_CHECK_RUNS = {"method": "PATCH", "path_regex": "/check-runs/[0-9]+$", "identity": APP}
CHECK_RUNS = {"method": "POST", "path_regex": "/check-runs$", "identity": APP}
ACTIVE_INDEX = {"kind": "git", "method": "POST", "path_regex": "/git-upload-pack$", "identity": APP}

FORBIDDEN = {"code": 403, "body": {"message": "Resource not accessible by integration"}}
IMPATIENT = 1.0
"""Seconds the story waits for what cannot come."""

_DIES_AMID_A_STEP = """\
import json, pathlib, time
pathlib.Path("work/step-4.txt").write_text("Step 4: half of")
print(json.dumps({"event": "amid step 4"}), flush=True)
time.sleep(600)
"""

BEFORE_RECOVERY = PROOFS[: PROOFS.index("recovered")]
OF_RECOVERY = ("claimed", "comment", "check", "service_lost", "recovered", "workspace_exact", "no_step_redone")
"""Proofs that hold from the recovery on. That of the installation cannot be asked again once GitHub's clock has moved,
because the observer signs its question by this machine's.
"""
OF_LEDGER = ("claimed", "service_lost", "recovered")
"""Proofs that hold whatever becomes of the branch."""
# A refusal by GitHub, of a push or a clone, and a gate that is closed have one code.
REFUSED = GATE_CLOSED = 4
"""Exit codes of the command line, as docs/cli.md publishes them."""

Look = Callable[[], Proof]


@dataclass(frozen=True)
class Gap:
    """What a proof said while what it stands on was switched off: one answer for each thing it stands on.

    `still` are proofs of earlier ids, asked again in the same moment; `proved` is what the story had proved by then.
    """

    said: tuple[Proof, ...]
    still: Mapping[str, Proof]
    proved: tuple[str, ...]

    def and_also(self, other: "Gap") -> "Gap":
        return replace(self, said=self.said + other.said)


@dataclass
class _Remembering(Story):
    """A story that knows the look of every proof it asked for, so that it can be asked again later."""

    asked: dict[str, Look] = field(default_factory=dict)

    def ask(self, name: str, look: Look) -> Proof:
        self.asked[name] = look
        return super().ask(name, look)


class StoryWithGaps:
    """One story in one world. `without` plays it on."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder)
        self._story = _Remembering(self.world, Telling(quiet=True), Result(seed=1), settled=0.0)
        self._observer, self._place = self.world.observer, self._story.place
        self._first, self._second = folder / "first-agent", folder / "second-agent"
        self._hands = Hands(self.world)
        self._looks: dict[str, Look] = {}
        self._gaps: dict[str, Gap] = {}
        self._play = self._played()

    def without(self, name: str) -> Gap:
        """The gap of one id; plays up to it where the story has not come there yet."""
        while name not in self._gaps:
            try:
                reached, gap = next(self._play)
            except StopIteration:
                raise AssertionError(f"the story ended, or broke, before {name}") from None
            self._gaps[reached] = gap
        return self._gaps[name]

    def _played(self) -> Iterator[tuple[str, Gap]]:
        yield from self._installing()
        yield from self._claiming()
        yield from self._pushing()
        agents = yield from self._dying()
        yield from self._losing_the_service()
        yield from self._recovering(agents)
        yield from self._finishing(agents)
        zombie = Zombie(self._story, agents)
        yield from self._coming_back(zombie)
        yield from self._pushing_plainly(zombie)
        yield from self._tampering(zombie)
        ledger_head = self._observer.ledger(self._place.ticket)[0].sha
        yield from self._moving_the_ledger(zombie)
        delivery = Delivery(self._story, self._second, ledger_head)
        yield from self._opening_what_is_missing(delivery)
        yield from self._becoming_ready(delivery)
        yield from self._landing(delivery)
        yield from self._releasing(delivery)

    # Switches and looks

    @property
    def failed(self) -> Mapping[str, str]:
        """What could not be proved where it should have been."""
        return self._story.result.failed

    @contextmanager
    def _off(self, *writes: Mapping[str, str], kind: str = "status", nth: int = 1) -> Iterator[None]:
        """GitHub refuses these requests from the `nth` on, or drops them before they have an effect, until the block
        ends.
        """
        github = self.world.emulator
        github.clear_faults()
        for write in writes:
            github.fault(kind, match=write, nth=nth, times=1000, **(FORBIDDEN if kind == "status" else {}))
        yield
        github.clear_faults()

    def _gap(self, look: Look, *still: str) -> Gap:
        """Looks once, when everything that is switched off has been tried."""
        github = self.world.emulator
        _until(lambda: all(fault["hits"] for fault in github.faults()), lambda: f"not tried: {github.faults()}")
        said = look()
        return Gap(
            (said,),
            {name: self._story.ask(name, self._looks[name]) for name in still},
            tuple(self._story.result.proved),
        )

    def _prove(self, name: str, look: Look) -> Proved:
        self._looks[name] = look
        return self._story.prove(name, look)

    def _nudge(self, *tickets: int) -> None:
        """Something happens at the ticket, so that the service looks at once."""
        for ticket in tickets or (names.TICKET,):
            self.world.emulator.comment(names.REPOSITORY, ticket, "olive", "How is it going?")

    # The story

    def _installing(self) -> Iterator[tuple[str, Gap]]:
        def look() -> Proof:
            return proofs.installed(self._observer, self._place)

        self.world.start_service()
        yield "installed", self._gap(look)
        self.world.install()
        self._prove("installed", look)

    def _claiming(self) -> Iterator[tuple[str, Gap]]:
        def look() -> Proof:
            return proofs.claimed(self._observer, self._place, generation=1)

        person, ticket = self.world.first, str(names.TICKET)
        self._first.mkdir()
        with self._off(LEDGER_WRITES):
            self._hands.agent_recovery(person, self._first, "recover", ticket, exit_code=GATE_CLOSED)
            gap = self._gap(look, "installed")
        yield "claimed", gap
        self._hands.agent_recovery(person, self._first, "recover", ticket)
        self._prove("claimed", look)

    def _pushing(self) -> Iterator[tuple[str, Gap]]:
        person, folder, observer, place = self.world.first, self._first, self._observer, self._place
        self._hands.do(person, folder, "1")
        self._hands.note(folder, 1)
        looks: dict[str, Look] = {
            "work_pushed": lambda: proofs.work_pushed(observer, place, generation=1),
            "pr_created": lambda: proofs.pr_created(observer, place),
            "comment": lambda: proofs.comment(observer, place),
            "check": lambda: proofs.check(observer, place),
        }
        with self._off(_pushes_of(person)):
            self._hands.agent_recovery(person, folder, "push", exit_code=REFUSED)
            gap = self._gap(looks["work_pushed"], "installed", "claimed")
        yield "work_pushed", gap
        with self._off(NEW_PULLS, kind="drop_before"):
            self._hands.agent_recovery(person, folder, "push")
            self._prove("work_pushed", looks["work_pushed"])
            gap = self._gap(looks["pr_created"], "installed", "claimed", "work_pushed")
        yield "pr_created", gap
        with self._off(COMMENTS, kind="drop_before"):
            self._nudge()
            self._prove("pr_created", looks["pr_created"])
            gap = self._gap(looks["comment"], "installed", "claimed", "work_pushed", "pr_created")
        yield "comment", gap
        self._nudge()
        self._prove("comment", looks["comment"])
        self._hands.do(person, folder, "2")
        self._hands.note(folder, 2)
        with self._off(CHECK_RUNS, kind="drop_before"):
            self._hands.agent_recovery(person, folder, "push")
            gap = self._gap(looks["check"], "installed", "claimed", "work_pushed", "pr_created", "comment")
        yield "check", gap
        self._nudge()
        self._prove("check", looks["check"])

    def _dying(self) -> Generator[tuple[str, Gap], None, Agents]:
        """Killed amid a step, with a commit that it had not pushed. Returns the agents as the demo knows them."""
        person, folder, observer, place = self.world.first, self._first, self._observer, self._place
        pushed = observer.branch(place.branch)
        left_behind = self._hands.do(person, folder, "3")
        agent = StoryProcess(
            "the first agent",
            [sys.executable, "-c", _DIES_AMID_A_STEP],
            cwd=folder,
            env=clean_environment(),
            log=self.world.folder / "first-agent.log",
        )

        def look() -> Proof:
            return proofs.killed(observer, place, proofs.Death(agent.exit_code, folder, pushed))

        try:
            agent.wait_for(lambda event: event["event"] == "amid step 4", 10)
            yield "killed", self._gap(look, *BEFORE_RECOVERY[: BEFORE_RECOVERY.index("killed")])
        finally:
            agent.kill()
        self._prove("killed", look)
        observer.git.fetch()
        done = observer.git.commits(f"{observer.branch(place.trunk)}..{pushed}")
        return Agents(agent, folder, done_before=tuple(c.sha for c in done), left_behind=tuple(left_behind))

    def _losing_the_service(self) -> Iterator[tuple[str, Gap]]:
        world = self.world
        assert world.service is not None
        old = world.service

        def lost_and_back() -> Look:
            code, gone = world.lose_service(), not world.database.exists()
            mark = world.requests_served()
            new = world.start_service()
            return lambda: proofs.service_lost(
                self._observer,
                self._place,
                proofs.ServiceLoss(code, gone, old.pid, new.pid, world.reads_since(mark)),
            )

        lives = proofs.ServiceLoss(old.exit_code, not world.database.exists(), old.pid, old.pid, ())
        gap = self._gap(lambda: proofs.service_lost(self._observer, self._place, lives))
        with self._off(ACTIVE_INDEX):
            gap = gap.and_also(self._gap(lost_and_back(), *BEFORE_RECOVERY[:-1]))
        yield "service_lost", gap
        self._prove("service_lost", lost_and_back())

    def _recovering(self, agents: Agents) -> Iterator[tuple[str, Gap]]:
        """Without the claim's write, and without the evidence, which an agent that gets no clone cannot give."""
        world, observer, place, ticket = self.world, self._observer, self._place, str(names.TICKET)
        before, published = observer.ledger(place.ticket)[0], observer.branch(place.branch)

        def look() -> Proof:
            return proofs.recovered(observer, place, before=before, published=published)

        world.pass_lease()
        self._second.mkdir()
        agents.second_folder = self._second
        with self._off(LEDGER_WRITES):
            self._hands.agent_recovery(world.second, self._second, "recover", ticket, exit_code=GATE_CLOSED)
            gap = self._gap(look, *BEFORE_RECOVERY[1:])
        with self._off(_clones_of(world.second)):
            self._hands.agent_recovery(world.second, self._second, "recover", ticket, exit_code=REFUSED)
            gap = gap.and_also(self._gap(look))
        yield "recovered", gap
        self._hands.agent_recovery(world.second, self._second, "recover", ticket)
        self._prove("recovered", look)

    def _finishing(self, agents: Agents) -> Iterator[tuple[str, Gap]]:
        person, folder, observer, place = self.world.second, self._second, self._observer, self._place
        published = observer.branch(place.branch)
        looks: dict[str, Look] = {
            "workspace_exact": lambda: proofs.workspace_exact(
                observer, place, workspace=folder, published=published, left_behind=agents.left_behind
            ),
            "no_step_redone": lambda: proofs.no_step_redone(
                observer, place, steps=STEP_IDS, done_before=agents.done_before
            ),
            "ready": lambda: proofs.ready(observer, place, generation=2, steps=STEP_IDS),
        }
        for name, steps, still in (
            ("workspace_exact", ("3",), OF_RECOVERY[:5]),
            ("no_step_redone", ("4", "5", "6"), OF_RECOVERY[:6]),
        ):
            self._hands.do(person, folder, *steps)
            self._hands.note(folder, int(steps[-1]))
            with self._off(_pushes_of(person)):
                self._hands.agent_recovery(person, folder, "push", exit_code=REFUSED)
                gap = self._gap(looks[name], *still)
            yield name, gap
            self._hands.agent_recovery(person, folder, "push")
            self._prove(name, looks[name])
        # The check-run of the last push needs a permit, so it has to be there before.
        self._story.ask("check", self._looks["check"])
        with self._off(LEDGER_WRITES):
            self._hands.agent_recovery(person, folder, "ready", exit_code=GATE_CLOSED)
            gap = self._gap(looks["ready"], *OF_RECOVERY)
        yield "ready", gap
        self._hands.agent_recovery(person, folder, "ready")
        self._prove("ready", looks["ready"])

    def _coming_back(self, zombie: Zombie) -> Iterator[tuple[str, Gap]]:
        """The fence is what refuses the zombie, so the same is done by the holder, whom it lets pass."""
        zombie.with_its_old_lease()
        person, folder, observer, place = self.world.second, self._second, self._observer, self._place
        mark = "written by somebody whom the fence let pass"
        self._hands.note(folder, len(STEP_IDS), objective=mark)
        for name, proof in (
            ("zombie_checkpoint", fencing.zombie_checkpoint),
            ("zombie_push", fencing.zombie_push),
            ("zombie_ready", fencing.zombie_ready),
        ):
            before = fencing.standing(observer, place)
            if name == "zombie_push":
                path = folder / "work" / "notes.txt"
                path.write_text("Notes\n", "utf-8")
                self._hands.commit(person, folder, path, "Take notes")
            attempt = self._hands.agent_recovery(person, folder, name.removeprefix("zombie_"))
            gap = self._gap(partial(proof, observer, place, attempt, before, mark=mark), *OF_RECOVERY)
            # Even an agent that was told a refusal is seen through: what it wrote stands on GitHub.
            hidden = replace(attempt, exit_code=fencing.FENCED_OUT)
            yield name, gap.and_also(self._gap(partial(proof, observer, place, hidden, before, mark=mark)))

    def _pushing_plainly(self, zombie: Zombie) -> Iterator[tuple[str, Gap]]:
        with self._off(CHECK_RUNS):
            gap = self._unproved("plain_push", zombie.with_a_plain_push, OF_LEDGER)
        yield "plain_push", gap
        zombie.with_a_plain_push()

    def _tampering(self, zombie: Zombie) -> Iterator[tuple[str, Gap]]:
        with self._off(LEDGER_WRITES):
            gap = self._unproved("force_push", zombie.with_a_forced_push, OF_LEDGER)
        yield "force_push", gap
        self._wait_for_the_branch()
        zombie.with_a_forced_push()
        with self._off(LEDGER_WRITES):
            gap = self._unproved("branch_deleted", zombie.with_a_deletion, OF_LEDGER)
        self._wait_for_the_branch()
        with self._off(CHANGED_PULLS):
            gap = gap.and_also(self._unproved("branch_deleted", zombie.with_a_deletion, OF_LEDGER))
        yield "branch_deleted", gap
        self._wait_for_the_branch()
        zombie.with_a_deletion()

    def _moving_the_ledger(self, zombie: Zombie) -> Iterator[tuple[str, Gap]]:
        number = self._observer.only_pull(self._place.branch).number
        before = self._observer.comments(number, self._place.app)
        with self._off(COMMENTS):
            gap = self._unproved("ledger_moved_back", zombie.with_the_ledger_moved_back, OF_LEDGER[:2])
        self._nudge()
        _until(
            lambda: len(self._observer.comments(number, self._place.app)) == len(before) + 1,
            lambda: "the report did not come later",
        )
        yield "ledger_moved_back", gap
        self._prove("ledger_moved_back", self._story.asked["ledger_moved_back"])

    def _opening_what_is_missing(self, delivery: Delivery) -> Iterator[tuple[str, Gap]]:
        with self._off(NEW_PULLS, kind="drop_before"):
            place = delivery.push_without_a_pull()
            gap = self._gap(lambda: landing.missing_pr(self._observer, place), *OF_LEDGER[:2])
        yield "missing_pr", gap
        self._nudge(place.ticket)
        self._prove("missing_pr", lambda: landing.missing_pr(self._observer, place))

    def _becoming_ready(self, delivery: Delivery) -> Iterator[tuple[str, Gap]]:
        def look() -> Proof:
            return landing.both_ready(self._observer, delivery.places())

        def guarded() -> Proof:
            return release.base_guarded(self._observer, self._place)

        delivery.let_the_app_land()
        yield "base_guarded", self._gap(guarded)
        guard_the_base(self._story)
        self._prove("base_guarded", guarded)
        delivery.put_the_ledger_back()
        first, second = delivery.works()
        second.folder.mkdir()
        self._hands.agent_recovery(second.person, second.folder, "recover", str(second.place.ticket))
        head = self._observer.branch(second.place.branch)
        self._hands.agent_recovery(second.person, second.folder, "adopt", head)
        for work in (first, second):
            self._hands.agent_recovery(work.person, work.folder, "validate", "verify")
        with self._off(LEDGER_WRITES):
            self._hands.agent_recovery(second.person, second.folder, "ready", exit_code=GATE_CLOSED)
            gap = self._gap(look)
        yield "both_ready", gap
        self._hands.agent_recovery(second.person, second.folder, "ready")
        self._prove("both_ready", look)

    def _landing(self, delivery: Delivery) -> Iterator[tuple[str, Gap]]:
        """Refused once, every write is tried again some minutes later by GitHub's clock. The last update, of which the
        branch and the ledger are parts, comes after two others: what opens the closing's permit and what ends it.
        """
        observer, places = self._observer, delivery.places()
        tickets = [place.ticket for place in places]
        closing = {"method": "PATCH", "path_regex": f"/issues/{tickets[0]}$", "identity": APP}
        with self._off(MERGES):
            since = delivery.pass_the_checks()
            gap = self._gap(lambda: landing.landed(observer, places, since=since))
        yield "landed", gap
        # The first landing makes the trunk differ: the release's PR is due with the Issues' closing.
        with self._off(closing, NEW_PULLS):
            self._some_minutes_later(*tickets)
            self._prove("landed", lambda: landing.landed(observer, places, since=since))
            gap = self._gap(lambda: landing.issues_closed(observer, places), "landed")
            draft = self._gap(lambda: release.release_draft(observer, self._place, tickets=tuple(tickets)))
        yield "issues_closed", gap
        with self._off(_ledger_writes_of(tickets[0]), nth=3):
            self._some_minutes_later(tickets[0])
            self._prove("issues_closed", lambda: landing.issues_closed(observer, places))
            gaps = {
                "branches_gone": self._gap(lambda: landing.branches_gone(observer, places), "landed", "issues_closed"),
                "ledgers_done": self._gap(lambda: landing.ledgers_done(observer, places), "landed", "issues_closed"),
            }
        yield "branches_gone", gaps["branches_gone"]
        self._some_minutes_later(tickets[0])
        self._prove("branches_gone", lambda: landing.branches_gone(observer, places))
        yield "ledgers_done", replace(gaps["ledgers_done"], proved=tuple(self._story.result.proved))
        self._prove("ledgers_done", lambda: landing.ledgers_done(observer, places))
        yield "release_draft", replace(draft, proved=tuple(self._story.result.proved))

    def _releasing(self, delivery: Delivery) -> Iterator[tuple[str, Gap]]:
        """What the App would write or answer is refused, one after the other, and then made up for."""
        observer, place = self._observer, self._place
        tickets = tuple(at.ticket for at in delivery.places())
        chapter = Release(self._story, tickets)
        draft = self._prove("release_draft", lambda: release.release_draft(observer, place, tickets=tickets))
        pull, before = int(draft.evidence["pull"]), str(draft.evidence["base_sha"])
        by_hand = chapter.try_by_hand(pull)

        def refused(word: release.Word) -> Look:
            return lambda: release.release_refused(observer, place, word, by_hand, base_before=before)

        with self._off(COMMENTS):
            gap = self._gap(refused(chapter.ask_to_merge(pull)))
        yield "release_refused", gap
        self._prove("release_refused", refused(chapter.ask_to_merge(pull)))
        with self._off(CHANGED_CHECK_RUNS):
            old = chapter.authorize(pull)
            gap = self._gap(lambda: release.release_authorized(observer, place, old))
        yield "release_authorized", gap
        self._some_minutes_later(pull)
        self._prove("release_authorized", lambda: release.release_authorized(observer, place, old))
        with self._off(CHECK_RUNS):
            chapter.push_once_more()
            again = chapter.ask_to_merge(pull)
            gap = self._gap(lambda: release.release_void(observer, place, old, again, base_before=before))
        yield "release_void", gap
        self._some_minutes_later(pull)
        self._prove("release_void", lambda: release.release_void(observer, place, old, again, base_before=before))
        word = chapter.let_it_through(pull)

        def merged() -> Proof:
            return release.release_merged(observer, place, word, base_before=before)

        with self._off(MERGES):
            chapter.ask_to_merge(pull)
            gap = self._gap(merged)
        yield "release_merged", gap
        self._some_minutes_later(pull)
        chapter.ask_to_merge(pull)
        self._prove("release_merged", merged)

    def _some_minutes_later(self, *tickets: int) -> None:
        self.world.emulator.advance(10 * 60)
        self._nudge(*tickets)

    def _unproved(self, name: str, chapter: Callable[[], object], still: Sequence[str]) -> Gap:
        """A whole chapter of the demo's, which cannot prove what it is about."""
        self._story.patience = IMPATIENT
        chapter()
        self._story.patience = PATIENCE
        why = self._story.result.failed.pop(name, None)
        return self._gap(lambda: Proved("it was proved all the same") if why is None else NotProved(why), *still)

    def _wait_for_the_branch(self) -> None:
        self._nudge()
        _until(self._stands, lambda: "the branch did not come back")

    def _stands(self) -> bool:
        try:
            fencing.standing(self._observer, self._place)
        except Unproved:
            return False
        return self._observer.only_pull(self._place.branch).state == "open"


def _ledger_writes_of(ticket: int) -> dict[str, str]:
    return {**LEDGER_WRITES, "body_regex": f"refs/agent-recovery/active/{ticket}\\b"}


def _pushes_of(person: Person) -> dict[str, str]:
    return {"kind": "git", "method": "POST", "path_regex": "/git-receive-pack$", "identity": f"user:{person.login}"}


def _clones_of(person: Person) -> dict[str, str]:
    return {"kind": "git", "method": "POST", "path_regex": "/git-upload-pack$", "identity": "anonymous"}


def _until(condition: Callable[[], object], otherwise: Callable[[], str], within: float = 30.0) -> None:
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.05)
