"""Hostile text through every sink. What strangers and agents write comes out as data: it mentions, closes, skips,
links, hides and runs nothing, and it stays on the line it is shown on.

How a new sink is noticed: `test_every_door_to_github_is_known` lists the calls that send text to GitHub by where they
stand, `test_every_comment_of_ours_is_tried` finds whatever in the domain writes a comment by its marker, and
`test_every_check_run_is_tried` finds what writes a check-run. Each fails until the new one is tried here.
"""

import ast
import io
import json
import logging
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import structlog
from markdown_it import MarkdownIt

from app.agent.show import line, printable
from app.domain.authorization import NotYet
from app.domain.branch_names import ticket_branch
from app.domain.checkpoint import Checkpoint, Step
from app.domain.child_findings import commands as child_commands
from app.domain.compose_brief import compose, render_markdown
from app.domain.criteria import criteria
from app.domain.denied_effects import denial_report
from app.domain.drafts import Drafting
from app.domain.effect import Effect, EffectResult
from app.domain.effect_report import effect_report
from app.domain.fence_commit import Disarming
from app.domain.fencing import Foreign
from app.domain.handoff_comment import render
from app.domain.landing import Land, action_of, decide_landing
from app.domain.landing_actions import Merge, TellOfMerge
from app.domain.landing_told import standing_in_the_way
from app.domain.lease import liveness
from app.domain.missing_pull_report import missing_pull_report
from app.domain.observation import Branch, Issue
from app.domain.others_check import OpenPull, answers
from app.domain.outage import Waiting, Wish
from app.domain.outage_notice import held_notice, released_notice
from app.domain.outcome import Blocked, Code
from app.domain.plain_text import clean
from app.domain.plan import AskAboutEffect, AskForApproval, AskPerson, RestoreBranch, WarnOfGap, target_of
from app.domain.policy import Mode, Policy, ProjectPolicy, ReleasePolicy, StatusNames
from app.domain.policy_check import PolicyAt, of_pull
from app.domain.policy_text import read_policy
from app.domain.proposed_policy import proposed_policy
from app.domain.pull_class import Ground, Refs
from app.domain.pull_evidence import Gap, Uncertain
from app.domain.pull_text import TITLE_BYTES, pull_body, pull_title
from app.domain.record import AskedToLand, Board, Carried, Ended, Held, Landing, Permit, Projections
from app.domain.recovery_steps import findings
from app.domain.recovery_view import RecoveryView
from app.domain.release_actions import ReportOnRelease
from app.domain.release_comment import report_text
from app.domain.release_frozen import frozen_release_report
from app.domain.release_guard import GuardedHead, GuardPull
from app.domain.release_guard import verdict_on as guard_verdict_on
from app.domain.report import (
    Frozen,
    frozen_report,
    gap_report,
    merge_report,
    stuck_report,
    unfenced_report,
    unrestored_report,
)
from app.domain.required_checks import Required
from app.domain.settling import Declined, settle
from app.domain.shown_child import ShownChild
from app.domain.situation import Situation
from app.domain.surroundings import Column, Linked, OtherPull, ProjectItem
from app.domain.ticket_id import Child
from app.domain.verdict import verdict_on
from app.domain.worth_knowing import worth_knowing
from app.service.logs import set_up_logs
from tests.delivery.hostile_texts import CANARY, TEXTS
from tests.delivery.landing_scene import READY, READY_PULL, situation
from tests.domain.recovery_scene import HEAD, LEASE, NOW, OTHER, WORLD

APP = Path(__file__).parents[2] / "app"
JOINER = "\N{WORD JOINER}"
"""The one hidden character that we write ourselves: it keeps apart what would act together."""
BENIGN = f"harmless {CANARY}"


COLUMNS = (Column("Status", "SINGLE_SELECT", ("Todo",)), Column("Target release", "TEXT"))

# --- scenes --------------------------------------------------------------------------------------------------------


