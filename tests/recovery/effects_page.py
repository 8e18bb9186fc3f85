"""Makes `docs/effects.md` from the code: `python -m tests.recovery.effects_page` from the repository's root.

Every method of `app/github` that writes is found in its source, and its three answers are those of its docstring; the
kinds, states and probes of agents' effects are those of the models. Only the class of each write stands here, because
the ownership protocol gives it.
"""

import ast
import inspect
import re
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from app.domain import effect_probe
from app.domain.attendance import of_holder
from app.domain.effect import Kind, State, needs_approval

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "effects.md"

CLASSES = {
    "create_tree": ("object", "the same object is made again"),
    "create_commit": ("object", "the same object is made again"),
    "update_refs": ("P", "`place_of_ref`, `exact_ref`"),
    "receive_pack": ("P", "`place_of_ref`, `exact_ref`"),
    "git_push": ("P", "`place_of_ref`, `exact_ref`"),
    "create_pull": ("M", "`find_pulls`"),
    "reopen_pull": ("P", "`observe`"),
    "close_pull": ("P", "`observe`"),
    "set_draft": ("P", "`observe`"),
    "create_comment": ("C", "`find_comments`"),
    "edit_comment": ("P", "`observe`"),
    "delete_comment": ("P", "`find_comments`"),
    "create_check_run": ("C", "`find_check_runs`"),
    "update_check_run": ("P", "`find_check_runs`"),
    "edit_base": ("S", "`observe`"),
    "close_issue": ("S", "`observe`"),
    "edit_body": ("P", "`observe`"),
    "assign": ("P", "`observe`"),
    "request_reviewers": ("P", "`observe`"),
    "add_labels": ("P", "`observe`"),
    "remove_label": ("P", "`observe`"),
    "set_project_field": ("P", "`observe`"),
    "merge_pull": ("M", "`pull_now`"),
    "enqueue": ("M", "`pull_now`"),
    "dequeue": ("P", "`pull_now`"),
    "update_branch": ("P", "`made_commit`"),
    "commit_with_file": ("object", "another commit of the same content is made"),
    "create_branch": ("P", "`commit_of_branch`"),
    "create_ruleset": ("P", "`guard_of_base`"),
    "change_ruleset": ("P", "`guard_of_base`"),
    "delete_ruleset": ("P", "`guards`"),
    "retire_check_run": ("P", "`own_on_commit`"),
    "merge_release": ("M", "`pull_now`"),
    "stop_auto_merge": ("P", "`release_observation`"),
    "edit_text": ("P", "`release_observation`"),
    "open_issue": ("C", "`own_issues`"),
    "edit_own_issue": ("P", "`own_issue`"),
    "dispatch_workflow": ("X", "`runs_named`"),
    "dispatch_event": ("X", "`runs_named`"),
    "react": ("P", "`own_reactions`"),
    "unreact": ("P", "`own_reactions`"),
}
"""Write → its class (the ownership protocol, R3) and how it is looked for."""
BEFORE = {
    "object": "nothing is there; whoever decides next makes what it needs",
    "P": "nothing happened, and nothing was written down: whoever looks next decides afresh",
    "M": "its permit is open: the next replica adopts it, looks, and sends it while the decision stands",
    "C": "its permit is open: the next replica adopts it, looks, and sends it again",
    "S": "its permit is open: the next replica adopts it, looks, and sends it while the decision stands",
    "X": "its permit is open: the next replica adopts it and looks; where it finds nothing, it is never sent",
}
_ANSWERS = re.compile(
    r"Done but not heard(?P<both>, or two of us)?: (?P<unheard>.*?)"
    r"(?: Two of us: (?P<twice>.*?))? (?:Our lease is|Lease) gone: (?P<gone>.*?)(?= The three | Raises |$)"
)
_SAME = re.compile(r"three answers are those of `(\w+)`")


