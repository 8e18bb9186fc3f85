"""Makes `docs/recovery.md` from the story of a fresh agent: `python -m tests.recovery.recovery_page`.

The brief is the one that the code made in real processes on the emulated GitHub. What differs from run to run (commits,
moments, sequence numbers, this machine's digest) is given fixed values, each commit its own, so that a test can hold
the page to the code.
"""

import json
import re
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "recovery.md"

STEPS: dict[int, str] = {
    1: "Read in one request. A closed Issue, a trunk that is gone, or a Project that names another release stops the "
    "recovery here: a person decides which is right. An Issue that this one is blocked by is named as a blocker. Where "
    "the App may not read the Project, that is said, and hides nothing else.",
    2: "The branch against the commit its last holder published. Foreign commits on top do not count and are not taken "
    "over silently; a branch that was moved or deleted is put back by the loop.",
    3: "Head, base, draft or ready, and the line that links the Issue. A missing PR is a repair (step 13), not a "
    "question.",
    4: "Delivered work is looked for before anything else is planned: a merged PR whose Issue is open, a ready one "
    "that has not landed, branches with the ticket's number, pull requests that build on this branch. Read only.",
    5: "Files decide, not commits: with no difference to the base of releases no PR is needed, with the first one a "
    "draft must exist. Auto-merge on it is a fault. Nothing here merges a release, and nothing that is read here "
    "permits it.",
    6: "The ledger's head, after every seal since the service's last one was checked. It says when and at which moment "
    "it was made, and whether a live holder has not saved for longer than `checkpoint.max_gap`.",
    7: "Each of the checkpoint's `decision_refs` is resolved at a commit: its own where it is pinned, else the work's. "
    "One that is missing is a blocker. What names nothing in this repository is shown and not looked up.",
    8: "One compare-and-set from the generation that was read to the next one. Of many who try, one wins; the others "
    "read again. Before it nothing was written anywhere.",
    9: "Children live on when their parent dies. Each is shown with what it was asked, where it stands, and the "
    "command that takes its result, adopts it or asks anew.",
    10: "The agent's side: `agent-recovery recover` makes the workspace at exactly this commit in an empty folder and "
    "shows it. Until then the ticket is `recovering`, and after `lease.recovering_ttl` that was a failed attempt.",
    11: "The predecessor's recorded commit against the one it has now. Another one is a stale base: the brief names "
    "the command that takes it in, and every validation made on the old one is void.",
    12: "Every recorded result, judged on the commit to work from. One of another commit, on another predecessor, or "
    'that stopped half-way says "not run". A result stands in for running its checks again only on the identical '
    "commit, declared deterministic, with the same digest of its dependencies on both sides.",
    13: "Follows through the loop, never inside the call that recovers, and never a release merge: branch back, PR "
    "made, reopened, draft or ready, comment and check-run, effects whose end nobody wrote down looked for.",
    14: "How far the trunk has moved, and whether GitHub says that the PR conflicts. GitHub computes that lazily: "
    '"not computed yet" is neither yes nor no.',
    15: "The checkpoint's next steps; before the first checkpoint the Issue's task list, which stands under "
    "`untrusted`, because other people wrote it.",
    16: "The policy's `verify` commands, run by `recover`, or reused as step 12 allows. The service judges the same "
    "once more: what an agent leaves out without a result that stands did not run.",
    17: "Every write shows the present generation and nonce. Whoever held the ticket before is refused everywhere.",
}

INTRO = """\
# A recovery, step by step

Made from a real brief by `python -m tests.recovery.recovery_page`; a test holds this page to the code. Commits, moments
and sequence numbers differ from run to run and have fixed values here.

The story: an agent took ticket 42, did four of six steps, pushed them, recorded what it had validated, and was never
heard of again. A fresh agent that knows nothing but the address of the service and the ticket's number reads the brief,
runs the one command it names, and reads the brief that this returns. It finishes the ticket from that JSON alone
([tests/recovery/test_fresh_agent.py](../tests/recovery/test_fresh_agent.py)); with any one field of it blanked it stops
before it does anything. The form of a brief is [schema/brief.json](schema/brief.json).
"""