def strangers(text: str) -> Situation:
    """A ready ticket around which everybody else wrote this text wherever they can."""
    # GitHub's JSON and a policy hold no half characters.
    text = text.encode("utf-8", "replace").decode()
    issue = Issue(42, text, f"{text}\n\n- [ ] {text}", "OPEN", text, assignees=(text,), labels=(text,))
    return situation(
        pull={"title": text, "body": text, "labels": (text,), "assignees": (text,), "is_draft": False},
        world={"issue": issue, "branches": (*WORLD.branches, Branch(f"42-{text}", OTHER), Branch(text, OTHER))},
        around={
            "milestone": text,
            "project_items": (ProjectItem(7, text, {text: text, "Target release": text}, COLUMNS),),
            "dependents": (OtherPull(60, "OPEN", False, text, OTHER, READY_PULL.head, True),),
            "blocked_by": (Linked(7, "OPEN"),),
        },
        rules={"required": (Required(text), Required(f"{text} 2"))},
        checks={"runs": ()},
        evidence={
            "files": (f".github/{text}", f"src/{text}"),
            "base_files": (f"src/{text}",),
            "mergeable": "CONFLICTING",
            "release_guard": False,
        },
        policy={
            "release": ReleasePolicy(into="production"),
            "project": ProjectPolicy(number=7, status_field=text[:200], status=StatusNames(ready=text[:200])),
        },
        record={
            "landing": Landing(incident=text),
            "projections": Projections(
                pr_number=57,
                drafting=Drafting(by=text, ready=True),
                carried=Carried(refused=text, base_by=text, base_trunk="release-1"),
                board=Board(release="1", status="Todo", moved=text, refused=text),
            ),
            "open": (_refused("comment_create", text), _refused("pr_create", text)),
        },
    )


def an_agent(text: str) -> Situation:
    """A ready ticket whose holder wrote this text wherever it can, past any admission."""
    # JSON of a ledger holds no half characters: whatever reads it has replaced them.
    text = text.encode("utf-8", "replace").decode()
    checkpoint = Checkpoint(
        objective=text,
        completed_steps=(Step(id=text, text=text),),
        next_steps=(Step(id=text, text=text),),
        blockers=(text,),
        accepted_decisions=(text,),
        pending_validation=(text,),
        decision_refs=(text,),
        current_diff=text,
        target_release=text,
    )
    made = {"profile": text[:400], "version": text[:400], "validated_sha": HEAD, "failed": [text[:400]]}
    effect = Effect(
        key="deploy-1",
        kind="deploy",
        state="unknown",
        generation=2,
        nonce="n",
        result=EffectResult(by="probe", note=text[:200]),
    )
    return situation(
        record={
            "checkpoint": checkpoint,
            "lease": LEASE.model_copy(update={"holder": text, "login": text}),
            "validations": (made,),
            "effects": (effect,),
        },
    )


def a_person(text: str, status: str) -> Situation:
    """A ticket that a person put on hold or cancelled with these words."""
    text = text.encode("utf-8", "replace").decode()
    return situation(
        record={
            "status": status,
            "lease": None if status == "cancelled" else LEASE,
            "held": Held(by=text, at=NOW, before="working", reason=text),
            "ended": Ended(because="command", at=NOW, by=text, reason=text) if status == "cancelled" else None,
            "landing": Landing(asked=AskedToLand(by=text, at=NOW, head_sha=OTHER)),
        },
        around={"milestone": text},
    )


def _refused(kind: Any, text: str) -> Permit:
    record = READY.model_copy(
        update={"open": (Permit(id="p", kind=kind, target=target_of(_merge())[1], author="a", round="r"),)}
    )
    return settle(record, [Declined(record.open[0], text, NOW)]).open[0]


def _merge(text: str = BENIGN) -> Merge:
    decision = decide_landing(situation(pull={"title": text, "body": text, "labels": (text,)}))
    assert isinstance(decision, Land)
    merge = action_of(decision)
    assert isinstance(merge, Merge)
    return merge


def _issue(text: str) -> Issue:
    return Issue(42, text, text, "OPEN", text, assignees=(text,))


# --- sinks ---------------------------------------------------------------------------------------------------------


def _handoff(s: Situation, **more: Any) -> str:
    blockers = standing_in_the_way(s.record, s.observation, s.policy, s.head, s.landing)
    known = worth_knowing(s.record, s.observation, s.policy)
    return render(s.record, s.head, payload="{}", seal="ed25519:x", blockers=blockers, known=known, **more)


def _check_run(s: Situation, head: Any = None, stuck: Blocked | None = None) -> str:
    blockers = standing_in_the_way(s.record, s.observation, s.policy, s.head, s.landing)
    verdict = verdict_on(s.record, head or s.head, s.observation, stuck, blockers)
    assert verdict.title == " ".join(verdict.title.split())
    return f"{verdict.title}\n\n{verdict.summary}"


