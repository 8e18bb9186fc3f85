"""What git's words mean."""

import pytest

from app.ledger.git_program import Fault, fault_of, git_words


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("fatal: unable to access 'https://h/a/b/': The requested URL returned error: 503", Fault.UNHEARD),
        ("error: RPC failed; HTTP 502 curl 22 The requested URL returned error: 502", Fault.UNHEARD),
        ("fatal: unable to access 'https://h/': Could not resolve host: h", Fault.UNHEARD),
        ("fatal: unable to access 'https://h/': Failed to connect to h port 443", Fault.UNHEARD),
        ("fatal: unable to access 'https://h/': SSL certificate problem: expired", Fault.UNHEARD),
        ("fatal: the remote end hung up unexpectedly", Fault.UNHEARD),
        ("send-pack: unexpected disconnect while reading sideband packet", Fault.UNHEARD),
        ("error: RPC failed; curl 56 Recv failure: Connection reset by peer", Fault.UNHEARD),
        ("fatal: Authentication failed for 'https://h/a/b.git/'", Fault.UNAUTHENTICATED),
        ("fatal: could not read Username for 'https://h': terminal prompts disabled", Fault.UNAUTHENTICATED),
        ("remote: Invalid username or password.", Fault.UNAUTHENTICATED),
        ("remote: Permission to a/b.git denied to u.\nfatal: unable to access: returned error: 403", Fault.FORBIDDEN),
        ("remote: Write access to repository not granted.", Fault.FORBIDDEN),
        ("remote: Repository not found.\nfatal: repository 'https://h/a/b.git/' not found", Fault.NOT_FOUND),
        ("[remote rejected] (protected branch hook declined)", Fault.DECLINED),
        ("[remote rejected] (push declined due to repository rule violations)", Fault.DECLINED),
        ("remote: - Push cannot contain secrets\n[remote rejected] (push declined due to ...)", Fault.CONTENT),
        ("remote: error: GH001: Large files detected.\n (pre-receive hook declined)", Fault.CONTENT),
        ("fatal: bad config line 1 in file /home/a/.gitconfig", Fault.LOCAL),
        ("fatal: detected dubious ownership in repository at '/w'", Fault.LOCAL),
        ("fatal: transport 'ext' not allowed", Fault.LOCAL),
        ("[rejected] (stale info)", Fault.OTHER),
        ("[remote rejected] (atomic transaction failed)", Fault.OTHER),
    ],
)
def test_gits_words_are_understood(said: str, fault: Fault) -> None:
    assert fault_of(said) is fault


def test_words_are_one_line_without_credentials() -> None:
    lines = ["noise", "remote: see https://me:secret@h/x", "remote: ", "fatal: no\x1b[2J", "fatal: no\x1b[2J"]
    assert git_words(lines) == "remote: see https://h/x / fatal: no[2J".replace("https://h", "https://h")
    assert len(git_words(["fatal: " + "x" * 5000])) == 800
