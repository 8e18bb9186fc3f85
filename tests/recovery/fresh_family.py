"""Two fresh agents that know nothing but a brief's JSON: one takes over a child, one a ticket that has children.

Like the agent of a whole ticket they hold every field against the others and against their clone, and stop before they
do anything where one is missing or contradicts another.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.recovery.fresh_agent import Git, need, text

MINUTES_A_STEP, TOKENS_A_STEP = 20, 50_000
_FILES = re.compile(r"[\w./-]+\.txt")
_FIRST = re.compile(r"; (\S+) is integrated before it$")


class FreshChild:
    """An agent that can fill some roles, in a clone of a child's branch."""

    def __init__(self, folder: Path, git: Git, roles: Sequence[str]) -> None:
        self.folder, self.git, self.roles = folder, git, roles

    def check(self, brief: dict[str, Any]) -> dict[str, Any]:
        """Whether the contract says all that is needed; the contract. Raises CannotGoOn."""
        contract: dict[str, Any] = brief["contract"]
        need(contract, "nobody says what was asked for")
        done, left, known = brief["completed_steps"], brief["next_steps"], brief["checkpoint"]
        need(contract["role"] in self.roles, "it is work for another role")
        need(contract["objective"], "it is not said what for")
        need(contract["objective"] == known.get("objective"), "the notes are for another objective")
        need(contract["acceptance"], "nobody says when it is done")
        planned = [step["text"] for step in (*done, *left)]
        need(sorted(planned) == sorted(contract["acceptance"]), "the plan is not what will be accepted")
        files = _FILES.findall(contract["expected_result"] or "")
        need(len(files) == len(planned), "it is not said which files are expected")
        for step in done:
            need([f for f in files if self._made(f, step)], "what counts as done is not there")
        self._stands_on(brief, contract)
        self._can_afford(brief, contract, len(left))
        return contract

    def finish(self, brief: dict[str, Any], publish: Callable[[str, tuple[str, ...]], None]) -> dict[str, Any]:
        """Does what is left, publishes (commit, ids of the steps done), and says what came of it."""
        contract = self.check(brief)
        files = _FILES.findall(contract["expected_result"])
        for step in brief["next_steps"]:
            file = next(f for f in files if Path(f).stem == step["id"])
            (self.folder / file).parent.mkdir(exist_ok=True)
            (self.folder / file).write_text(f"{step['text']}\n")
            self.git("add", "--", file)
            self.git("commit", "-qm", f"{contract['objective']}: {step['text']}")
        steps = (*brief["completed_steps"], *brief["next_steps"])
        publish(self.git("rev-parse", "HEAD"), tuple(step["id"] for step in steps))
        asked = f"asked at {contract['spawned_at']} by generation {contract['parent_generation']}"
        return {
            "outcome": "completed",
            "summary": f"{contract['objective']}, {asked}: finished",
            "acceptance": [
                {"text": line, "met": line in {s["text"] for s in steps}} for line in contract["acceptance"]
            ],
            "artifacts": [file for file in files if (self.folder / file).is_file()],
        }

    def _made(self, file: str, step: dict[str, Any]) -> bool:
        return Path(file).stem == step["id"] and (self.folder / file).is_file()

    def _stands_on(self, brief: dict[str, Any], contract: dict[str, Any]) -> None:
        base, head = contract["base_sha"], self.git("rev-parse", "HEAD")
        need(base and base == brief["work"]["base_sha"], "it was asked for at another commit")
        need(self.git("merge-base", base, head) == base, "the clone does not stand on what it was asked for")
        need(contract["predecessor_sha"], "nobody says what the ticket stood on")
        need(contract["predecessor_sha"] == brief["checkpoint"].get("predecessor_sha"), "the ticket stood on another")
        need(contract["parent_generation"], "no holder of the ticket asked for it")
        before = contract["after_generation"]
        need(isinstance(before, int), "it is not known whose results are of an earlier contract")
        # Done under this contract is only what a generation after that one did; ours is the next.
        need(brief["generation"] - 1 > before or not brief["completed_steps"], "what is done is of another contract")

    def _can_afford(self, brief: dict[str, Any], contract: dict[str, Any], steps: int) -> None:
        budget = contract["budget"]
        need(budget and budget["minutes"] and budget["tokens"], "it is not known what it may cost")
        asked, now = (datetime.fromisoformat(text(at)) for at in (contract["spawned_at"], brief["generated_at"]))
        until = asked + timedelta(minutes=budget["minutes"])
        need(asked <= now <= until - timedelta(minutes=MINUTES_A_STEP) * steps, "the time for it is over")
        need(steps * TOKENS_A_STEP <= budget["tokens"], "it costs more than it may")


@dataclass(frozen=True)
class Decision:
    """What becomes of one child. `command`: the brief's own, where something is to be run; `told`: for people."""

    name: str
    deed: str
    command: tuple[str, ...]
    told: str