@dataclass(frozen=True)
class Write:
    """One write of the App, with what its docstring answers."""

    name: str
    unheard: str
    twice: str
    gone: str


def writes() -> list[Write]:
    """Every write, in the order of the files. Raises ValueError for one whose docstring answers nothing."""
    files = sorted((ROOT / "app/github").glob("*.py"))
    classes = [node for file in files for node in ast.parse(file.read_text("utf-8")).body]
    texts = dict(_writers([node for node in classes if isinstance(node, ast.ClassDef)]))
    return [_answered(name, texts) for name in texts]


def _writers(classes: list[ast.ClassDef]) -> Iterator[tuple[str, str]]:
    bases = {node.name: {ast.unparse(base) for base in node.bases} for node in classes}
    speaking = {"RepositoryAccess"}
    while more := {name for name, above in bases.items() if above & speaking} - speaking:
        speaking |= more
    for node in classes:
        if node.name not in speaking:
            continue
        methods = {m.name: m for m in node.body if isinstance(m, ast.AsyncFunctionDef)}
        direct = {name for name, method in methods.items() if _sends(method)}
        for name, method in methods.items():
            calls = {
                c.func.attr for c in ast.walk(method) if isinstance(c, ast.Call) and isinstance(c.func, ast.Attribute)
            }
            if not name.startswith("_") and (name in direct or calls & {d for d in direct if d.startswith("_")}):
                own = ast.get_docstring(method) or ""
                yield (
                    name,
                    own if "Done but not heard" in own or _SAME.search(_flat(own)) else ast.get_docstring(node) or "",
                )


def _sends(method: ast.AsyncFunctionDef) -> bool:
    """Whether it writes: REST, a mutation, or a push of git. Git's fetches are POSTs too and change nothing."""
    source = ast.unparse(method)
    if "self.session.write(" in source or "self.session.mutate(" in source:
        return True
    return "'POST'" in source and "receive-pack" in source


def _answered(name: str, texts: dict[str, str]) -> Write:
    text = _flat(texts[name])
    same = _SAME.search(text)
    found = _ANSWERS.search(_flat(texts[same[1]]) if same else text)
    if found is None:
        raise ValueError(f"{name} does not answer: done but not heard, two of us, lease gone")
    unheard = _cell(found["unheard"])
    twice = unheard if found["both"] else _cell(found["twice"] or "")
    if not twice:
        raise ValueError(f"{name} does not say what happens when two of us do it")
    return Write(name, unheard, twice, _cell(found["gone"]))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return text.strip().rstrip(".").replace("|", "\\|")


def page() -> str:
    """The whole page."""
    return "\n\n".join([_INTRODUCTION, _table_of_writes(), _AGENTS, _kinds(), _STATES, _probes()]) + "\n"


def _table_of_writes() -> str:
    lines = [
        "| write | class | crashed before it was sent | carried out, and not heard (crash after, cut, 502) "
        "| two of us | the lease is gone | looked for by |",
        "|---|---|---|---|---|---|---|",
    ]
    for write in writes():
        group, probe = CLASSES[write.name]
        lines.append(
            f"| `{write.name}` | {group} | {BEFORE[group]} | {write.unheard} | {write.twice} | {write.gone} | {probe} |"
        )
    return "\n".join(lines)


def _kinds() -> str:
    rows = [
        f"| `{kind}` | {'a person, for this very effect' if needs_approval(kind, of_holder(None)) else 'nobody'} |"
        for kind in Kind
    ]
    why = "Why, and how a person is asked: [unattended.md](unattended.md)."
    return "\n".join(["| kind | approved by |", "|---|---|", *rows, "", why])


def _probes() -> str:
    union = typing.get_args(typing.get_args(effect_probe.Probe)[0])
    rows = []
    for model in union:
        assert issubclass(model, BaseModel)
        fields = [n if f.is_required() else f"[{n}]" for n, f in model.model_fields.items() if n != "type"]
        name = model.model_fields["type"].default
        rows.append(f"| `{name} {' '.join(f'{field}=…' for field in fields)}` | {_flat(inspect.getdoc(model) or '')} |")
    return "\n".join(["## Probes", "", "| probe | what it takes as proof |", "|---|---|", *rows])


