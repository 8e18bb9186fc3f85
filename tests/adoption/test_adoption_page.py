"""The commands of docs/adoption.md, run in the order in which the page gives them."""

import re
import shlex
from pathlib import Path

import pytest
from loop_world import REPO, LoopWorld
from operating import Operator

PAGE = (Path(__file__).parents[2] / "docs/adoption.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [shlex.split(line)[1:] for block in BLOCKS for line in block.splitlines()]


async def test_every_command_of_the_page_does_what_it_says(world: LoopWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.controller.uninstalling.KNOWN_FOR_S", 0.0)
    operator = Operator(world, monkeypatch)
    world.emulator.commit(REPO, {".github/agent-recovery.yml": None}, branch="main")
    assert {words[0] for words in COMMANDS} == {"plan", "init", "stop", "start", "uninstall"}
    file = world.folder / "policy.yml"
    file.write_text("mode: full\n")
    stand_for = {"OWNER/NAME": REPO, "OWNER": "acme", "LOGIN": "wanda", "FILE": str(file)}
    for words in COMMANDS:
        named = [stand_for.get(word, word) for word in words]
        said = await operator.run(*named)
        assert said.code == 0, (words, said.out, said.err)
    assert [pull["head"]["ref"] for pull in world.get("pulls")] == ["agent-recovery/init"]


def test_the_bounds_on_the_page_are_the_codes() -> None:
    from app.controller.planning import MOST_LOOKED_AT, MOST_PAGES
    from app.controller.policies import MAX_PAGES
    from app.controller.stops import KNOWN_FOR_S

    assert f"at most {MOST_PAGES * 100:,} of each, and looks at {MOST_LOOKED_AT} tickets" in " ".join(PAGE.split())
    assert f"up to {MAX_PAGES * 100} commits back" in PAGE
    assert KNOWN_FOR_S <= 1.0