class FreshParent:
    """The new holder of a ticket, in its clone. `results`: where the clone keeps the refs of the children's results."""

    def __init__(self, git: Git, results: str) -> None:
        self.git, self.results = git, results

    def decide(self, brief: dict[str, Any]) -> list[Decision]:
        """What becomes of each child, in the brief's order. Raises CannotGoOn."""
        children = brief["children"]
        found = {each["name"]: each for each in brief["findings"][8]["evidence"].get("children", ())}
        need([child["name"] for child in children] == list(found), "a child is missing")
        need(set(brief["checkpoint"].get("active_children", ())) <= found.keys(), "a child that is active is missing")
        offered = self._offered(brief)
        made: list[Decision] = []
        first: str | None = None
        for child in children:
            self._holds(child, found[child["name"]], brief)
            deed, told = self._decided(child, first, brief)
            command = offered.pop(child["name"], ())
            need(
                bool(command) == (deed in ("integrate", "respawn", "recover")), f"no command to {deed} {child['name']}"
            )
            need(not command or deed in command, f"{child['name']}: the command is for something else")
            made.append(Decision(child["name"], deed, command, told))
            if first is None and child["state"] in ("completed", "running", "interrupted", "waiting"):
                first = child["name"]
        need(not offered, "a command is for no child that is shown")
        return made

    def _offered(self, brief: dict[str, Any]) -> dict[str, tuple[str, ...]]:
        """The commands by the child they are for: `child VERB NAME`, or `recover TICKET.NAME`."""
        argvs = [tuple(c["argv"]) for c in brief["commands"] if c["when"] == "children"]
        return {a[3] if a[1] == "child" else a[2].partition(".")[2]: a for a in argvs}

    def _holds(self, child: dict[str, Any], found: dict[str, Any], brief: dict[str, Any]) -> None:
        """The child's row against what was found, and against the clone."""
        name, generation = child["name"], child["generation"]
        need(child["role"], f"nobody says who can do {name}")
        need(child["objective"], f"nobody says what {name} is for")
        need(child["because"], f"nobody says why {name} is {child['state']}")
        need(isinstance(generation, int), f"the generation of {name} is not known")
        shown = {
            "state": child["state"],
            "generation": generation,
            "base": child["base_sha"],
            "predecessor": child["predecessor_sha"],
            "head": child["head_sha"],
            "result": child["result_commit"],
            "pull": child["pr_number"],
        }
        need({"name": name, **shown} == found, f"{name} was found otherwise")
        branch = f"refs/remotes/origin/ticket/{brief['ticket']}.{name}"
        need(self._at(branch) == (child["head_sha"] or ""), f"the branch of {name} is at another commit")
        if child["result_commit"]:
            kept = self._at(f"{self.results}/{brief['ticket']}.{name}.g{generation}")
            need(kept == child["result_commit"], f"the result of {name} is another one")

    def _decided(self, child: dict[str, Any], first: str | None, brief: dict[str, Any]) -> tuple[str, str]:
        name, state, why, objective = child["name"], child["state"], child["because"], child["objective"]
        base, on, head = child["base_sha"], child["predecessor_sha"], child["head_sha"]
        need(base and on, f"{name}: nobody says at which commits it was asked for")
        need(child["integrable"] in (True, False), f"{name}: nobody says whether it can be merged")
        need(not child["integrable"] or state == "completed", f"{name} is {state}, and cannot be merged")
        need(bool(child["merged"]) == (state == "integrated"), f"{name} is {state}, merged or not")
        current = on == brief["checkpoint"].get("predecessor_sha") and self._contains(base)
        if state == "completed":
            need(current, f"{name} was asked for at another snapshot")
            need(head and child["result_commit"], f"{name} gave nothing")
            need(child["integrable"] is (first is None), f"it is not clear when it is the turn of {name}")
            said = _FIRST.search(why)
            need((said[1] if said else None) == first, f"{name}: {why}")
            need(child["pr_number"], f"nobody says where the checks of {name} are seen")
            told = f"{objective} (#{child['pr_number']}): {head}"
            return ("integrate", told) if first is None else ("wait", f"for {first}")
        match state:
            case "integrated":
                need(why == f"merged as {child['merged']}", f"{name}: {why}")
                need(child["result_commit"], f"{name} gave nothing")
                need(self._contains(child["merged"]) and self._contains(head), f"{name} is not merged here")
                return "nothing", f"{objective}: {why}"
            case "stale":
                need(not current and on in why, f"{name} is not stale")
                return "respawn", f"{objective}, by a {child['role']}: {why}"
            case "failed":
                return "respawn", f"{objective}, by a {child['role']}: {why}"
            case "running":
                need(current, f"{name} works on another snapshot")
                need(why == f"generation {child['generation']} is held by {child['holder']}", f"{name}: {why}")
                return "wait", f"for {child['holder']}"
            case "interrupted":
                need(current, f"{name} was asked for at another snapshot")
                need(child["holder"], f"nobody says who had {name}")
                need(why.startswith(f"generation {child['generation']} ended: "), f"{name}: {why}")
                return "recover", f"{objective}, by a {child['role']}, after {child['holder']}: {why}"
            case "waiting":
                need(current, f"{name} was asked for at another snapshot")
                return "recover", f"{objective}, by a {child['role']}: {why}"
        need(state == "cancelled", f"nobody knows what to do with {name}, which is {state}")
        return "nothing", f"{objective}: {why}"

    def _contains(self, commit: str | None) -> bool:
        return bool(commit) and self.git("merge-base", str(commit), "HEAD") == commit

    def _at(self, ref: str) -> str:
        return self.git("for-each-ref", "--format=%(objectname)", ref)
