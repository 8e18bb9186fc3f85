"""Which URLs may see a token, and what is said when the environment is incomplete."""

import pytest

from app.agent import environment
from app.domain.outcome import Refused


@pytest.mark.parametrize(
    "url",
    [
        "https://recovery.example",
        "https://recovery.example:8443/base",
        "http://127.0.0.1:8080",
        "http://localhost:8080",
        "http://[::1]:8080",
    ],
)
def test_tls_or_this_machine(url: str) -> None:
    assert environment.url_problem(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://recovery.example",
        "http://127.0.0.1.evil.example",
        "http://localhost.evil.example",
        "http://127.0.0.1@evil.example",
        "https://user:password@recovery.example",
        "ftp://recovery.example",
        "file:///etc/passwd",
        "ext::sh -c id",
        "-oProxyCommand=id",
        "recovery.example",
        "https://",
        "https://a b",
        "https://a\nb",
        "https://a/?q=1",
        "https://a/#f",
        "https:\\\\a",
        "https://[::1",
        "https://a:99999",
        "https://ex\u00e4mple",
    ],
)
def test_everything_else_is_refused(url: str) -> None:
    assert environment.url_problem(url) is not None


def test_a_missing_or_bad_service_url_is_told() -> None:
    with pytest.raises(Refused, match="AGENT_RECOVERY_URL is not set"):
        environment.service_url(None, {})
    with pytest.raises(Refused, match="https only"):
        environment.service_url(None, {"AGENT_RECOVERY_URL": "http://recovery.example"})
    assert environment.service_url(None, {"AGENT_RECOVERY_URL": "https://a.example/"}) == "https://a.example"


def test_commands_of_others_get_no_token() -> None:
    given = {"PATH": "/bin", "GITHUB_TOKEN": "x", "GH_TOKEN": "x", "AGENT_RECOVERY_LEASE_TOKEN": "x"}
    given |= {"ACTIONS_ID_TOKEN_REQUEST_URL": "https://x", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "x"}
    assert environment.without_secrets(given) == {"PATH": "/bin"}


@pytest.mark.parametrize("name", ["", "owner", "owner/", "a/b/c", "../x", "owner/..", "-o/x"])
def test_a_repository_is_written_owner_slash_name(name: str) -> None:
    with pytest.raises(Refused):
        environment.repository(name or None, None, {})


@pytest.mark.parametrize("text", ["", "0", "-1", "4x", "99999999999", "\u0664\u0662"])
def test_a_ticket_is_a_number(text: str) -> None:
    with pytest.raises(Refused):
        environment.ticket(None, None, {"AGENT_RECOVERY_TICKET": text})
