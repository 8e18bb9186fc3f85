"""What an agent does, one act at a time and without waiting: the same commands and git as the demo's agents."""

import json
from pathlib import Path

from app.drill.people import Person
from app.drill.proof import Attempt
from app.drill.proofs_of_work import workspace_git
from app.drill.story import STEP_IDS
from app.drill.world import World


class Hands:
    """Acts in workspaces of a world; whatever ends otherwise than it should ends the test."""

    def __init__(self, world: World) -> None:
        self._world = world

    def agent_recovery(self, person: Person, folder: Path, *arguments: str, exit_code: int = 0) -> Attempt:
        attempt = self._world.command(person, folder, *arguments, "--json")
        assert attempt.exit_code == exit_code, attempt
        return attempt

    def do(self, person: Person, folder: Path, *steps: str) -> list[str]:
        """A commit for each step; their ids, newest first."""
        for step in steps:
            path = folder / "work" / f"step-{step}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"Step {step} by {person.login}\nfinished\n", "utf-8")
            self.commit(person, folder, path, f"Do step {step}\n\nStep: {step}\n")
        return workspace_git(folder, "rev-list", f"--max-count={len(steps)}", "HEAD").split()

    def commit(self, person: Person, folder: Path, path: Path, message: str) -> None:
        for arguments in (("add", str(path)), ("commit", "--quiet", "--message", message)):
            attempt = self._world.git(person, folder, *arguments)
            assert attempt.exit_code == 0, attempt

    def note(self, folder: Path, done: int, objective: str = "Do every step") -> None:
        """Writes down that so many steps are done; the next push, checkpoint or ready says it."""
        path = folder / ".agent-recovery" / "next.json"
        notes = json.loads(path.read_text("utf-8")) if path.exists() else {}
        steps = [{"id": step, "text": f"Step {step}"} for step in STEP_IDS]
        notes |= {"objective": objective, "completed_steps": steps[:done], "next_steps": steps[done:]}
        path.write_text(json.dumps(notes), "utf-8")
