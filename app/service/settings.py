"""The operator's settings: environment variables `AGENT_RECOVERY_…`, secrets also from files.

They are the operator's alone and never a repository's policy. Secrets never come from the database. Whatever
is wrong is told at once and together, by the variable's name and without its value.
"""

import difflib
import json
import os
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from app.service.keys import parse_lease_keys, parse_private_keys, parse_seal_keys, parse_secrets

PREFIX = "AGENT_RECOVERY_"
_AGENTS = frozenset({"URL", "REPO", "TICKET", "GENERATION", "LEASE_TOKEN", "ATTEMPT"})
"""Variables of the agent's side, which may stand in the same environment."""


def _switch(value: object) -> object:
    if isinstance(value, str) and value.lower() in ("on", "off"):
        return value.lower() == "on"
    if isinstance(value, bool):
        return value
    raise ValueError("must be `on` or `off`")


def _web_address(value: object) -> object:
    if not isinstance(value, str) or not value.startswith(("https://", "http://")) or "@" in value:
        raise ValueError("must be an http(s) address without user name or password")
    try:
        parts = urlsplit(value)
        usable = bool(parts.hostname) and not re.search(r"\s", value) and (parts.port is None or parts.port > 0)
        (parts.hostname or "").encode("idna")
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("must be an http(s) address with a host, and a number where it names a port")
    return value.rstrip("/")


def _host(value: object) -> object:
    try:
        str(value).encode("idna")
    except UnicodeError:
        raise ValueError("is no address and no host name") from None
    return value


