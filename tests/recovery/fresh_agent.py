"""A fresh agent that knows nothing but a brief's JSON, and runs nothing of `agent-recovery` but the brief's commands.

It is careful: before it does anything it holds every field against the others and against the workspace it was given,
and stops where one is missing or contradicts another. Then it does what is left, and says so.
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Run = Callable[[Sequence[str]], dict[str, Any]]
"""Runs one of the brief's commands with `--json` in the workspace; its answer."""
Git = Callable[..., str]

STEPS, CRITERIA = 17, 13
IN_PROGRESS = ("recovering", "working", "waiting")
_NEEDS = re.compile(r"needs (\S+)")
_NOTES = re.compile(r"into (\.agent-recovery/[\w.]+)")


class CannotGoOn(Exception):
    """The brief does not say enough, or contradicts itself."""


class FreshAgent:
    """One agent in one folder, with a label that people know it by."""

    def __init__(self, folder: Path, label: str, run: Run, git: Git) -> None:
        self.folder, self.label, self.run, self.git = folder, label, run, git

    def take(self, brief: dict[str, Any]) -> dict[str, Any]:
        """From the brief of a ticket that nobody holds: claims it by the one command there is; its brief then."""
        self._known_form(brief)
        need(brief["claimable"] is True, "it cannot be claimed")
        need(brief["claimable_because"], "nobody says why it can be claimed")
        need(brief["status"] in IN_PROGRESS, "its status is none to go on from")
        need(brief["generation"], "the generation before is not known")
        need(brief["holder"], "nobody knows who held it")
        need(text(brief["lease_expires_at"]) < text(brief["generated_at"]), "the last lease is not over")
        need(brief["work"]["published_sha"], "there is no work to go on from")
        self._agrees(brief)
        need(len(brief["commands"]) == 1, "it is not clear how to take it")
        command = brief["commands"][0]
        need(command["when"] == "now", "the command is not for now")
        need(command["why"], "nobody says what the command is for")
        asked = [str(brief["ticket"]), "--repo", brief["repository"]]
        need(command["argv"][:2] == ["agent-recovery", "recover"], "the command is not one that takes a ticket")
        need(command["argv"][2:] == asked, "the command is about another ticket")
        self.before = brief
        answer: dict[str, Any] = self.run(command["argv"])["brief"]
        return answer

    def finish(self, brief: dict[str, Any]) -> None:
        """From the brief of the ticket that it holds: does every step that is left, and says that it is ready."""
        commands = self.check(brief)
        done, left = list(brief["completed_steps"]), list(brief["next_steps"])
        while left:
            step = left.pop(0)
            done.append({"id": step["id"], "text": step["text"], "sha": self._do(brief, step)})
            self._note(brief, done, left)
            self.run(commands["publish"])
        for name in brief["pending_validation"]:
            need(name in commands["validate"], f"nothing validates {name}")
            self.run(commands["validate"])
        self._note(brief, done, left, pending=[])
        self.run(commands["often"])
        self.run(commands["finish"])

    def check(self, brief: dict[str, Any]) -> dict[str, list[str]]:
        """Whether everything that is needed is there; the commands by their moment. Raises CannotGoOn."""
        self._known_form(brief)
        need(brief["claimable"] is False, "it can still be claimed")
        need(brief["claimable_because"] == "you hold it", "nobody says that it is ours")
        need(brief["status"] == "recovering", "no recovery is going on")
        need(brief["generation"] == self.before["generation"] + 1, "it is another generation")
        need(brief["holder"] == self.label, "somebody else holds it")
        need(text(brief["lease_expires_at"]) > text(brief["generated_at"]), "the lease is over")
        self._agrees(brief)
        self._stands_at(brief)
        commands = {command["when"]: command["argv"] for command in brief["commands"]}
        whys = {command["when"]: command["why"] for command in brief["commands"]}
        need(all(command["why"] for command in brief["commands"]), "a command says nothing of its purpose")
        need({"often", "publish", "validate", "finish", "stop"} <= commands.keys(), "a command is missing")
        need(all(argv and argv[0] == "agent-recovery" for argv in commands.values()), "a command is another program's")
        named = _NOTES.search(whys["often"])
        need(named, "nobody says where a successor's notes go")
        self.notes = named[1] if named else ""
        return commands

    def _known_form(self, brief: dict[str, Any]) -> None:
        need(brief["schema_version"] == 1, "the brief has a form that is not known")
        need(brief["issue_state"] == "OPEN", "the Issue is not open")
        need(re.fullmatch(r"[\w.-]+/[\w.-]+", brief["repository"] or ""), "no repository")
        need(isinstance(brief["ticket"], int), "no ticket")
        found, judged = brief["findings"], brief["criteria"]
        need([f["step"] for f in found] == list(range(1, STEPS + 1)), "steps are missing")
        need([c["number"] for c in judged] == list(range(1, CRITERIA + 1)), "criteria are missing")
        need(all(f["name"] and f["finding"] for f in found), "a step says nothing")
        need(all(c["name"] and c["reason"] for c in judged), "a criterion says nothing")
        need(all(f["state"] in ("done", "pending", "not_applicable") for f in found), "a step is blocked")
        need([c for c in judged if c["met"] is True], "nothing is met")
        need(found[1]["evidence"].get("head") == brief["work"]["branch_head"], "the evidence is another head's")
        need(found[6]["evidence"].get("resolved"), "no decision was resolved")

    def _agrees(self, brief: dict[str, Any]) -> None:
        """The brief against its own checkpoint and Issue."""
        known, outside = brief["checkpoint"], brief["untrusted"]
        for name in ("objective", "accepted_decisions", "pending_validation"):
            need(brief[name] and brief[name] == known.get(name), f"{name} is not the checkpoint's")
        for name in ("completed_steps", "next_steps"):
            shown = [{k: v for k, v in step.items() if v is not None} for step in brief[name]]
            need(shown and shown == known.get(name), f"{name} are not the checkpoint's")
            need(all(step["id"] and step["text"] for step in brief[name]), f"{name} say nothing")
        need(all(step["sha"] for step in brief["completed_steps"]), "a completed step has no commit")
        to_do = (*brief["next_steps"], *outside["issue_tasks"])
        need(all(step["sha"] is None for step in to_do), "a step still to be done has a commit")
        need(set(known.get("blockers", ())) <= set(brief["blockers"]), "a blocker is missing")
        need(brief["blockers"], "the checkpoint's blocker is not told")
        need(outside["issue_title"], "the Issue has no title")
        need(outside["issue_body_shortened"] is False, "the Issue's text is not whole")
        planned = {step["text"] for name in ("completed_steps", "next_steps") for step in brief[name]}
        need([task["id"] for task in outside["issue_tasks"]], "the Issue lists nothing")
        for task in outside["issue_tasks"]:
            need(task["id"] and task["text"] in planned, "a task of the Issue is in no plan")
            need(task["text"] in (outside["issue_body"] or ""), "a task is not the Issue's")
        for shown in brief["validations"]:
            self._trusts(brief, shown)
        names = [shown["profile"] for shown in brief["validations"]]
        need(set(brief["pending_validation"]) <= set(names), "nothing is known of what is to be validated")

    def _trusts(self, brief: dict[str, Any], shown: dict[str, Any]) -> None:
        need(shown["profile"] and shown["version"], "a validation has no name")
        need(shown["artifacts"], "a validation has no report")
        if shown["state"] == "passed":
            need(shown["snapshot"] == brief["work"]["published_sha"], "it passed on another commit")
            need(shown["completed"] and not shown["failed"] and not shown["not_run"], "it did not pass")
            need(shown["deterministic"] and shown["dependencies"], "nobody says on what it depends")
            return
        need(shown["state"] == "not run", "a validation failed on this very commit")
        need(shown["because"], "nobody says why it counts as not run")
        need(shown["snapshot"] != brief["work"]["published_sha"], "it was made on this very commit")
        need(shown["snapshot"], "nobody says of what it was the result")
        need(shown["completed"] and shown["failed"] and shown["not_run"], "its result is not whole")

    def _stands_at(self, brief: dict[str, Any]) -> None:
        """The brief against the workspace."""
        work, head = brief["work"], self.git("rev-parse", "HEAD")
        need(work["published_sha"] == work["branch_head"] == head, "the workspace is at another commit")
        need(self.git("symbolic-ref", "--short", "HEAD") == work["branch"], "it is on another branch")
        need(self.git("config", "remote.origin.url").endswith(f"/{brief['repository']}.git"), "another repository")
        need(work["base_sha"] and self.git("merge-base", work["base_sha"], head) == work["base_sha"], "another base")
        need(work["trunk"] and self.git("rev-parse", f"origin/{work['trunk']}"), "there is no trunk")
        need(work["pr_state"] == "DRAFT", "its PR is no draft")
        need(work["pr_number"] and brief["findings"][2]["evidence"]["number"] == work["pr_number"], "no PR")
        for blocker in brief["blockers"]:
            (file,) = _NEEDS.findall(blocker) or ("",)
            need(file and (self.folder / file).is_file(), f"blocked: {blocker}")

    def _do(self, brief: dict[str, Any], step: dict[str, Any]) -> str:
        name = f"work/step-{step['id']}.txt"
        need(not (self.folder / name).exists(), f"{name} was made before")
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(f"{step['text']}\nfinished\n")
        self.git("add", "--", name)
        title = brief["untrusted"]["issue_title"]
        self.git("commit", "-qm", f"{title}: step {step['id']}\n\nTicket: {brief['repository']}#{brief['ticket']}")
        return self.git("rev-parse", "HEAD")

    def _note(self, brief: dict[str, Any], done: list[Any], left: list[Any], pending: list[str] | None = None) -> None:
        notes = {
            "objective": brief["objective"],
            "completed_steps": [{k: v for k, v in step.items() if v is not None} for step in done],
            "next_steps": [{k: v for k, v in step.items() if v is not None} for step in left],
            "accepted_decisions": brief["accepted_decisions"],
            "pending_validation": brief["pending_validation"] if pending is None else pending,
            "decision_refs": brief["checkpoint"]["decision_refs"],
            "blockers": [],
        }
        (self.folder / self.notes).write_text(json.dumps(notes))


def need(holds: object, otherwise: str) -> None:
    if not holds:
        raise CannotGoOn(otherwise)


def text(value: object) -> str:
    """A moment as it is written; the form sorts by itself."""
    if not isinstance(value, str) or not value:
        raise CannotGoOn("a moment is missing")
    return value