def _guard(text: str) -> str:
    """What the guard says of a release whose branch has any name, and why it is not authorized."""
    ground, refs = Ground("main", text, ("*", "*/*")), Refs("r-1", text, True)
    head = GuardedHead(HEAD, (GuardPull(9, refs, HEAD),))
    return guard_verdict_on(head, ground, Policy(), {9: NotYet(text, "say it again")}).summary


def _others(text: str) -> str:
    ground = Ground("main", text, ("release-*",))
    policy = Policy(release=ReleasePolicy(exclusive=True))
    answer = answers([OpenPull(9, Refs(text, text, True), HEAD)], ground, policy)[0]
    return f"{answer.title}\n\n{answer.summary}"


MARKDOWN: dict[str, Callable[[str], str]] = {
    "handoff_comment.render, strangers": lambda t: _handoff(strangers(t)),
    "handoff_comment.render": lambda t: _handoff(an_agent(t)),
    "handoff_comment.render, on hold": lambda t: _handoff(a_person(t, "held")),
    "handoff_comment.render, cancelled": lambda t: _handoff(a_person(t, "cancelled")),
    "verdict.verdict_on, on hold": lambda t: _check_run(a_person(t, "held")),
    "verdict.verdict_on, cancelled": lambda t: _check_run(a_person(t, "cancelled")),
    "compose_brief.render_markdown, on hold": lambda t: render_markdown(_brief(a_person(t, "held"))),
    "verdict.verdict_on, strangers": lambda t: _check_run(strangers(t)),
    "verdict.verdict_on": lambda t: _check_run(an_agent(t)),
    "verdict.verdict_on, foreign": lambda t: _check_run(an_agent(t), Foreign(HEAD, OTHER)),
    "compose_brief.render_markdown, strangers": lambda t: render_markdown(_brief(strangers(t))),
    "compose_brief.render_markdown": lambda t: render_markdown(_brief(an_agent(t))),
    "report.frozen_report": lambda t: frozen_report(42, Frozen("e-1", "It moved back.", "a", "b"), _issue(t)),
    "report.unrestored_report": lambda t: unrestored_report(
        42, "e", RestoreBranch(t, HEAD, OTHER, 57, "it was overwritten"), t, _issue(t)
    ),
    "report.unfenced_report": lambda t: unfenced_report(42, "e", _disarming(t), t, _issue(t)),
    "report.stuck_report": lambda t: stuck_report(42, AskPerson("e", "it is too old", "look at it"), _issue(t)),
    "report.merge_report": lambda t: merge_report(42, TellOfMerge("e", t), _issue(t)),
    "report.gap_report": lambda t: gap_report(42, WarnOfGap("e", "no checkpoint since noon"), _issue(t)),
    "effect_report.effect_report": lambda t: effect_report(42, AskAboutEffect("e", t), _issue(t)),
    "denied_effects.denial_report": lambda t: denial_report(
        42, AskForApproval("e", "prod", "publish", False, t), _issue(t)
    ),
    "denied_effects.denial_report, begun": lambda t: denial_report(
        42, AskForApproval("e", "prod", "publish", True, t), _issue(t)
    ),
    "missing_pull_report.missing_pull_report": lambda t: missing_pull_report(42, _uncertain(t), _issue(t)),
    "others_check.answers": _others,
    "release_comment.report_text": lambda t: report_text(
        ReportOnRelease(9, "e", "it is a second PR", "close one", None)
    ),
    "release_frozen.frozen_release_report": lambda t: frozen_release_report(t, Frozen("e", "It moved.", t, t)),
    "release_guard.verdict_on": _guard,
    "policy_check.of_pull, as the file": lambda t: _policy(t),
    "policy_check.of_pull, as a value": lambda t: _policy(json.dumps({"mode": t, "trunks": [t], "lease": {"ttl": t}})),
    "policy_check.of_pull, as a key": lambda t: _policy(json.dumps({t: 1, "landing": {t: t}, "mode": "full"})),
    "outage_notice.held_notice": lambda t: held_notice([_stopped(t), _stopped(t, released=True)], most=1, since=NOW),
    "outage_notice.released_notice": released_notice,
    "pull_text.pull_body": lambda t: pull_body(Child(42, "docs-1")),
}
"""Whatever becomes Markdown on GitHub or in a brief, by the function that writes it."""