class _Unreadable:
    """Stands for a secret whose file could not be read, until validation reports it with everything else."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


def _secret_text(check: Callable[[str], object]) -> BeforeValidator:
    def validate(value: object) -> object:
        if isinstance(value, _Unreadable):
            raise ValueError(value.reason)
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        if not isinstance(text, str):
            raise ValueError("must be text")
        check(text)
        return SecretStr(text)

    return BeforeValidator(validate)


def _check_database(text: str) -> None:
    try:
        backend = make_url(text).get_backend_name()
    except ArgumentError:
        raise ValueError("is not a database URL, such as sqlite:///./agent-recovery.db") from None
    if backend not in ("sqlite", "postgresql"):
        raise ValueError("must be a sqlite:///… or postgresql://… URL")


def _issuer(value: object) -> object:
    address = _web_address(value)
    if not isinstance(address, str) or not (address.startswith("https://") or urlsplit(address).hostname in _LOOPBACK):
        raise ValueError("must be an https address (http on this machine only)")
    return address


def _audience(value: object) -> object:
    if not isinstance(value, str) or not _AUDIENCE.fullmatch(value):
        raise ValueError("must be one word without spaces, such as the address of the service")
    return value.rstrip("/")


_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_AUDIENCE = re.compile(r"[!-~]{1,500}")
Switch = Annotated[bool, NoDecode, BeforeValidator(_switch)]


def _hosts(value: object) -> object:
    names = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        raise ValueError("must be host names separated by commas")
    wrong = [name for name in names if not isinstance(name, str) or not _HOST.fullmatch(name)]
    if wrong:
        raise ValueError("must be host names separated by commas, without scheme or path, each with its port if any")
    return tuple(names)


def _scopes(value: object) -> object:
    names = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        raise ValueError("must be names separated by commas")
    if any(not isinstance(name, str) or not _SCOPE.fullmatch(name) for name in names):
        raise ValueError("must be repositories (owner/name) or accounts (owner), separated by commas")
    return tuple(names)


def _command(value: object) -> object:
    if not isinstance(value, str):
        words = value
    elif value.lstrip().startswith("["):
        try:
            words = json.loads(value)
        except ValueError:
            raise ValueError("must be a JSON list of words, or words as a shell would read them") from None
    else:
        try:
            words = shlex.split(value)
        except ValueError:
            raise ValueError("has a quote that does not end") from None
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) and "\0" not in word for word in words):
        raise ValueError("must be a list of words")
    if words and not words[0]:
        raise ValueError("names no program")
    return tuple(words)


def _variables(value: object) -> object:
    names = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        raise ValueError("must be names of variables separated by commas")
    if any(not isinstance(name, str) or not _VARIABLE.fullmatch(name) for name in names):
        raise ValueError("must be names of variables separated by commas")
    if any(name.upper().startswith(PREFIX) for name in names):
        raise ValueError(f"must not name variables of the service ({PREFIX}…): they may be its secrets")
    return tuple(names)


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_SCOPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}(?:/[A-Za-z0-9._-]{1,100})?")
_LABEL = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_HOST = re.compile(rf"(?i)(?=.{{1,253}}(?::|$)){_LABEL}(?:\.{_LABEL})+(?::[1-9][0-9]{{0,4}})?")
ProbeHosts = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_hosts)]
Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_command)]
Variables = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_variables)]
Scopes = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_scopes)]
WebAddress = Annotated[str, BeforeValidator(_web_address)]


class Settings(BaseSettings):
    """Everything that the operator may set; the field names in capitals, after the prefix, are the variables."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="ignore", hide_input_in_errors=True, env_ignore_empty=True
    )

    app_id: int = Field(gt=0, description="The App's id, from its settings page.")
    app_private_key: Annotated[SecretStr, _secret_text(parse_private_keys)] = Field(
        description="The App's private key in PEM; two blocks, one after the other, while it is changed."
    )
    webhook_secret: Annotated[SecretStr, _secret_text(parse_secrets)] = Field(
        description="The webhook secret; two, separated by a comma, while it is changed."
    )
    seal_keys: Annotated[SecretStr, _secret_text(parse_seal_keys)] = Field(
        description="Ed25519 keys that seal ledger commits, `kid:base64url`; the first one signs."
    )
    lease_keys: Annotated[SecretStr, _secret_text(parse_lease_keys)] = Field(
        description="Keys that lease tokens are derived from, `kid:base64url`; the first one makes new tokens."
    )
    github_url: WebAddress = Field(default="https://api.github.com", description="GitHub's API.")
    database_url: Annotated[SecretStr, _secret_text(_check_database)] = Field(
        default=SecretStr("sqlite:///./agent-recovery.db"),
        description="Pokes, heartbeats, witnesses: SQLite, or PostgreSQL when several machines share it.",
    )
    public_url: WebAddress | None = Field(
        default=None, description="Where agents reach the service; by default the address it listens on."
    )
    oidc_issuer: Annotated[str, BeforeValidator(_issuer)] = Field(
        default="https://token.actions.githubusercontent.com",
        description="Who makes the tokens by which workflow runs show who they are.",
    )
    oidc_audience: Annotated[str, BeforeValidator(_audience)] | None = Field(
        default=None, description="For whom such tokens must be; by default the public address."
    )
    writes: Switch = Field(default=True, description="`off` stops every write to GitHub at once.")
    stopped: Scopes = Field(
        default=(), description="Repositories (owner/name) and accounts in which nothing is written, comma-separated."
    )
    resume: Switch = Field(default=True, description="`off` refuses to resume interrupted tickets, everywhere.")
    resume_command: Words = Field(
        default=(),
        description="What starts an agent where a policy says `resume.dispatch: command`; no shell reads it.",
    )
    resume_command_env: Variables = Field(
        default=(), description="Variables of this environment that the started agent is given, comma-separated."
    )
    host: Annotated[str, BeforeValidator(_host)] = Field(
        default="127.0.0.1", min_length=1, description="Address to listen on."
    )
    port: int = Field(default=8080, ge=0, le=65535, description="Port to listen on; 0 lets the system choose.")

    probe_hosts: ProbeHosts = Field(
        default=(),
        description="Hosts that probes of effects may ask by https, separated by commas; `host:port` where not 443.",
    )
    workers: int = Field(default=4, ge=1, le=64, description="How many tickets are worked on at the same time.")
    largest_push_mb: int = Field(
        default=512, ge=1, le=2048, description="The largest push the git endpoint takes, in MiB."
    )

    @property
    def service_url(self) -> str:
        """Where agents reach the service: the public address, else the one it listens on."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url or f"http://{host}:{self.port}"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _SecretFiles(settings_cls)


class _SecretFiles(PydanticBaseSettingsSource):
    """`AGENT_RECOVERY_<SECRET>_FILE` names a file that holds the secret; the plain variable wins."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        path = os.environ.get(f"{PREFIX}{field_name.upper()}_FILE") if field_name in SECRETS else None
        if not path:
            return None, field_name, False
        try:
            return Path(path).read_text(encoding="utf-8").strip(), field_name, False
        except (OSError, UnicodeDecodeError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else "not UTF-8 text"
            return _Unreadable(f"the file it names cannot be read: {reason}"), field_name, False

    def __call__(self) -> dict[str, Any]:
        found = {name: self.get_field_value(field, name)[0] for name, field in self.settings_cls.model_fields.items()}
        return {name: value for name, value in found.items() if value is not None}


SECRETS = ("app_private_key", "webhook_secret", "seal_keys", "lease_keys", "database_url")
"""Settings that may also come from a file."""


class BadSettings(Exception):
    """The service cannot start with these settings: every problem at once, none with a value."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        lines = "\n".join(f"  - {problem}" for problem in problems)
        super().__init__(f"The settings are not complete (docs/configuration.md lists them all):\n{lines}")


def load_settings(**given: Any) -> Settings:
    """The settings from the environment; what is `given` (by the command line) wins. Raises BadSettings."""
    problems = list(_misspelt(os.environ))
    try:
        settings = Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as invalid:
        problems += [_told(str(error["loc"][0]), error["type"], error["msg"]) for error in invalid.errors()]
    else:
        if not problems:
            return settings
    raise BadSettings(tuple(problems))


def _told(field: str, kind: str, message: str) -> str:
    variable = PREFIX + field.upper()
    if kind == "missing":
        description = Settings.model_fields[field].description or ""
        also = f" (or {variable}_FILE)" if field in SECRETS else ""
        how = " `agent-recovery keys new` makes it." if field in ("webhook_secret", "seal_keys", "lease_keys") else ""
        return f"{variable}{also} is missing. {description}{how}"
    return f"{variable} {message.removeprefix('Value error, ')}"


def _misspelt(environment: Mapping[str, str]) -> list[str]:
    """A misspelt off switch must not be silently on, so what resembles a setting without being one is told."""
    known = [name.upper() for name in Settings.model_fields]
    known += [f"{name.upper()}_FILE" for name in SECRETS]
    problems = []
    for variable in sorted(environment):
        name = variable.removeprefix(PREFIX)
        if name == variable or name in known or name in _AGENTS:
            continue
        if close := difflib.get_close_matches(name, known, n=1, cutoff=0.8):
            problems.append(f"{variable} is no setting; {PREFIX}{close[0]} is.")
    return problems
