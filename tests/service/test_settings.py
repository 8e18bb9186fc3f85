"""Settings: everything wrong at once, by name, without a value."""

import subprocess
import sys

import pytest

from app.service.keys import new_keys, parse_lease_keys, parse_private_keys, parse_seal_keys, parse_secrets
from app.service.settings import BadSettings, load_settings


@pytest.fixture
def environment(monkeypatch, app_pem):
    """A complete environment; changes by `set_` and `unset`."""
    import os

    for name in [name for name in os.environ if name.startswith("AGENT_RECOVERY_")]:
        monkeypatch.delenv(name)
    for name, value in new_keys().settings().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AGENT_RECOVERY_APP_ID", "111")
    monkeypatch.setenv("AGENT_RECOVERY_APP_PRIVATE_KEY", app_pem)
    return monkeypatch


def test_a_complete_environment_has_safe_defaults(environment):
    settings = load_settings()
    assert (settings.host, settings.github_url) == ("127.0.0.1", "https://api.github.com")
    assert settings.writes
    assert settings.resume
    assert load_settings(port=0).port == 0


def test_no_secret_is_shown_by_the_settings(environment):
    shown = repr(load_settings()) + str(load_settings())
    for value in new_keys().settings():
        assert value not in shown
    assert "PRIVATE KEY" not in shown


@pytest.mark.parametrize("word", ["off", "OFF"])
def test_writes_can_be_switched_off(environment, word):
    environment.setenv("AGENT_RECOVERY_WRITES", word)
    assert not load_settings().writes


def test_all_problems_are_told_together_and_without_values(environment):
    environment.delenv("AGENT_RECOVERY_WEBHOOK_SECRET")
    for name, value in {
        "APP_ID": "sesame-1",
        "SEAL_KEYS": "kid:sesame-2",
        "LEASE_KEYS_FILE": "/nonexistent/sesame",
        "LEASE_KEYS": "",
        "WRITES": "sesame-3",
        "DATABASE_URL": "mysql://user:sesame-4@host/db",
        "GITHUB_URL": "ftp://sesame-5",
        "APP_PRIVATE_KEY": "-----BEGIN RSA PRIVATE KEY-----\nsesame-6\n-----END RSA PRIVATE KEY-----",
        "PORT": "70000",
    }.items():
        environment.setenv(f"AGENT_RECOVERY_{name}", value)
    with pytest.raises(BadSettings) as bad:
        load_settings()
    told = str(bad.value)
    names = ("APP_ID", "WEBHOOK_SECRET", "SEAL_KEYS", "LEASE_KEYS", "WRITES", "DATABASE_URL", "GITHUB_URL", "PORT")
    for name in (*names, "APP_PRIVATE_KEY"):
        assert f"AGENT_RECOVERY_{name} " in told, told
    assert len(bad.value.problems) == 9
    assert "sesame" not in told
    assert "keys new" in told


def test_a_misspelt_off_switch_stops_the_start(environment):
    environment.setenv("AGENT_RECOVERY_WRITE", "off")
    environment.setenv("AGENT_RECOVERY_URL", "http://127.0.0.1:1")
    with pytest.raises(BadSettings) as bad:
        load_settings()
    assert bad.value.problems == ("AGENT_RECOVERY_WRITE is no setting; AGENT_RECOVERY_WRITES is.",)


def test_secrets_come_from_files(environment, tmp_path):
    keys = new_keys()
    (tmp_path / "seal").write_text(keys.seal_keys + "\n")
    environment.delenv("AGENT_RECOVERY_SEAL_KEYS")
    environment.setenv("AGENT_RECOVERY_SEAL_KEYS_FILE", str(tmp_path / "seal"))
    assert load_settings().seal_keys.get_secret_value() == keys.seal_keys


def test_two_keys_live_and_the_first_is_in_use():
    first, second = new_keys(), new_keys()
    assert [*parse_seal_keys(f"{first.seal_keys},{second.seal_keys}")] == [
        first.seal_keys.split(":")[0],
        second.seal_keys.split(":")[0],
    ]
    assert all(len(key) == 32 for key in parse_lease_keys(f"{first.lease_keys}\n{second.lease_keys}").values())
    assert len(parse_secrets(f"{first.webhook_secret}, {second.webhook_secret}")) == 2


