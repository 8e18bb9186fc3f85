"""The zombie: the first agent's clone comes back with its old lease token, then with its own GitHub token.

Each attempt is stated with what was answered, and with what GitHub shows five seconds later: the proof must hold as
soon as it can, and still hold then.
"""

import json
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from app.drill import proofs_of_fencing as fencing
from app.drill.processes import StoryStopped
from app.drill.proof import Attempt, NotProved, Proof, Proved
from app.drill.proofs_of_work import workspace_git
from app.drill.story import Agents, Story


class Zombie:
    """The chapters of the zombie, on the story whose second agent is ready."""

    def __init__(self, story: Story, agents: Agents) -> None:
        if agents.second_folder is None:
            raise StoryStopped("there is no second agent for the zombie to disturb")
        self._story = story
        self._world = story.world
        self._observer = story.world.observer
        self._place = story.place
        self._folder = agents.first_folder
        self._holder = agents.second_folder
        self._branch = f"refs/heads/{story.place.branch}"
        self._mark = f"zombie-{secrets.token_hex(6)}"

    def with_its_old_lease(self) -> None:
        """Checkpoint, fenced push and ready under generation 1: refused, each by exit code 3."""
        self._story.telling.chapter("5  The first agent comes back with its old lease token")
        before = fencing.standing(self._observer, self._place)
        self._note()
        attempts: dict[str, tuple[Callable[[Attempt], Proof], Attempt]] = {
            "zombie_checkpoint": (
                lambda a: fencing.zombie_checkpoint(self._observer, self._place, a, before, mark=self._mark),
                self._agent_recovery("checkpoint", "--json"),
            ),
            # Ready first for what it had pushed: only then is it the fence, not its own dirty tree, that refuses.
            "zombie_ready": (
                lambda a: fencing.zombie_ready(self._observer, self._place, a, before, mark=self._mark),
                self._agent_recovery("ready", "--json"),
            ),
        }
        self._git("add", "--all")
        self._git("commit", "--quiet", "--message", "Finish the step that was under way")
        push = self._agent_recovery("push", "--json")
        by_hand = self._push_past_the_program()
        attempts["zombie_push"] = (
            lambda a: fencing.refused_by_git_too(
                fencing.zombie_push(self._observer, self._place, a, before, mark=self._mark), by_hand
            ),
            push,
        )
        acted = time.monotonic()
        for name in ("zombie_checkpoint", "zombie_push", "zombie_ready"):
            look, attempt = attempts[name]
            self._outcome(name, lambda look=look, attempt=attempt: look(attempt), attempt, acted)  # type: ignore[misc]

    def _push_past_the_program(self) -> Attempt:
        """The fenced push as git does it, with the ledger as the zombie last knew it: branch and ledger or nothing."""
        ledger = f"refs/agent-recovery/active/{self._place.ticket}"
        own = next(e for e in self._observer.ledger(self._place.ticket) if e.generation == 1)
        # The branch as it is now: only the ledger's lease is an old one.
        known = self._observer.branch(self._place.branch)
        next_one = self._git("commit-tree", f"{own.sha}^{{tree}}", "-p", own.sha, "-m", f"{self._mark} goes on")
        leases = [f"--force-with-lease={ledger}:{own.sha}", f"--force-with-lease={self._branch}:{known}"]
        pushed = [f"{next_one.said.strip()}:{ledger}", f"HEAD:{self._branch}"]
        push = self._git("push", "--atomic", *leases, "origin", *pushed)
        self._story.telling.remark("past the program, by git alone: " + push.gist)
        return push

    def with_a_plain_push(self) -> None:
        """A plain `git push` that GitHub takes: shown as unfenced, met by the holder with `push --rewind`."""
        self._story.telling.chapter("6  It comes back with its own GitHub token")
        before = fencing.standing(self._observer, self._place)
        old_work = self._head(self._folder)
        self._must(self._git("fetch", "--quiet", "origin"))
        self._must(self._git("rebase", "--quiet", "--strategy-option=theirs", f"origin/{self._place.branch}"))
        pushed = self._head(self._folder)
        push = self._git("push", "origin", f"HEAD:{self._branch}")
        acted = time.monotonic()
        shown = self._story.ask(
            "the foreign head", lambda: fencing.plain_push_shown(self._observer, self._place, pushed, before)
        )
        self._wait_until(acted + self._story.settled)
        shown = fencing.plain_push_shown(self._observer, self._place, pushed, before)
        if isinstance(shown, NotProved):
            self._story.conclude("plain_push", shown)
        (self._holder / "work" / "summary.txt").write_text(f"All done, without {pushed}.\n", "utf-8")
        self._must(self._git("add", "work/summary.txt", at=self._holder))
        self._must(self._git("commit", "--quiet", "--message", "Sum up", at=self._holder))
        refused = self._agent_recovery("push", "--json", at=self._holder)
        rewind = self._agent_recovery("push", "--rewind", "--json", at=self._holder)
        told = fencing.PlainPush(push=push, pushed=pushed, holder_push=refused, rewind=rewind)
        if isinstance(shown, Proved):
            self._outcome(
                "plain_push",
                lambda: fencing.plain_push(self._observer, self._place, told, before),
                push,
                time.monotonic() - self._story.settled,
            )
        self._must(self._agent_recovery("ready", "--json", at=self._holder))
        self._git("reset", "--quiet", "--hard", old_work)

    def with_a_forced_push(self) -> None:
        """Its own old history over the branch: undone by the App."""
        before = fencing.standing(self._observer, self._place)
        pushed = self._head(self._folder)
        push = self._git("push", "--force", "origin", f"HEAD:{self._branch}")
        self._outcome(
            "force_push",
            lambda: fencing.force_push(self._observer, self._place, push, pushed, before),
            push,
            time.monotonic(),
        )

    def with_a_deletion(self) -> None:
        """The branch deleted, its pull request closed by that: both undone by the App."""
        before = fencing.standing(self._observer, self._place)
        number = self._observer.only_pull(self._place.branch).number
        push = self._git("push", "origin", f":{self._branch}")
        self._outcome(
            "branch_deleted",
            lambda: fencing.branch_deleted(self._observer, self._place, push, before, number=number),
            push,
            time.monotonic(),
        )

    def with_the_ledger_moved_back(self) -> str:
        """The ledger ref forced back to its own last commit: frozen and reported, granted to nobody, left as it is.

        Returns the ledger's true head.
        """
        before = fencing.standing(self._observer, self._place)
        ref = f"refs/agent-recovery/active/{self._place.ticket}"
        own = next(e for e in self._observer.ledger(self._place.ticket) if e.generation < before.ledger.generation)
        number = self._observer.only_pull(self._place.branch).number
        comments = frozenset(
            c.id for n in (number, self._place.ticket) for c in self._observer.comments(n, self._place.app)
        )
        self._must(self._git("fetch", "--quiet", "origin", ref))
        push = self._git("push", "--force", "origin", f"{own.sha}:{ref}")
        newcomer = self._world.folder / "third-agent"
        newcomer.mkdir()
        claim = self._world.command(self._world.third, newcomer, "recover", str(self._place.ticket), "--json")
        checkpoint = self._agent_recovery("checkpoint", "--json")
        moved = fencing.MovedLedger(
            push=push, moved_to=own.sha, claim=claim, old_holder=checkpoint, comments_before=comments
        )
        self._outcome(
            "ledger_moved_back",
            lambda: fencing.ledger_moved_back(self._observer, self._place, moved, before),
            push,
            time.monotonic(),
        )
        return before.ledger.sha

    def _outcome(self, name: str, look: Callable[[], Proof], attempt: Attempt, acted: float) -> None:
        """Proved as soon as it can be, and still five seconds after the attempt."""
        story = self._story
        story.telling.doing(f"waiting for what GitHub shows: {name}")
        proof = story.ask(name, look)
        if isinstance(proof, Proved):
            self._wait_until(acted + self._story.settled)
            proof = look()
        story.conclude(name, proof)
        shown = fencing.shown(self._observer, self._place)
        if isinstance(proof, Proved):
            story.result.proved[name] = proof.evidence | {"answered": attempt.answer, "shown_5_s_later": shown}
        story.telling.outcome(attempt.command, attempt.gist, shown)

    def _note(self) -> None:
        """What the zombie believes: everything is done, and by it."""
        path = self._folder / ".agent-recovery" / "next.json"
        notes = json.loads(path.read_text("utf-8"))
        notes["objective"] = f"{self._mark} finishes everything"
        path.write_text(json.dumps(notes), "utf-8")

    def _agent_recovery(self, *arguments: str, at: Path | None = None) -> Attempt:
        person = self._world.second if at == self._holder else self._world.first
        return self._world.command(person, at or self._folder, *arguments)

    def _git(self, *arguments: str, at: Path | None = None) -> Attempt:
        person = self._world.second if at == self._holder else self._world.first
        return self._world.git(person, at or self._folder, *arguments)

    @staticmethod
    def _must(attempt: Attempt) -> None:
        if attempt.exit_code != 0:
            raise StoryStopped(f"{attempt.command} ended with {attempt.exit_code}: {attempt.answer}")

    @staticmethod
    def _head(folder: Path) -> str:
        return workspace_git(folder, "rev-parse", "HEAD").strip()

    @staticmethod
    def _wait_until(moment: float) -> None:
        time.sleep(max(0.0, moment - time.monotonic()))