def page(before: dict[str, Any], held: dict[str, Any]) -> str:
    """The page, from the brief of the free ticket and the brief of the ticket just granted."""
    before, held = json.loads(_steady(json.dumps([before, held])))
    return "\n".join(
        (
            INTRO,
            *_first(before),
            *_seventeen(held),
            *_thirteen(held),
            *_validations(held),
            *_commands(held),
        )
    )


def _first(before: dict[str, Any]) -> list[str]:
    shown = {name: before[name] for name in ("status", "generation", "holder", "claimable", "claimable_because")}
    (command,) = before["commands"]
    return [
        "## Before: who may take it",
        "",
        "`agent-recovery brief 42 --json` needs no more than permission to read, and changes nothing:",
        "",
        *_json(shown),
        f"Its one command: `{' '.join(command['argv'])}` ({command['why']}).",
        "",
    ]


def _seventeen(held: dict[str, Any]) -> list[str]:
    lines = [
        "## The 17 steps",
        "",
        "As `recover` answers them (`findings`). `done`, `pending` (somebody's next move), `blocked` (a person's), or",
        "`not_applicable`.",
        "",
    ]
    for finding in held["findings"]:
        lines += [f"### {finding['step']}. {finding['name']}", "", *_wrapped(STEPS[finding["step"]]), ""]
        lines += [*_wrapped(f"Here: **{finding['state']}**, {finding['finding']}."), ""]
        if finding["evidence"]:
            lines += _json(finding["evidence"])
    return lines


def _thirteen(held: dict[str, Any]) -> list[str]:
    met = {True: "met", False: "not met", None: "not judged"}
    return [
        "## The 13 completion criteria",
        "",
        "Judged when they can be true (`criteria`): some only after the workspace was shown, some only once the ticket",
        "is ready. The answer to `recover`'s evidence brings them again.",
        "",
        "| | criterion | | because |",
        "|---|---|---|---|",
        *(f"| {c['number']} | {c['name']} | {met[c['met']]} | {c['reason']} |" for c in held["criteria"]),
        "",
    ]


def _validations(held: dict[str, Any]) -> list[str]:
    return [
        "## What was validated",
        "",
        "The first agent ran `agent-recovery validate verify --deterministic` on its last commit, with",
        "`AGENT_RECOVERY_DEPENDENCIES` naming its machine's image, and recorded with `--file` what CI had found on an",
        "older commit. The fresh agent's machine has the same image, so `recover` runs the first one not again.",
        "",
        *_json(held["validations"]),
    ]


def _commands(held: dict[str, Any]) -> list[str]:
    rows = [f"| {c['when']} | `{' '.join(c['argv'])}` | {c['why']} |" for c in held["commands"]]
    return ["## What it may run", "", "| when | command | why |", "|---|---|---|", *rows, ""]


def _json(value: Any) -> list[str]:
    return ["```json", *json.dumps(value, indent=1, ensure_ascii=False).splitlines(), "```", ""]


def _wrapped(text: str, width: int = 118) -> list[str]:
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def _steady(text: str) -> str:
    """The text with fixed values for what differs from run to run."""
    text = re.sub(r"sha256:[0-9a-f]{64}", "sha256:" + "d" * 64, text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "2026-11-30T12:00:00Z", text)
    text = re.sub(r'"sequence": \d+', '"sequence": 21', text)
    text = re.sub(r'"mergeable": "\w+"', '"mergeable": "MERGEABLE"', text)
    numbers = count(1)
    names: dict[str, str] = {}
    return re.sub(
        r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])",
        lambda found: names.setdefault(found[0], f"{next(numbers):02d}" * 20),
        text,
    )


if __name__ == "__main__":
    from app.drill.world import World
    from tests.recovery.fresh_story import play

    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        try:
            world.start_service()
            world.install()
            told = play(world)
        finally:
            world.stop()
    PAGE.write_text(page(told.before, told.held), "utf-8")
