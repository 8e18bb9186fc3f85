"""Every command that the App tells people to run, in comments, refusals and files, can be run as it is told."""

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

import app
from app import cli
from app.commands.grammar import commands_in
from app.commands.registry import VERBS
from app.service.told_at_terminal import FORMS, at_terminal

ROOT = Path(app.__file__).parent
_COMMAND = re.compile(r"`agent-recovery ([a-z-]+)([^`]*)`")
_SIDE = {"agent", "emulator", "drill"}
"""What these say is said to an agent, whose repository and ticket stand in its environment, or to developers."""


def _texts(file: Path) -> Iterator[str]:
    tree = ast.parse(file.read_text("utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values]
            yield "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


_OPERATORS = (
    *("plan", "init", "stop", "start", "uninstall", "rebuild", "approve", "resolve", "hold", "unhold", "cancel"),
    *("bring-back", "takeover", "retarget", "land", "accept", "revoke-release", "rebuild-release", "doctor"),
)
_SLASH = re.compile(r"`(/recovery [A-Za-z][^`\n]*)`")


@dataclass(frozen=True)
class Told:
    """All that is told: at the operator's terminal (file, verb, what follows), and for comments (file, the command).
    Whoever reads the latter may be an agent, too.
    """

    terminal: tuple[tuple[str, str, str], ...]
    slashed: tuple[tuple[str, str], ...]


@pytest.fixture(scope="module")
def told() -> Told:
    terminal, slashed = set(), set()
    for file in sorted(ROOT.rglob("*.py")):
        name = file.relative_to(ROOT)
        for text in _texts(file):
            slashed |= {(str(name), found) for found in _SLASH.findall(text)}
            if name.parts[0] not in _SIDE:
                terminal |= {(str(name), *match) for match in _COMMAND.findall(text) if match[0] in _OPERATORS}
    forms = [form.format(ticket="42", word="X", last="done").split(" ", 1) for form in FORMS.values()]
    terminal |= {("service/told_at_terminal.py", verb, rest) for verb, rest in forms}
    return Told(tuple(sorted(terminal)), tuple(sorted(slashed)))


def test_a_command_is_told_with_all_that_it_needs(told: Told) -> None:
    assert [(file, verb, rest) for file, verb, rest in told.terminal if not _is_whole(verb, rest)] == []


def _is_whole(verb: str, rest: str) -> bool:
    if verb not in cli.ROOMS:
        return False
    joined = importlib.import_module(cli.ROOMS[verb].module).app
    command = typer.main.get_command(joined)
    command = getattr(command, "commands", {verb: command})[verb]
    needed = [param for param in command.params if param.required]
    options = [param.opts[0] for param in needed if param.param_type_name == "option"]
    if verb in ("stop", "start", "plan", "init", "uninstall", "doctor"):
        options.append("--repo")
    words = rest.split(" --")[0].split()
    arguments = sum(param.param_type_name == "argument" for param in needed)
    return all(option in rest for option in options) and len(words) == arguments


def _as_said(told: str) -> str:
    # What follows a verb without a blank is the name of a child, where there is one.
    return re.sub(r"(?<=[a-z])X", "", told)


def test_commands_are_told_at_all(told: Told) -> None:
    terminal = {verb for _, verb, _ in told.terminal}
    assert {"unhold", "accept", "rebuild", "rebuild-release", "init", "plan", "start", "doctor"} <= terminal
    slashed = {_as_said(text).split()[1] for _, text in told.slashed}
    assert {"unhold", "accept", "recover", "takeover", "approve", "resolve"} <= slashed


def test_a_command_for_a_comment_can_be_said_as_it_is_told(told: Told) -> None:
    verbs = {verb.name for verb in VERBS}
    # Where X stands for the verb it comes from the registry itself, or is somebody's own that is shown to them.
    said = [
        (file, text, commands_in(_as_said(text)).commands) for file, text in told.slashed if "/recovery X" not in text
    ]
    assert [(file, text) for file, text, found in said if [c.verb in verbs for c in found] != [True]] == []


@pytest.mark.parametrize("verb", sorted(FORMS))
def test_what_is_told_for_a_comment_is_told_at_the_terminal_in_its_own_form(verb: str) -> None:
    words = {"land": " X", "accept": " X", "retarget": " X", "approve": " X", "resolve": " X done"}.get(verb, "")
    assert at_terminal(f"say `/recovery {verb}{words}`.").startswith("say `agent-recovery ")
    told = at_terminal(f"`/recovery {verb} 42.docs-1{words}`")
    assert "--ticket 42.docs-1" in told
    assert "…" not in told
