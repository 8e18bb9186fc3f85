"""The five classes of pull requests, and that only one of them can ever land."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mypy import api as mypy

from app.domain.observation import Observation, Pull
from app.domain.policy import Policy, ReleasePolicy
from app.domain.pull_class import Classed, Ground, PullClass, Refs, TicketPull, class_of, landable
from app.domain.record import Record, Work
from tests.domain.recovery_scene import PULL, RECORD, WORLD

GROUND = Ground("main", "main", ("release-*", "release/*"))


@pytest.mark.parametrize(
    ("head", "base", "expected"),
    [
        ("release-1", "main", PullClass.RELEASE),
        ("release/1.2", "main", PullClass.RELEASE),
        ("release-1", "release-2", PullClass.OTHER),
        ("release-1", "ticket/42", PullClass.OTHER),
        ("ticket/42", "release-1", PullClass.TICKET),
        ("42-slug", "release/1", PullClass.TICKET),
        ("issue-42", "release-1", PullClass.TICKET),
        ("ticket/42", "ticket/41-below", PullClass.STACKED),
        ("ticket/42", "41", PullClass.STACKED),
        ("ticket/42", "ticket/41.docs-1", PullClass.STACKED),
        ("ticket/42.docs-1", "ticket/42", PullClass.CHILD),
        ("ticket/42.docs-1", "release-1", PullClass.CHILD),
        ("ticket/42.docs-1", "main", PullClass.CHILD),
        ("ticket/42", "main", PullClass.OTHER),
        ("ticket/42", "develop", PullClass.OTHER),
        ("ticket/42", "gh-readonly-queue/release-1/pr-1", PullClass.OTHER),
        ("ticket/42", "agent-recovery/active/42", PullClass.OTHER),
        ("feature", "release-1", PullClass.OTHER),
        ("feature", "main", PullClass.OTHER),
        ("main", "release-1", PullClass.OTHER),
        ("Ticket/42", "release-1", PullClass.OTHER),
    ],
)
def test_class(head: str, base: str, expected: PullClass) -> None:
    found = class_of(Refs(head, base, own=True), GROUND)
    assert found.kind is expected
    assert found.reason
    assert class_of(Refs(head, base, own=False), GROUND).kind is PullClass.OTHER


@pytest.mark.parametrize(
    ("ground", "head", "base", "expected"),
    [
        # The default branch named letter by letter is a trunk for claims, and the base of releases all the same.
        (Ground("main", "main", ("main",)), "ticket/42", "main", PullClass.OTHER),
        (Ground("main", "main", ("main", "release-*")), "release-1", "main", PullClass.RELEASE),
        (Ground("main", "production", ("main",)), "ticket/42", "main", PullClass.TICKET),
        (Ground("main", "production", ("main",)), "main", "production", PullClass.RELEASE),
        (Ground("main", "production", ("**",)), "ticket/42", "production", PullClass.OTHER),
        (Ground("main", "release-final", ("release-*",)), "ticket/42", "release-final", PullClass.OTHER),
        (Ground("main", "release-final", ("release-*",)), "release-1", "release-final", PullClass.RELEASE),
        # What everybody works from is no ticket's branch, whatever it is called.
        (Ground("42-stable", "42-stable", ("release-*",)), "42-stable", "release-1", PullClass.OTHER),
        (Ground("main", "42-stable", ("release-*",)), "42-stable", "release-1", PullClass.OTHER),
        # A pattern that means ticket branches too makes no ticket of a release and no release of a ticket.
        (Ground("main", "main", ("**",)), "ticket/42", "ticket/41", PullClass.STACKED),
        (Ground("main", "main", ("ticket/41",)), "ticket/42", "ticket/41", PullClass.STACKED),
        (Ground("main", "main", ("*",)), "42-slug", "main", PullClass.RELEASE),
        (Ground("main", "main", ("*",)), "42-slug", "develop", PullClass.OTHER),
        # `1-2-0` reads like ticket 1: only its own name makes it a trunk.
        (Ground("main", "main", ("1-*",)), "ticket/42", "1-2-0", PullClass.STACKED),
        (Ground("main", "main", ("1-2-0",)), "ticket/42", "1-2-0", PullClass.TICKET),
        (
            Ground("main", "main", ("agent-recovery/active/42",)),
            "ticket/42",
            "agent-recovery/active/42",
            PullClass.OTHER,
        ),
    ],
)
def test_class_under_odd_policies(ground: Ground, head: str, base: str, expected: PullClass) -> None:
    assert class_of(Refs(head, base, own=True), ground).kind is expected


NAMES = st.sampled_from(
    [
        *("main", "production", "develop", "release-1", "release/1", "release-final", "1-2-0", "feature"),
        *("ticket/42", "ticket/42-parser", "42", "issue-42", "ticket/41", "41-x", "ticket/42.docs-1", "ticket/41.a"),
        *("agent-recovery/active/42", "gh-readonly-queue/main/pr-1"),
    ]
)
PATTERNS = st.one_of(NAMES, st.sampled_from(["*", "**", "release-*", "release/*", "ticket/*", "ma?n", "**/*"]))
REPOSITORIES = st.sampled_from(["octo/demo", "Octo/Demo", "mallory/demo", "octo/demo2", None])


@settings(max_examples=1500, deadline=None)
@given(
    head=NAMES,
    base=NAMES,
    branch=NAMES,
    default=NAMES,
    into=st.none() | NAMES,
    trunks=st.lists(PATTERNS, max_size=4),
    repository=REPOSITORIES,
    state=st.sampled_from(["OPEN", "CLOSED", "MERGED"]),
    child=st.sampled_from([None, "docs-1"]),
)
@example("ticket/42", "main", "ticket/42", "main", None, ["main"], "octo/demo", "OPEN", None)
@example("ticket/42", "release-1", "ticket/42", "main", "main", ["**"], "octo/demo", "OPEN", None)
def test_nothing_but_a_tickets_own_pull_request_onto_a_trunk_can_land(
    head: str,
    base: str,
    branch: str,
    default: str,
    into: str | None,
    trunks: list[str],
    repository: str | None,
    state: str,
    child: str | None,
) -> None:
    pull = replace(PULL, head=head, base=base, head_repository=repository, state=state)
    world = replace(WORLD, default_branch=default)
    policy = Policy(trunks=tuple(trunks), release=ReleasePolicy(into=into))
    work = Work(branch=branch, trunk=base, base_sha="a" * 40)
    made = landable(pull, _record(work, child), world, policy)
    if not isinstance(made, TicketPull):
        assert made.reason
        return
    assert base != (into or default)
    assert (repository or "").lower() == "octo/demo"
    assert (state, child, head) == ("OPEN", None, branch)
    assert not base.startswith(("ticket/", "agent-recovery/", "gh-readonly-queue/"))
    assert head in {"ticket/42", "ticket/42-parser", "42", "issue-42"}
    assert (made.number, made.head_sha, made.base, made.ticket) == (pull.number, pull.head_sha, base, 42)


def _record(work: Work | None, child: str | None = None) -> Record:
    return RECORD.model_copy(update={"work": work, "child": child})


def _made(pull: Pull = PULL, record: Record = RECORD, world: Observation = WORLD) -> TicketPull | Classed:
    return landable(pull, record, world, Policy())


def test_what_was_made_is_fixed() -> None:
    made = _made()
    assert isinstance(made, TicketPull)
    assert made == _made()
    assert hash(made) == hash(_made())
    assert made != _made(replace(PULL, head_sha="c" * 40))
    assert "#57 of ticket 42" in repr(made)
    with pytest.raises(AttributeError):
        made.base = "main"
    with pytest.raises(TypeError):
        TicketPull(PULL)  # type: ignore[arg-type]


def test_nothing_lands_before_the_ticket_has_a_branch() -> None:
    assert isinstance(_made(record=_record(None)), Classed)


WRONG = """
from app.domain.observation import Pull
from app.domain.pull_class import Classed, TicketPull, landable

def land(pull: TicketPull) -> None: ...

def wrong(pull: Pull, classed: TicketPull | Classed) -> None:
    land(pull)
    land(classed)
    land(TicketPull(pull))
    land(TicketPull())
    if isinstance(classed, TicketPull):
        land(classed)

class Mine(TicketPull): ...
"""


def test_the_type_checker_refuses_every_other_way(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    found, _, _ = mypy.run(["--follow-imports=silent", "--no-error-summary", str(tmp_path / "wrong.py")])
    lines = sorted(int(line.split(":")[1]) for line in found.splitlines() if ": error:" in line)
    assert lines == [8, 9, 10, 11, 15], found
