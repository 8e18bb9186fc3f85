"""What git says when the service's own endpoint refuses: its code, its reason and its way on, not git's."""

import pytest

from app.agent.git_faults import refused_by_git
from app.domain.outcome import Code, exit_code
from app.ledger.git_program import Fault, fault_of, git_words

UNABLE = "fatal: unable to access 'http://127.0.0.1:1/git/acme/shop.git/': The requested URL returned error: 403"


@pytest.mark.parametrize(
    ("said", "code", "exits", "reason", "remedy"),
    [
        (
            [
                "remote: stale_generation: this lease (generation 1) has ended: generation 2 is held by agent        ",
                "remote: next: stop working on the ticket        ",
                UNABLE,
            ],
            Code.STALE_GENERATION,
            3,
            "this lease (generation 1) has ended: generation 2 is held by agent",
            "stop working on the ticket",
        ),
        (
            [
                "remote: unauthenticated: the token's secret is wrong",
                "remote: next: claim",
                "fatal: Authentication failed",
            ],
            Code.UNAUTHENTICATED,
            2,
            "the token's secret is wrong",
            "claim",
        ),
        (
            [
                "! [remote rejected] HEAD -> main (forbidden: refs/heads/main is not this ticket's branch)",
                "remote: next: this lease pushes to ticket/42 and nothing else",
            ],
            Code.FORBIDDEN,
            4,
            "refs/heads/main is not this ticket's branch",
            "this lease pushes to ticket/42 and nothing else",
        ),
        (
            ["remote: held: a person has put the ticket on hold", UNABLE],
            Code.HELD,
            4,
            "a person has put the ticket on hold",
            "run `agent-recovery brief`: it shows how the ticket stands",
        ),
        (
            ["remote: writes_off: the operator has switched all writes off", UNABLE],
            Code.WRITES_OFF,
            4,
            "the operator",
            "",
        ),
    ],
)
def test_the_services_refusal_is_told_as_its_own(
    said: list[str], code: Code, exits: int, reason: str, remedy: str
) -> None:
    fault = fault_of("\n".join(said))
    assert (fault, fault.is_final) == (Fault.SERVICE, True)
    blocked = refused_by_git("the push was refused", git_words(said), fault).blocked
    assert (blocked.code, exit_code(blocked.code)) == (code, exits)
    assert blocked.reason.startswith(f"the push was refused: {reason}")
    assert remedy in blocked.remedy


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("! [remote rejected] x -> x (lost_race: refs/agent-recovery/active/42 stands at 123)", Fault.OTHER),
        ("! [remote rejected] x -> x (unavailable: GitHub gives no usable answer now)", Fault.UNHEARD),
        ("! [remote rejected] x -> x (unknown_outcome: GitHub does not say)", Fault.UNHEARD),
        ("remote: Permission to acme/shop.git denied to dev.\nfatal: … returned error: 403", Fault.FORBIDDEN),
        ("remote: Repository not found.\nfatal: repository 'https://github.com/a/b/' not found", Fault.NOT_FOUND),
    ],
)
def test_what_is_no_final_word_of_the_service_keeps_its_meaning(said: str, fault: Fault) -> None:
    assert fault_of(said) is fault
