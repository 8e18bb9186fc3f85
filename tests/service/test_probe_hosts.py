"""The operator's list of hosts that probes of effects may ask."""

import pytest

from app.service.keys import new_keys
from app.service.settings import BadSettings, load_settings


@pytest.fixture(autouse=True)
def complete(monkeypatch: pytest.MonkeyPatch, app_pem: str) -> None:
    made = {**new_keys().settings(), "AGENT_RECOVERY_APP_ID": "1", "AGENT_RECOVERY_APP_PRIVATE_KEY": app_pem}
    for name, value in made.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        (None, ()),
        ("deploy.example.com", ("deploy.example.com",)),
        ("deploy.example.com, Status.example.com:8443", ("deploy.example.com", "Status.example.com:8443")),
    ],
)
def test_hosts_are_listed_with_commas(
    monkeypatch: pytest.MonkeyPatch, text: str | None, hosts: tuple[str, ...]
) -> None:
    if text is not None:
        monkeypatch.setenv("AGENT_RECOVERY_PROBE_HOSTS", text)
    assert load_settings().probe_hosts == hosts


@pytest.mark.parametrize(
    "text", ["https://deploy.example.com", "deploy.example.com/", "*", "localhost", "a..b", "a.b:0", "user@a.b", "a.b,"]
)
def test_what_is_no_host_is_told(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("AGENT_RECOVERY_PROBE_HOSTS", text)
    with pytest.raises(BadSettings) as bad:
        load_settings()
    assert "AGENT_RECOVERY_PROBE_HOSTS must be host names" in str(bad.value)