@pytest.mark.parametrize("text", ["", "nokid", "Kid:AAAA", "kid:AAAA", "kid:!!!!", "k.id:" + "A" * 43])
def test_a_damaged_key_is_refused_without_its_text(text):
    with pytest.raises(ValueError, match="agent-recovery keys new") as bad:
        parse_seal_keys(text)
    assert "AAAA" not in str(bad.value)


def test_a_key_id_twice_is_refused():
    entry = new_keys().lease_keys
    with pytest.raises(ValueError, match="twice"):
        parse_lease_keys(f"{entry},{entry}")


def test_pem_blocks_may_stand_behind_one_another_and_on_one_line(app_pem):
    assert parse_private_keys(app_pem + app_pem) == (app_pem, app_pem)
    assert parse_private_keys(app_pem.replace("\n", "\\n")) == (app_pem,)


def _cli(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "app.cli", *arguments]
    return subprocess.run(command, env={"PATH": "/usr/bin:/bin", **environment}, capture_output=True, text=True)


def test_serve_without_settings_says_what_is_missing_and_exits_2():
    done = _cli("serve")
    assert done.returncode == 2
    assert "AGENT_RECOVERY_APP_ID is missing" in done.stderr
    assert "Traceback" not in done.stderr


def test_keys_new_writes_files_that_only_the_owner_reads_and_never_overwrites(tmp_path):
    done = _cli("keys", "new", "--folder", str(tmp_path / "keys"))
    assert done.returncode == 0, done.stderr
    named = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert set(named) == {f"AGENT_RECOVERY_{name}_FILE" for name in ("SEAL_KEYS", "LEASE_KEYS", "WEBHOOK_SECRET")}
    for path in (tmp_path / "keys").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.read_text().strip() not in done.stdout
    again = _cli("keys", "new", "--folder", str(tmp_path / "keys"))
    assert again.returncode == 2
    assert "never overwritten" in again.stderr


def test_keys_new_prints_lines_that_the_settings_accept():
    named = dict(line.split("=", 1) for line in _cli("keys", "new").stdout.splitlines())
    assert parse_seal_keys(named["AGENT_RECOVERY_SEAL_KEYS"])
    assert parse_lease_keys(named["AGENT_RECOVERY_LEASE_KEYS"])
    assert parse_secrets(named["AGENT_RECOVERY_WEBHOOK_SECRET"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_URL", "http://exa mple:x/"),
        ("GITHUB_URL", "http://:80/"),
        ("GITHUB_URL", "https://host:port"),
        ("GITHUB_URL", f"https://{'a' * 64}.example"),
        ("HOST", f"{'a' * 64}.example"),
    ],
)
def test_an_address_that_nothing_can_reach_is_told(environment, name, value):
    environment.setenv(f"AGENT_RECOVERY_{name}", value)
    with pytest.raises(BadSettings, match=f"AGENT_RECOVERY_{name}") as bad:
        load_settings()
    assert value not in str(bad.value)


def test_who_vouches_for_workflow_runs(environment):
    settings = load_settings()
    assert (settings.oidc_issuer, settings.oidc_audience) == ("https://token.actions.githubusercontent.com", None)
    environment.setenv("AGENT_RECOVERY_OIDC_ISSUER", "http://127.0.0.1:4000/")
    environment.setenv("AGENT_RECOVERY_OIDC_AUDIENCE", "https://recovery.example/")
    settings = load_settings()
    assert (settings.oidc_issuer, settings.oidc_audience) == ("http://127.0.0.1:4000", "https://recovery.example")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OIDC_ISSUER", "http://token.example"),
        ("OIDC_ISSUER", "http://127.0.0.1.example"),
        ("OIDC_ISSUER", "token.example"),
        ("OIDC_AUDIENCE", "two words"),
        ("OIDC_AUDIENCE", "x" * 501),
    ],
)
def test_nobody_vouches_over_an_open_line(environment, name, value):
    environment.setenv(f"AGENT_RECOVERY_{name}", value)
    with pytest.raises(BadSettings) as told:
        load_settings()
    assert f"AGENT_RECOVERY_{name} must be" in str(told.value)
