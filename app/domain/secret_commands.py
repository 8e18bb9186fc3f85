"""Secrets as commands take them on their line: `curl -u name:word`, `mysql -pWORD`, `sshpass -p WORD`.

An option means a password only to its own command (`mkdir -p` means none), so the command's line is found first. Values
that a shell takes from elsewhere (`$TOKEN`) are no secrets and stay.
"""

import re
from dataclasses import dataclass

KIND = "command-password"

# Of a command: its line to the next command, with quoted texts and lines continued by a backslash.
_LINE = r"(?:\"[^\"\n]{0,1000}+\"|'[^'\n]{0,1000}+'|\\[\s\S]|[^\n|;&\\]|&(?=\w)){1,4000}+"
# The words that follow an option in a sentence about it.
_PROSE = r"(?:is|to|and|or|in|on|for|the|a|an|as|asks|prompts?|option|flag|switch|argument|value|with|from)\b"
_VALUE = rf"[\"']?)(?!\$|\[redacted)(?:(?<=\")[^\"\n]{{1,200}}+|(?<=')[^'\n]{{1,200}}+|(?!{_PROSE})[^\s\"'`]++)"
_USER = r"[^\s:\"'@/]{1,100}+:"
# After `-u "name:` a quoted password goes on to the closing quote.
_QUOTED_USER = re.compile(
    r"((?<=[ \t\n])(?:-[A-Za-z]{0,8}?[uU]|--user|--proxy-user)(?:[ \t]{1,4}|=)?([\"'])[^\s:\"'@/]{1,100}+:)"
    r"(?!\$|\[redacted)[^\"'\n]{1,200}+(?=\2)"
)
# Any command's long option, where the value looks like a secret.
_ANY = re.compile(
    r"((?<![\w-])--(?:[a-z]{1,20}-){0,2}(?:password|passwd|passphrase|token|secret|api-?key|access-key)"
    r"[ \t]{1,4}[\"']?)"
    r"(?=[A-Za-z._~+/=-]{0,200}[0-9])(?=[0-9._~+/=-]{0,200}[A-Za-z])[\w.~+/=-]{8,}+"
)


@dataclass(frozen=True)
class _Command:
    """A command's line; inside it, the options before a secret."""

    line: re.Pattern[str]
    options: tuple[re.Pattern[str], ...]


def _command(names: str, *options: str, first: tuple[re.Pattern[str], ...] = ()) -> _Command:
    line = re.compile(rf"(?<![A-Za-z0-9_-])(?:{names})(?=[ \t]){_LINE}")
    begin = r"((?<=[ \t\n])"
    return _Command(line, (*first, *(re.compile(begin + option + _VALUE) for option in options)))


_LONG = r"--(?:[a-z]{1,20}-)?(?:password|passwd|pass|token|secret)(?:[ \t]{1,4}|=)"

_COMMANDS = (
    _command(
        r"curl|wget|https?|xh",
        rf"(?:-[A-Za-z]{{0,8}}?[uU]|--user|--proxy-user)(?:[ \t]{{1,4}}|=)?[\"']?{_USER}",
        r"(?:-[A-Za-z]{0,8}?b|--cookie)(?:[ \t]{1,4}|=)?(?=[\"']?[^\s\"'=/]{1,100}+=)",
        _LONG,
        first=(_QUOTED_USER,),
    ),
    _command(r"mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mariadb|mariadb-dump", r"-p(?=[^\s-])", _LONG),
    _command(r"sshpass", r"-p[ \t]{0,4}"),
    _command(
        r"(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|regctl|az|oc)(?=[^\n;|&]{0,100}?[ \t]login\b)",
        r"-p(?:[ \t]{1,4}|=)",
        _LONG,
    ),
    _command(r"redis-cli|keydb-cli|valkey-cli", r"(?:-a|--pass)[ \t]{1,4}"),
    _command(r"mongo(?:sh|dump|restore|import|export)?", r"(?:-p[ \t]{0,4}(?=[^\s-])|--password[ =])"),
    _command(r"ldap(?:search|add|modify|delete|passwd|whoami)", r"-w[ \t]{1,4}"),
    _command(r"sqlcmd|zip|unzip", r"-P[ \t]{0,4}"),
    _command(r"openssl", r"-pass(?:in|out)?[ \t]{1,4}pass:"),
    _command(r"gpg2?", r"--passphrase(?:[ \t]{1,4}|=)"),
)


def without_command_secrets(text: str) -> tuple[str, int]:
    """The text with the secrets on commands' lines replaced, and how many there were."""
    found = 0
    for command in _COMMANDS:

        def line(match: re.Match[str], options: tuple[re.Pattern[str], ...] = command.options) -> str:
            nonlocal found
            shown = match[0]
            for option in options:
                shown, count = option.subn(rf"\1[redacted:{KIND}]", shown)
                found += count
            return shown

        text = command.line.sub(line, text)
    text, count = _ANY.subn(rf"\1[redacted:{KIND}]", text)
    return text, found + count
