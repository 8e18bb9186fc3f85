"""An agent without a model: it works a ticket through `agent-recovery` and git, and knows nothing else.

Started as `python -m app.drill.scripted_agent TICKET` in an empty folder, with `AGENT_RECOVERY_URL`,
`AGENT_RECOVERY_REPO` and `GITHUB_TOKEN` in its environment. Every agent of a story is this same program with the same
arguments: which steps there are it reads in the Issue's task list, which of them are done in the brief alone. It tells
what it does as JSON lines on standard output, so that a story can choose the moment at which it dies.
"""

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

NOTES = Path(".agent-recovery/next.json")
CRASHES = "ORCHARD_AGENT_CRASHES"
"""In the environment where the agent is to die as soon as it holds the ticket, before it has done anything."""
_TASK = re.compile(r"^[ \t]*[-*] \[[ xX]\] +(.+?)[ \t]*$", re.MULTILINE)
_LINES_A_STEP = 16
_SECONDS_A_LINE = 0.03
"""A step takes about half a second: long enough for a death in the middle of it."""


@dataclass(frozen=True)
class Task:
    """One line of the Issue's task list; the id is its place in the list, counted from 1."""

    id: str
    text: str


@dataclass
class Progress:
    """What is done, by step id with the commit that did it, and which of that is on GitHub."""

    tasks: tuple[Task, ...]
    done: dict[str, str]
    unpushed: dict[str, str] = field(default_factory=dict)

    def open_tasks(self) -> list[Task]:
        return [t for t in self.tasks if t.id not in self.done and t.id not in self.unpushed]


def tasks_of(issue_body: str) -> tuple[Task, ...]:
    """The steps an Issue's text asks for: its task list, in order."""
    return tuple(Task(str(n), text) for n, text in enumerate(_TASK.findall(issue_body), start=1))


def must_push(unpushed: int, ever_pushed: bool, remaining: int) -> bool:
    """The agent's habit: push the first step at once, later ones in pairs, and the last in any case."""
    return unpushed > 0 and (not ever_pushed or unpushed >= 2 or remaining == 0)


def main(arguments: list[str]) -> int:
    """Works the ticket named by the one argument until it is ready; the exit code of the command that failed."""
    if len(arguments) != 1 or not arguments[0].isdigit():
        print("usage: python -m app.drill.scripted_agent TICKET", file=sys.stderr)
        return 2
    ticket = arguments[0]
    tell("started", ticket=int(ticket), pid=os.getpid())
    recovered = agent_recovery("recover", ticket, "--json")
    brief: dict[str, Any] = recovered["brief"]
    progress = Progress(
        tasks=tasks_of(brief["untrusted"]["issue_body"]),
        done={step["id"]: step.get("sha") or "" for step in brief["completed_steps"]},
    )
    tell(
        "recovered",
        generation=recovered["grant"]["generation"],
        branch=recovered["grant"]["branch"],
        head=git("rev-parse", "HEAD"),
        done=sorted(progress.done),
        next=[task.id for task in progress.open_tasks()],
    )
    if os.environ.get(CRASHES):
        os.kill(os.getpid(), signal.SIGKILL)
    work(progress)
    note(progress, f"All {len(progress.tasks)} steps are done")
    agent_recovery("ready", "--json")
    tell("ready", head=git("rev-parse", "HEAD"))
    return 0


def work(progress: Progress) -> None:
    """Does every step that is left, in the Issue's order; pushes by habit, checkpoints in between."""
    ever_pushed = bool(progress.done)
    for task in progress.open_tasks():
        if progress.unpushed:
            # The risky thing ahead is the next step: tell a successor what is only here.
            note(progress, f"Working on step {task.id}; local only: steps {', '.join(progress.unpushed)}")
            agent_recovery("checkpoint", "--json")
            tell("checkpointed", step=task.id)
        progress.unpushed[task.id] = do(task)
        if must_push(len(progress.unpushed), ever_pushed, len(progress.open_tasks())):
            progress.done |= progress.unpushed
            steps, progress.unpushed = sorted(progress.unpushed), {}
            note(progress, f"Pushed up to step {task.id}")
            answer = agent_recovery("push", "--json")
            ever_pushed = True
            tell("pushed", steps=steps, head=git("rev-parse", "HEAD"), answer=answer)


def do(task: Task) -> str:
    """One step as real work: a file that grows line by line, a check that runs over it, a commit."""
    target = Path("work") / f"step-{task.id}.txt"
    target.parent.mkdir(exist_ok=True)
    tell("step_started", step=task.id)
    with target.open("w", encoding="utf-8") as file:
        print(f"Step {task.id}: {task.text}", file=file)
        # Two workers never do a step in the same way: a step done twice would show.
        print(f"worked out as {secrets.token_hex(8)}", file=file, flush=True)
        for line in range(1, _LINES_A_STEP + 1):
            time.sleep(_SECONDS_A_LINE)
            print(f"part {line} of {_LINES_A_STEP}", file=file, flush=True)
        print("finished", file=file)
    run([sys.executable, "tools/check.py"])
    git("add", "--", str(target))
    # Only what was staged above: a foreign change in the tree is not swept into a step.
    message = f"Do step {task.id}: {task.text[:60]}\n\nStep: {task.id}\n"
    git("-c", "user.name=Scripted agent", "-c", "user.email=agent@example.com", "commit", "--quiet", "-m", message)
    sha = git("rev-parse", "HEAD")
    tell("step_committed", step=task.id, sha=sha)
    return sha


def note(progress: Progress, state: str) -> None:
    """Writes down what a successor must know; done is only what is, or is now being, pushed."""
    notes: dict[str, Any] = json.loads(NOTES.read_text("utf-8")) if NOTES.exists() else {}
    notes["objective"] = "Do every step of the Issue's task list, one commit a step"
    notes["completed_steps"] = [
        {"id": t.id, "text": t.text, "sha": progress.done[t.id] or None}
        for t in progress.tasks
        if t.id in progress.done
    ]
    notes["next_steps"] = [{"id": t.id, "text": t.text} for t in progress.tasks if t.id not in progress.done]
    notes["current_diff"] = state
    notes["accepted_decisions"] = ["One file and one commit a step, with a trailer that names the step"]
    NOTES.parent.mkdir(exist_ok=True)
    NOTES.write_text(json.dumps(notes, indent=2), "utf-8")


def agent_recovery(*arguments: str) -> dict[str, Any]:
    """Runs the product's command line; its JSON answer. Ends this process with its exit code when it refuses."""
    program = shutil.which("agent-recovery")
    command = [program] if program else [sys.executable, "-m", "app.cli"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        give_up(f"agent-recovery {' '.join(arguments)}", done)
    answer = json.loads(done.stdout)
    if not isinstance(answer, dict):
        raise TypeError(f"agent-recovery {arguments[0]} answered something other than a JSON object")
    return answer


def git(*arguments: str) -> str:
    """Runs git in the workspace; its output without the last newline."""
    return run(["git", *arguments]).stdout.rstrip("\n")


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        give_up(" ".join(command[:3]), done)
    return done


def give_up(what: str, done: subprocess.CompletedProcess[str]) -> NoReturn:
    tell("failed", command=what, exit=done.returncode, out=done.stdout[-2000:], err=done.stderr[-2000:])
    raise SystemExit(done.returncode)


def tell(event: str, **facts: Any) -> None:
    """One JSON line about what has just happened."""
    print(json.dumps({"event": event, "at": round(time.time(), 3), **facts}), flush=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
