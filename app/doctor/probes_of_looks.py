"""Probes of looking: what one query tells of a ticket's surroundings, and what a wrong name in it hides."""

from app.doctor.probe import Seen, as_relied_on, probe
from app.doctor.sandbox import Sandbox
from app.domain.surroundings import Asked, Distance

NOBODYS_NUMBER = 2**31 - 1
NOBODYS_COMMIT = "1" * 40


@probe(
    "look",
    "One query compares a branch with a commit by its id and resolves git expressions; a number or commit that does "
    "not exist is null there, with or without an error beside it, and hides nothing else",
)
async def look(box: Sandbox) -> Seen:
    number = int((await box.make_issue())["number"])
    head = await box.commit("looked")
    branch = await box.make_branch("looked", head)
    missing = f"{head}:{box.word}/nothing.md"
    asked = Asked(
        work=head,
        predecessor=NOBODYS_NUMBER,
        predecessor_sha=NOBODYS_COMMIT,
        objects=(head, missing),
        numbers=(number, NOBODYS_NUMBER),
    )
    around = (await box.repo.observe(number, branch, box.repo.default_branch, asked=asked)).around
    compared = around.trunk_over_work == Distance(ahead=0, behind=1) and around.trunk_over_predecessor is None
    resolved = dict(around.objects) == {head: head, missing: None}
    numbered = dict(around.numbers) == {number: True, NOBODYS_NUMBER: False} and around.predecessor is None
    words = f"compared: {around.trunk_over_work}; objects found: {resolved}; numbers told apart: {numbered}"
    return as_relied_on(compared and resolved and numbered, words)