_INTRODUCTION = """\
# Effects: every write, and what a crash makes of it

Made from the code by `python -m tests.recovery.effects_page`; a test holds it to the code.

"No response" never means "did not happen". A request may be carried out at any later time, or never, whatever was
heard. So of every write three things are answered where it is written: what if it happened and we did not hear, what
if two of us do it, what if our lease is gone.

## What the App writes to GitHub

Classes are those of the ownership protocol (R3): **P** has a precondition or sets a value; **M** is refused by GitHub a
second time while the first stands; **C** may be doubled for a moment, and the oldest of ours stays; **S** sets a value
that does harm when it comes late. M, C, S and X need a permit in the ledger before they are sent. An **object** of git
entitles nobody to anything. A 502 to a write is an answer that was not heard. Every write of every story is disturbed
in each of these ways by `make crash`."""

_AGENTS = """\
## What agents do outside Git

A deployment, a migration, a published package: nothing of it can be seen in a branch, and doing it twice may be worse
than not at all. An agent does such a thing through the journal:

    agent-recovery effect run --key deploy-42 --kind deploy.staging \\
        --probe 'deployment environment=staging sha=<commit>' -- ./deploy.sh staging
    agent-recovery effect list
    agent-recovery effect probe deploy-42

One key is one effect, for good: a second run with the same key, here, in another folder or by the next holder, tells
the first result and runs nothing, also when the ticket's record has long shrunk it to its key. The command finds the
key to give to the other side in `AGENT_RECOVERY_EFFECT_KEY` (an idempotency key, where the other side takes one), and
may write what the other side calls the effect into the file `AGENT_RECOVERY_EFFECT_RESULT`. Exit code 0 confirms it;
any other leaves it unknown, save those named by `--no-effect-exit`: by them the command promises that nothing was
done."""

_STATES = """\
| state | meaning | what follows |
|---|---|---|
| `intended` | written down, not begun | leave to begin is asked for immediately before, and checked against the fence |
| `dispatching` | one execution was let through; no other ever is | its command's word, or a look |
| `confirmed` | it happened: its command, a probe or a person says so | the same key tells this and runs nothing |
| `failed_no_effect` | certainly nothing happened | the same key tells this and runs nothing; take another key |
| `unknown` | nobody knows: a holder died, an answer was lost | its probe is run, at once and at growing pauses |
| `abandoned` | given up before it was let through: its holder's lease ended | the next holder may intend it again |

A lease that ends leaves what was dispatching unknown and gives up what was only intended: the fence refuses it now, so
nothing can have been done under it. A probe that finds the effect confirms it. One that finds nothing concludes
nothing; it is run again after 1, 4, 16, 64 … minutes, at most a day, and meanwhile the effect is a blocker for a
person, told once on the ticket's PR. So is an unknown effect without a probe. What cannot be undone is never begun
before a person approved that very effect in that generation (`effect_not_approved`).

A person's word is a comment on the ticket's Issue or PR ([commands.md](commands.md)): `/recovery approve deploy-42`,
`/recovery deny deploy-42`, `/recovery resolve deploy-42 done` or `not-done`. The operator of the App can write it down
beside the service, too; the one whose word it is is recorded:

    agent-recovery approve acme/shop --ticket 42 --effect deploy-42 --by olive
    agent-recovery resolve acme/shop --ticket 42 --effect deploy-42 --done --by olive      # or --not-done"""


if __name__ == "__main__":
    assert {write.name for write in writes()} == CLASSES.keys()
    assert {"intended", "dispatching"} <= set(typing.get_args(State))
    PAGE.write_text(page(), encoding="utf-8")
