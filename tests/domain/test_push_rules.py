"""What a holder's push may move: the table, ref by ref."""

import pytest

from app.domain.model import ZERO_SHA
from app.domain.outcome import Code
from app.domain.push_rules import Command, Grounds, Passes, Stopped, judge
from app.domain.record import Published, Record, Work
from app.domain.refs import LedgerRefs
from app.domain.ticket_id import Child, TicketId

P, F, N, M, L, BURNED, LOST = (letter * 40 for letter in "abcdef9")
REFS = LedgerRefs()
BRANCH = "refs/heads/ticket/42-prices"
LEDGER = REFS.active(42)


def grounds(
    *, published: str | None = P, branch: str | None = P, ticket: TicketId = 42, refs: LedgerRefs = REFS
) -> Grounds:
    name = "ticket/42.docs-1" if isinstance(ticket, Child) else "ticket/42-prices"
    record = Record(
        ticket=42,
        sequence=7,
        generation=3,
        status="working",
        work=Work(branch=name, trunk="release-1", base_sha=F),
        published=Published(sha=published, generation=3, nonce="n") if published else None,
        burned_shas=(BURNED,),
    )
    return Grounds(ticket, refs, record, L, branch, frozenset({L, LOST}))


def refusal(found: Passes | Stopped, ref: str) -> tuple[Code, str]:
    assert isinstance(found, Stopped), found
    blocked = found.refusals[ref]
    assert blocked.remedy
    return blocked.code, blocked.reason


ADVANCE = Command(BRANCH, P, N)
SEAL = Command(LEDGER, L, M)
BORN = Command(BRANCH, ZERO_SHA, N)


@pytest.mark.parametrize(
    ("what", "on", "commands", "passes"),
    [
        ("the own branch, from where it was published", grounds(), [ADVANCE], Passes(N, False)),
        ("the own branch for the first time", grounds(published=None, branch=None), [BORN], Passes(N, False)),
        ("the own branch that somebody deleted", grounds(branch=None), [BORN], Passes(N, False)),
        ("branch and ledger, as the command line pushes them", grounds(), [ADVANCE, SEAL], Passes(N, True)),
        ("the ledger alone", grounds(), [SEAL], Passes(None, True)),
        ("foreign commits, taken over", grounds(branch=F), [Command(BRANCH, F, N), SEAL], Passes(N, True)),
        ("a head set aside", grounds(), [Command(REFS.recovered(42, F), ZERO_SHA, F)], Passes(None, False)),
        (
            "the branch put back, the foreign head set aside",
            grounds(branch=F),
            [SEAL, Command(BRANCH, F, N), Command(REFS.recovered(42, F), ZERO_SHA, F)],
            Passes(N, True),
        ),
    ],
)
def test_this_passes(what: str, on: Grounds, commands: list[Command], passes: Passes) -> None:
    assert judge(commands, on) == passes, what


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (Command("refs/heads/release-1", P, N), Code.FORBIDDEN, "refs/heads/release-1 is the trunk"),
        (Command("refs/heads/main", P, N), Code.FORBIDDEN, "refs/heads/main is not this ticket's branch"),
        (Command("refs/heads/ticket/43", P, N), Code.FORBIDDEN, "refs/heads/ticket/43 is not this ticket's branch"),
        (Command(f"{BRANCH}-2", ZERO_SHA, N), Code.FORBIDDEN, f"{BRANCH}-2 is not this ticket's branch"),
        (Command("refs/tags/v1", ZERO_SHA, N), Code.FORBIDDEN, "refs/tags/v1 is a tag"),
        (Command("refs/pull/1/head", P, N), Code.FORBIDDEN, "refs/pull/1/head is no branch"),
        (Command("refs/notes/commits", P, N), Code.FORBIDDEN, "refs/notes/commits is no branch"),
        (Command(REFS.active(43), L, M), Code.FORBIDDEN, "is a ledger, and not the one this lease writes"),
        (Command(REFS.active(Child(42, "docs")), L, M), Code.FORBIDDEN, "is a ledger, and not the one this lease"),
        (Command(REFS.done(42), ZERO_SHA, M), Code.FORBIDDEN, "is a ledger, and not the one this lease writes"),
        (Command(REFS.result(Child(42, "docs"), 1), ZERO_SHA, M), Code.FORBIDDEN, "is the result of a child"),
        (Command(f"{REFS.namespace}/releases/x", P, N), Code.FORBIDDEN, "belongs to the ledgers"),
        (Command(BRANCH, P, ZERO_SHA), Code.FORBIDDEN, f"a lease deletes nothing, and not {BRANCH}"),
        (Command(LEDGER, L, ZERO_SHA), Code.FORBIDDEN, f"a lease deletes nothing, and not {LEDGER}"),
        (Command("refs/heads/main", P, ZERO_SHA), Code.FORBIDDEN, "a lease deletes nothing"),
        (Command("refs/tags/v1", ZERO_SHA, ZERO_SHA), Code.FORBIDDEN, "a lease deletes nothing"),
        (Command(BRANCH, ZERO_SHA, N), Code.USAGE, f"the push does not say where {BRANCH} stands now"),
        (Command(BRANCH, LOST, N), Code.LOST_RACE, "is elsewhere by now"),
        (Command(BRANCH, P, BURNED), Code.FORBIDDEN, "was withdrawn and is never published again"),
        (Command(LEDGER, L, L), Code.FORBIDDEN, f"takes {LEDGER} no further than it is"),
        (Command(LEDGER, L, LOST), Code.FORBIDDEN, f"takes {LEDGER} no further than it is"),
        (Command(LEDGER, LOST, M), Code.LOST_RACE, f"{LEDGER} stands at {L[:12]}"),
        (Command(LEDGER, ZERO_SHA, M), Code.LOST_RACE, f"{LEDGER} stands at {L[:12]}"),
        (Command(REFS.recovered(42, F), ZERO_SHA, N), Code.FORBIDDEN, "belongs to the ledgers"),
    ],
)
def test_this_is_refused_by_name(command: Command, code: Code, words: str) -> None:
    found, reason = refusal(judge([command], grounds()), command.ref)
    assert found is code
    assert words in reason


