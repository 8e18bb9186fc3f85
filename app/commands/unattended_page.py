"""docs/unattended.md, made from two tables of the domain: `python -m app.commands.unattended_page --write`."""

import sys
from pathlib import Path

from app.domain.attendance import WAYS, Attended, Way
from app.domain.denied_effects import MOST_TOLD
from app.domain.effect import RULES

PAGE = Path(__file__).parents[2] / "docs" / "unattended.md"

_TEXT = """\
# What may be done with nobody there

<!-- Made from app/domain/attendance.py and app/domain/effect.py by `python -m app.commands.unattended_page --write`; a
     test compares. -->

A person who begins a ticket is there: asked, that person answers. The same ticket, resumed at night by a workflow, has
nobody. So whether somebody is there is decided when a call comes, by the way it came, and never by where the ticket
began, who enrolled it, who holds it, or what its record says.

| a call comes by | a person acts at this moment | because |
|---|---|---|
{ways}

Every holder is unattended, whatever it is: it shows a lease token.

## The deny-list

What an agent means to do outside Git it does through the [journal of effects](effects.md), and says of which kind it
is. Some kinds are denied to whoever has nobody there; what cannot be undone is denied to everybody. Then a person has
to approve that very effect in that generation.

| kind | unattended | with a person there | because |
|---|---|---|---|
{kinds}

A kind that this version does not know is denied to everybody.

## What a denied effect comes to

- The call is refused before anything is done: exit 4, code `effect_not_approved`, with the command that a person says.
- The ledger says so, once for each effect and generation, however often it is asked for.
- A comment mentions the person (the ticket's assignee, else who opened it), once for each effect and generation, and at
  most {most} in one generation. It holds both commands: `/recovery approve KEY` and `/recovery deny KEY`.
- The holder runs the same command again when it is approved; until then it does something else, or hands off.

A person's word counts in a comment, or at the operator's terminal
(`agent-recovery approve OWNER/NAME --ticket N --effect KEY --by LOGIN`, which records whose word it is). It is the word
that lets an effect through; the call that carries the effect out stays unattended.

An approval is of one effect in one generation. It ends with the lease: a takeover, a handoff and the next claim, a
crash and the next claim begin a generation without any. `/recovery recover` voids what was approved and not yet begun.

An agent that pushes its ledger by git can write that an effect is on its way without having asked. That is nobody's
approval: the service lets nothing through for it, and the person is told that something was begun which nobody
approved.

What this does not do: an agent that never says what it does is not stopped by it. Give agents credentials that cannot
do what they must not ([security.md](security.md)).
"""


def page() -> str:
    """The whole page."""
    ways = [f"| {_NAMES[way]} | {_yes(isinstance(at, Attended))} | {at.why} |" for way, at in WAYS.items()]
    kinds = [
        f"| `{kind}` | {_may(rule.unattended)} | {_may(rule.attended)} | {rule.why} |" for kind, rule in RULES.items()
    ]
    return _TEXT.format(ways="\n".join(ways), kinds="\n".join(kinds), most=MOST_TOLD)


_NAMES: dict[Way, str] = {
    Way.API: "the HTTP API with a lease token, the command line included",
    Way.RUN: "the same, from a workflow run that was started for the ticket",
    Way.GIT: "an agent's own commit on the ledger",
    Way.LOOP: "the service itself: a webhook, a timer, a start",
    Way.TERMINAL: "the operator's terminal",
    Way.COMMENT: "a slash comment",
}


def _yes(attended: bool) -> str:
    return "yes" if attended else "no"


def _may(allowed: bool) -> str:
    return "may be done" if allowed else "once a person approved it"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), "utf-8")
    else:
        sys.stdout.write(page())
