"""Every command that the App tells people to run, in comments, refusals and files, can be run as it is told."""

import ast
import importlib
import re
from collections.abc import Iterator
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


def _told() -> list[tuple[str, str, str]]:
    files = [file for file in sorted(ROOT.rglob("*.py")) if file.relative_to(ROOT).parts[0] not in _SIDE]
    found = {
        (str(file.relative_to(ROOT)), *match) for file in files for t in _texts(file) for match in _COMMAND.findall(t)
    }
    return sorted(found)


_OPERATORS = (
    *("plan", "init", "stop", "start", "uninstall", "rebuild", "approve", "resolve", "hold", "unhold", "cancel"),
    *("bring-back", "takeover", "retarget", "land", "accept", "revoke-release", "rebuild-release"),
)
TOLD = [told for told in _told() if told[1] in _OPERATORS]
TOLD += [
    ("service/told_at_terminal.py", *form.format(ticket="42", word="X", last="done").split(" ", 1))
    for form in FORMS.values()
]
_SLASH = re.compile(r"`(/recovery [A-Za-z][^`\n]*)`")
SLASHED = sorted(
    {
        (str(file.relative_to(ROOT)), found)
        for file in sorted(ROOT.rglob("*.py"))
        for t in _texts(file)
        for found in _SLASH.findall(t)
    }
)
"""Commands for comments: whoever reads them may be an agent, too."""


@pytest.mark.parametrize(("file", "verb", "rest"), TOLD, ids=[f"{file} - {verb}" for file, verb, _ in TOLD])
def test_a_command_is_told_with_all_that_it_needs(file: str, verb: str, rest: str) -> None:
    assert verb in cli.ROOMS, f"{file} tells of a command that does not exist"
    joined = importlib.import_module(cli.ROOMS[verb].module).app
    command = typer.main.get_command(joined)
    command = getattr(command, "commands", {verb: command})[verb]
    needed = [param for param in command.params if param.required]
    options = [param.opts[0] for param in needed if param.param_type_name == "option"]
    if verb in ("stop", "start", "plan", "init", "uninstall"):
        options.append("--repo")
    assert [option for option in options if option not in rest] == []
    words = rest.split(" --")[0].split()
    assert len(words) == sum(param.param_type_name == "argument" for param in needed)


def _as_said(told: str) -> str:
    # What follows a verb without a blank is the name of a child, where there is one.
    return re.sub(r"(?<=[a-z])X", "", told)


def test_commands_are_told_at_all() -> None:
    assert {"unhold", "accept", "rebuild", "rebuild-release", "init", "plan", "start"} <= {verb for _, verb, _ in TOLD}
    assert {"unhold", "accept", "recover", "takeover", "approve", "resolve"} <= {
        _as_said(t).split()[1] for _, t in SLASHED
    }


@pytest.mark.parametrize(("file", "told"), SLASHED, ids=[f"{file} - {told}" for file, told in SLASHED])
def test_a_command_for_a_comment_can_be_said_as_it_is_told(file: str, told: str) -> None:
    if told.startswith("/recovery X"):
        return  # the verb comes from the registry itself, or is somebody's own that is shown to them
    (command,) = commands_in(_as_said(told)).commands
    verb = {verb.name: verb for verb in VERBS}.get(command.verb)
    assert verb is not None, f"{file} tells of a verb that does not exist"


@pytest.mark.parametrize("verb", sorted(FORMS))
def test_what_is_told_for_a_comment_is_told_at_the_terminal_in_its_own_form(verb: str) -> None:
    words = {"land": " X", "accept": " X", "retarget": " X", "approve": " X", "resolve": " X done"}.get(verb, "")
    assert at_terminal(f"say `/recovery {verb}{words}`.").startswith("say `agent-recovery ")
    told = at_terminal(f"`/recovery {verb} 42.docs-1{words}`")
    assert "--ticket 42.docs-1" in told
    assert "…" not in told