def _disarming(text: str) -> Disarming:
    return Disarming(branch=text, on=HEAD, before=OTHER)


def _stopped(title: str, *, released: bool = False) -> Waiting:
    return Waiting(Wish("42", "dispatch", "1", title), NOW, NOW, NOW, released)


def _policy(file: str) -> str:
    verdict = of_pull(PolicyAt(HEAD, file, True))
    assert verdict is not None
    assert verdict.title == " ".join(verdict.title.split())
    return f"{verdict.title}\n\n{verdict.summary}"


def _uncertain(text: str) -> Uncertain:
    return Uncertain(Gap.SEVERAL_BRANCHES, text, text)


def _brief(s: Situation) -> Any:
    child = ShownChild(name="docs-1", state="stale", because=s.record.checkpoint.objective or "b", objective="o")
    holder = liveness(s.record, s.policy, now=s.now)
    view = RecoveryView(s.record, s.observation, s.policy, holder, s.head, children=(child,), landing=s.landing)
    refused = Blocked(Code.TOO_OLD, "its last proof of life is not known", "a person looks")
    return compose(view, findings=findings(view), criteria=criteria(view), claim=refused)


LINES: dict[str, tuple[Callable[[str], str], int]] = {
    "the PR's title": (lambda t: pull_title(_issue(t)), TITLE_BYTES + 200),
    "a child's PR's title": (lambda t: pull_title(_issue(t), Child(42, "docs-1")), TITLE_BYTES + 200),
    "the branch's name": (lambda t: ticket_branch(42, t), 60),
    "the title of a merge": (lambda t: _merge(t).title, 80),
    "the message of a merge": (lambda t: _merge(t).message, 200),
    "a refusal in the record": (lambda t: _refused("merge", t).reason or "", 200),
    "a line on a terminal": (line, 2100),
}


# --- what none of them may do --------------------------------------------------------------------------------------


def _hidden(text: str) -> set[str]:
    """Control characters and characters that hide or reorder text."""
    allowed = {"\n", JOINER, "\u200c", "\u200d", "\t"}
    return {c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and c not in allowed}


