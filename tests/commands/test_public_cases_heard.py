"""The public cases of comments, through the webhook endpoint, the database and GitHub: what is carried out, and what is
answered. Only the last step, the controller's act, is a stand-in that writes down what it was to do.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from spoken_world import Replica, SpokenWorld, ticket

from app.commands import flood
from app.commands.grammar import commands_in
from app.controller.person_commands import Done, Word
from app.domain.record import Record

FIXTURES = Path(__file__).parents[1] / "fixtures"
PARSED = json.loads((FIXTURES / "commands_in_comments.json").read_text())
EDITED = json.loads((FIXTURES / "comments_edited_and_deleted.json").read_text())
OTHERS = json.loads((FIXTURES / "comments_of_bots_and_apps.json").read_text())


class Heard:
    """Stands for the controller: what it was to do, by the verb."""

    def __init__(self) -> None:
        self.did: list[str] = []

    async def hear(self, owner: str, name: str, ticket: Any, word: Word) -> Done:
        self.did.append(word.verb)
        return Done(f"{word.verb} was heard", Record(ticket=1, sequence=1, status="working"), changed=True)


class Stage:
    """One world for all cases: a ticket with its PR, and a service whose acts are written down."""

    def __init__(self, world: SpokenWorld, service: Replica, number: int) -> None:
        self.world, self.service, self.number = world, service, number

    async def of(self, event: dict[str, Any]) -> list[str]:
        """What is carried out after a delivery."""
        heard = Heard()
        self.service.ears._doing = heard  # type: ignore[assignment]
        await self.world.deliver(self.service, "issue_comment", event)
        await self.service.hear()
        return heard.did


@pytest.fixture
async def stage(world: SpokenWorld, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(flood, "MOST", 1000)
    service = world.replica()
    made = await ticket(world, service, ready=True)
    return Stage(world, service, int(made.pull()["number"]))


async def test_what_is_a_command_in_a_comment(stage: Stage) -> None:
    for case in PARSED:
        for one in case["input"]["cases"]:
            expected = case["expected"]["cases"][one["name"]]
            about = f"{case['id']} {one['name']}"
            comment = stage.world.comment(stage.number, one["body"])
            did = await stage.of(stage.world.payload(stage.number, comment))
            names = list(dict.fromkeys(command["name"] for command in expected["commands"]))
            reply = str(expected.get("reply", ""))
            answers = stage.world.answers(stage.number, comment["id"])
            if not names and not reply:
                assert (did, answers, stage.world.reactions(comment["id"])) == ([], [], []), about
                continue
            (answer,) = answers
            assert not commands_in(answer).commands, about
            if reply == "contradiction":
                assert did == expected["run"], about
                assert "contradict each other" in answer, about
                continue
            assert [name for name in names if f"`/recovery {name}`: " in answer] == names, about
            if reply.startswith("unknown:"):
                assert f"no command `{reply.removeprefix('unknown:')}`" in answer, about
            plain = [c["name"] for c in expected["commands"] if not c["args"]]
            assert set(did) <= set(names), about
            if plain == [c["name"] for c in expected["commands"]]:
                assert did == expected.get("run", list(dict.fromkeys(plain))), about


async def test_a_comment_is_heard_as_it_was_made_and_never_as_it_was_edited(stage: Stage) -> None:
    for number, one in enumerate(EDITED["input"]["cases"]):
        payload = one["payload"]
        comment = stage.world.comment(stage.number, payload["comment"]["body"])
        event = stage.world.payload(stage.number, comment, payload["action"])
        if "changes" in payload:
            event["changes"] = payload["changes"]
        if payload["action"] == "deleted":
            stage.world.ask("wanda", "DELETE", f"issues/comments/{comment['id']}")
        did = await stage.of(event)
        assert did == EDITED["expected"]["cases"][one["name"]]["execute"], (number, one["name"])


async def test_bots_apps_and_the_apps_own_comments_say_nothing(stage: Stage) -> None:
    for one in (case for case in OTHERS["input"]["cases"] if "comment" in case):
        comment = stage.world.comment(stage.number, one["comment"]["body"])
        told = one["comment"]
        shown = {**comment, "performed_via_github_app": told["performed_via_github_app"]}
        if told["user"]["type"] == "Bot":
            shown["user"] = told["user"]
        if (told["performed_via_github_app"] or {}).get("id") == one["own_app_id"]:
            shown["performed_via_github_app"] = {"id": stage.world.app["id"]}
        did = await stage.of(stage.world.payload(stage.number, shown))
        expected = OTHERS["expected"]["cases"][one["name"]]["execute"]
        assert did == expected, one["name"]
        assert len(stage.world.answers(stage.number, comment["id"])) == len(expected), one["name"]


async def test_an_answer_to_a_verb_that_is_none_is_no_command_itself(stage: Stage) -> None:
    (case,) = (case for case in OTHERS["input"]["cases"] if "unknown_command_body" in case)
    comment = stage.world.comment(stage.number, case["unknown_command_body"])
    payload = stage.world.payload(stage.number, comment)
    assert [await stage.of(payload), await stage.of(payload)] == [[], []]
    answer = stage.world.answer(stage.number, comment["id"])
    assert "did you mean `/recovery land`?" in answer.lower()
    assert commands_in(answer).commands == ()
    assert stage.world.reactions(comment["id"]) == ["eyes", "confused"]
