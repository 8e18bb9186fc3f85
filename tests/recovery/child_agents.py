"""Agents as processes of their own, for the story of a parent and its children. They use the command line alone.

    python child_agents.py parent TICKET FIRST SECOND    spawns `old` under one predecessor, then `docs` and `code`
    python child_agents.py worker TICKET.NAME            works, pushes, and completes once a file `go` stands there
    python child_agents.py idler TICKET.NAME             claims, and does nothing more

Each works in the folder it is started in and prints what it did as lines of JSON. Nobody ends the parent kindly.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NEXT = Path(".agent-recovery/next.json")


def run(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments, "--json"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)}: {done.stdout}{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def tell(event: str, **facts: Any) -> None:
    print(json.dumps({"event": event, **facts}), flush=True)


def commit(name: str) -> None:
    Path(name).write_text(f"{name}\n")
    subprocess.run(["git", "add", name], check=True)
    subprocess.run(["git", "commit", "-qm", f"Write {name}"], check=True)


def stand_on(predecessor_sha: str) -> None:
    content = json.loads(NEXT.read_text())
    NEXT.write_text(json.dumps({**content, "predecessor_issue_or_pr": 1, "predecessor_sha": predecessor_sha}))
    run("checkpoint")


def parent(ticket: str, first: str, second: str) -> None:
    run("recover", ticket)
    commit("plan.txt")
    run("push")
    stand_on(first)
    run("child", "spawn", "old", "--objective", "Write old.txt")
    stand_on(second)
    run("child", "spawn", "docs", "--objective", "Write docs.txt", "--accept", "docs.txt stands")
    run("child", "spawn", "code", "--objective", "Write code.txt")
    tell("spawned")
    while True:
        run("heartbeat")
        time.sleep(5)


def worker(child: str) -> None:
    brief = run("recover", child)["brief"]
    name = child.partition(".")[2]
    if not Path(f"{name}.txt").exists():
        commit(f"{name}.txt")
    pushed = run("push")
    tell("pushed", sha=pushed["pushed"], objective=brief["objective"])
    while not Path("../go").exists():
        time.sleep(0.2)
    run("complete", "--summary", f"{name}.txt is written", "--met", "it stands")
    tell("completed")


def idler(child: str) -> None:
    run("recover", child)
    tell("claimed")
    while True:
        time.sleep(5)


if __name__ == "__main__":
    {"parent": parent, "worker": worker, "idler": idler}[sys.argv[1]](*sys.argv[2:])