@pytest.mark.parametrize(
    "command",
    [
        Command(REFS.recovered(42, F), ZERO_SHA, N),
        Command(REFS.recovered(42, F), P, F),
        Command(REFS.recovered(43, F), ZERO_SHA, F),
        Command(REFS.result(Child(42, "docs"), 1), ZERO_SHA, N),
        Command("refs/heads/main", P, N),
    ],
)
def test_a_ledger_commit_opens_no_other_door(command: Command) -> None:
    assert refusal(judge([SEAL, ADVANCE, command], grounds()), command.ref)[0] is Code.FORBIDDEN


def test_a_foreign_head_is_named_with_both_ways_on() -> None:
    for old in (F, P):
        found = judge([Command(BRANCH, old, N)], grounds(branch=F))
        code, reason = refusal(found, BRANCH)
        assert code is Code.FOREIGN_COMMITS
        assert F[:12] in reason
        assert isinstance(found, Stopped)
        assert f"adopt {F}" in found.refusals[BRANCH].remedy
        assert "--rewind" in found.refusals[BRANCH].remedy


def test_only_what_is_refused_is_named() -> None:
    found = judge([ADVANCE, Command("refs/heads/main", P, N), Command("refs/tags/v1", ZERO_SHA, N)], grounds())
    assert isinstance(found, Stopped)
    assert set(found.refusals) == {"refs/heads/main", "refs/tags/v1"}


def test_a_child_pushes_its_branch_its_ledger_and_the_result_of_its_generation() -> None:
    child = Child(42, "docs-1")
    on = grounds(ticket=child)
    own, ledger = Command("refs/heads/ticket/42.docs-1", P, N), Command(REFS.active(child), L, M)
    assert judge([own], on) == Passes(N, writes_ledger=False)
    result = Command(REFS.result(child, 3), ZERO_SHA, M)
    assert judge([own, ledger, result], on) == Passes(N, writes_ledger=True)
    assert refusal(judge([result], on), result.ref)[0] is Code.FORBIDDEN
    for other in (REFS.result(child, 2), REFS.result(Child(42, "docs-2"), 3), REFS.active(42), BRANCH):
        assert refusal(judge([ledger, Command(other, ZERO_SHA, M)], on), other)[0] is Code.FORBIDDEN


def test_where_custom_refs_are_refused_the_ledger_is_a_branch_and_the_rule_the_same() -> None:
    refs = LedgerRefs("refs/heads/agent-recovery")
    on = grounds(refs=refs)
    assert judge([ADVANCE, Command(refs.active(42), L, M)], on) == Passes(N, writes_ledger=True)
    assert "is a ledger" in refusal(judge([Command(refs.active(43), L, M)], on), refs.active(43))[1]