def _acting(markdown: str) -> dict[str, Any]:
    """What of a text acts on GitHub, outside of code, by kind: to be compared with a harmless one."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(markdown)
    inline_tokens = [t for token in tokens for t in token.children or ()]
    prose = "\n".join(t.content for t in inline_tokens if t.type == "text")
    html = [t.content.strip() for t in (*tokens, *inline_tokens) if t.type in {"html_block", "html_inline"}]
    return {
        "html": sorted(html),
        "links": sum(t.type == "link_open" for t in inline_tokens),
        "images": sum(t.type == "image" for t in inline_tokens),
        "addresses": len(re.findall(r"(?i)://|\bwww\.|mailto:\S+@\w", prose)),
        "mentions": sorted(re.findall(r"@[\w-]+", prose)),
        "references": sorted(set(re.findall(r"(?i)(?:#|\bgh-)[0-9]+", prose)) - {"#42", "#7", "#60", "#57", "#9"}),
        "commands": len(re.findall(r"(?m)^[ \t>]*/recovery", markdown)),
        "blocks": {t.type for t in tokens} - {"inline"},
    }


@pytest.mark.parametrize("sink", MARKDOWN)
def test_markdown(sink: str) -> None:
    make = MARKDOWN[sink]
    wanted = _acting(make(BENIGN))
    wrong = {name: found for name, text in TEXTS.items() if (found := _wrong(make(text), wanted))}
    assert wrong == {}


def _wrong(shown: str, wanted: dict[str, Any]) -> dict[str, Any]:
    acting = _acting(shown)
    found: dict[str, Any] = {kind: acting[kind] for kind in wanted if kind != "blocks" and acting[kind] != wanted[kind]}
    if extra := acting["blocks"] - wanted["blocks"]:
        found["blocks"] = extra
    if hidden := _hidden(shown):
        found["hidden"] = hidden
    if len(shown.encode("utf-8", "surrogatepass")) >= 65_536:
        found["long"] = len(shown)
    return found


@pytest.mark.parametrize("sink", LINES)
def test_line(sink: str) -> None:
    make, limit = LINES[sink]
    for name, text in TEXTS.items():
        shown = make(text)
        assert shown.strip(), name
        assert _hidden(shown) == set(), name
        assert "\n" not in shown, name
        assert len(shown.encode("utf-8")) <= limit, name


@pytest.mark.parametrize("name", TEXTS)
def test_what_becomes_a_commit_message_closes_and_skips_nothing(name: str) -> None:
    # A person who merges in the browser takes the PR's title into the message.
    merge = _merge(TEXTS[name])
    for words in (pull_title(_issue(TEXTS[name])), merge.title, merge.message):
        assert not re.search(r"(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b\W*(?:[\w./-]*#|gh-)[0-9]", words)
        assert not re.search(rf"(?i)\[(?!{JOINER})[^\]]*\b(?:skip|no|ci)\b|\*\*\*no_ci|^skip-checks:", words)
        assert not re.search(r"@[\w-]", words)
        assert not re.search(r"^[\w-]+-by:", words)
    assert CANARY not in merge.title + merge.message


@pytest.mark.parametrize("name", TEXTS)
def test_a_branch_of_ours_is_a_plain_name(name: str) -> None:
    assert re.fullmatch(r"ticket/42(?:-[a-z0-9]+)*", ticket_branch(42, TEXTS[name]))


# --- briefs --------------------------------------------------------------------------------------------------------


def _where(value: Any, path: str = "") -> Iterator[str]:
    """The paths of a brief's JSON at which the canary stands."""
    if isinstance(value, dict):
        for key, part in value.items():
            assert CANARY not in key
            yield from _where(part, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for part in value:
            yield from _where(part, path)
    elif isinstance(value, str) and CANARY in value:
        yield path


@pytest.mark.parametrize("name", TEXTS)
def test_a_brief_keeps_strangers_words_apart(name: str) -> None:
    brief = _brief(strangers(TEXTS[name]))
    value = json.loads(brief.model_dump_json())
    places = set(_where(value))
    assert places <= {
        "untrusted.issue_title",
        "untrusted.issue_body",
        "untrusted.issue_tasks.text",
        "untrusted.quoted",
        # Evidence is data with a name each, beside the finding in our words.
        "findings.evidence.other_branches",
        "findings.evidence.milestone",
        "findings.evidence.project.title",
        "findings.evidence.project.status",
        "findings.evidence.project.target_release",
    }
    assert "untrusted.issue_title" in places or "hidden" in name
    assert _hidden(json.dumps(value, ensure_ascii=False).replace("\\n", "\n")) == set()


@pytest.mark.parametrize("name", TEXTS)
def test_commands_are_argument_arrays_of_our_own_words(name: str) -> None:
    for s in (strangers(TEXTS[name]), an_agent(TEXTS[name])):
        for command in _brief(s).commands:
            assert not any(CANARY in word for word in command.argv)
            assert all(re.fullmatch(r"[A-Za-z0-9._/:=-]+", word) for word in command.argv)
            assert CANARY not in command.why
    assert child_commands  # the children's own are among them


@pytest.mark.parametrize("name", TEXTS)
def test_a_proposed_policy_takes_a_label_as_what_it_is(name: str) -> None:
    text = TEXTS[name]
    try:
        made = proposed_policy([text, "release-1"], [text], text, label=text)
    except ValueError:
        return  # no label that a policy can name
    reading = read_policy(made.text)
    assert reading.policy is not None
    if text == clean(text):
        assert reading.policy.enroll.label == text
    assert reading.policy.mode is Mode.OBSERVE
    assert set(reading.policy.model_dump(exclude_defaults=True)) <= {"enroll", "trunks"}


# --- logs and terminals --------------------------------------------------------------------------------------------


@pytest.fixture
def log_lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """The service's logs, as they are written."""
    root, kept = logging.getLogger(), (logging.getLogger().handlers[:], logging.getLogger().level)
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    set_up_logs()
    yield stream
    root.handlers[:], level = kept
    root.setLevel(level)
    structlog.reset_defaults()


def test_logs_are_one_line_of_ascii_json_an_event(log_lines: io.StringIO) -> None:
    # pytest keeps what is logged as well, and half a surrogate pair does not reach its parallel workers' controller.
    root = logging.getLogger()
    root.handlers[:] = [handler for handler in root.handlers if getattr(handler, "stream", None) is log_lines]
    logger = structlog.get_logger("hostile")
    for text in TEXTS.values():
        logger.warning("GitHub answered", answer=text, pull={"title": text}, names=(text,))
        logging.getLogger("other").warning("it said %s", text)
    lines = log_lines.getvalue().split("\n")
    assert lines.pop() == ""
    assert len(lines) == 2 * len(TEXTS)
    assert all(one.isascii() and one.isprintable() for one in lines)
    assert all(json.loads(one)["level"] == "warning" for one in lines)


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_on_a_terminal_moves_the_cursor_or_hides(name: str) -> None:
    assert _hidden(printable(TEXTS[name])) == set()
    assert "\x1b" not in line(TEXTS[name])


# --- how new sinks are noticed -------------------------------------------------------------------------------------

DOORS = {
    "create_comment": {
        *("controller/act.py", "controller/release_acting.py", "controller/releasing.py", "controller/reporting.py")
    },
    "edit_comment": {"controller/project.py", "controller/release_showing.py", "controller/reporting.py"},
    "create_check_run": {
        *("controller/act.py", "controller/others.py", "controller/policy_checks.py"),
        "controller/release_guarding.py",
    },
    "update_check_run": {
        *("controller/enrolling.py", "controller/others.py", "controller/policy_checks.py", "controller/project.py"),
        "controller/release_guarding.py",
    },
    "create_pull": {"controller/act.py", "controller/proposing.py", "controller/release_acting.py"},
    "edit_text": {"controller/releasing.py"},
    "open_issue": {"controller/release_acting.py", "controller/telling_hold.py"},
    "edit_own_issue": {"controller/telling_hold.py"},
    "commit_with_file": {"controller/proposing.py"},
    "merge_pull": {"controller/landing.py"},
    "edit_body": {"controller/upkeep.py"},
    "create_commit": {"controller/fencing_off.py", "ledger/making.py"},
}
"""Methods that carry text of ours to GitHub, and the files that call them. The doctor writes into its own sandbox."""


def _calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _modules(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders:
        for path in sorted((APP / folder).rglob("*.py")):
            yield str(path.relative_to(APP)), _parsed(path)


def test_every_door_to_github_is_known() -> None:
    found: dict[str, set[str]] = {door: set() for door in DOORS}
    for name, tree in _modules("controller", "ledger", "service"):
        for called in set(_calls(tree)) & set(DOORS):
            found[called].add(name)
    assert found == DOORS, "text reaches GitHub from a new place: try what it sends here, then name the place"


def _texts_of(call: ast.AST) -> set[str]:
    if not isinstance(call, ast.AsyncFunctionDef):
        return set()
    return {a.arg for a in (*call.args.args, *call.args.kwonlyargs)} & {
        "title",
        "body",
        "message",
        "text",
        "run",
        "summary",
    }


def test_every_method_that_carries_text_is_a_door() -> None:
    carrying = {
        node.name
        for _, tree in _modules("github")
        for node in ast.walk(tree)
        if _texts_of(node) and not node.name.startswith("_")  # type: ignore[attr-defined]
    }
    ours_alone = {"git_fetch", "write", "create_ruleset", "change_ruleset", "retire_check_run"}
    assert carrying - ours_alone == set(DOORS), "a new method carries text to GitHub: name it among the doors"


def test_every_comment_of_ours_is_tried() -> None:
    written = set()
    for name, tree in _modules("domain"):
        for function in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]:
            strings = [n for n in ast.walk(function) if isinstance(n, ast.JoinedStr)]
            names = {
                n.func.id
                for s in strings
                for n in ast.walk(s)
                if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
            }
            if names & {"report_marker", "marker_of"}:
                written.add(f"{Path(name).stem}.{function.name}")
    tried = {name.split(",")[0] for name in MARKDOWN}
    assert written <= tried, "a new comment is written: try it among MARKDOWN"


def test_every_check_run_is_tried() -> None:
    made = {
        name
        for name, tree in _modules("controller", "service", "domain")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "CheckRunWrite"
    }
    known = {
        "controller/enrolling.py",  # our words alone
        "controller/others.py",  # others_check.answers
        "controller/policy_checks.py",  # policy_check
        "controller/project.py",  # verdict_on, and what frozen_report says too
        "controller/release_guarding.py",  # release_guard.verdict_on
    }
    assert made == known, "a new check-run is written: try it among MARKDOWN"
