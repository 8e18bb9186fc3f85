"""Finding secrets in text by their shapes, and putting `[redacted:<kind>]` in their place.

Three sources: forms we know by their prefix, assignments to names that promise a secret, and an explicit list of
detect-secrets' plugins. Its entropy plugins are not in it: they flag every commit SHA, and a SHA is never redacted. Nor
are plugins whose patterns a hostile text could make slow. Everything runs in memory, on one string at a time.
"""

import base64
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from detect_secrets.plugins.artifactory import ArtifactoryDetector
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

_PLUGINS: tuple[RegexBasedDetector, ...] = (
    ArtifactoryDetector(),
    AWSKeyDetector(),
    AzureStorageKeyDetector(),
    DiscordBotTokenDetector(),
    GitHubTokenDetector(),
    GitLabTokenDetector(),
    MailchimpDetector(),
    PrivateKeyDetector(),
    PypiTokenDetector(),
    SendGridDetector(),
    SlackDetector(),
    SquareOAuthDetector(),
    StripeDetector(),
    TelegramBotTokenDetector(),
    TwilioKeyDetector(),
)

SHA = re.compile(r"(?<![A-Za-z0-9])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![A-Za-z0-9])")


@dataclass(frozen=True)
class Redacted:
    """A text without its secrets, and the kinds of what was taken out, in the order of their first finding."""

    text: str
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Shape:
    """A known form. `replacement` stands where not the usual word, but a part of the match should stay."""

    kind: str
    pattern: re.Pattern[str]
    replacement: str | None = None


def _shape(kind: str, pattern: str, replacement: str | None = None) -> _Shape:
    return _Shape(kind, re.compile(pattern), replacement)


# Repetitions are possessive or bounded and begin at a boundary, so that no text makes a search slow. Order matters: the
# long forms first, because they hold the short ones.
_SHAPES: tuple[_Shape, ...] = (
    _shape(
        "private-key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----END )[\s\S]){0,20000}+"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    # Not `ssh://git@…`: that name is no secret.
    _shape(
        "url-credentials",
        r"(?<![A-Za-z0-9+.-])((?!ssh://git@)[A-Za-z][A-Za-z0-9+.-]{1,20}+://)[^\s/\"'<>?#@]*+(?:@[^\s/\"'<>?#@]*+)*@",
        r"\1",
    ),
    _shape("lease-token", r"arl_[A-Za-z0-9_-]++(?:\.[A-Za-z0-9_=-]++){1,2}"),
    _shape("github-token", r"github_pat_[A-Za-z0-9_]{10,}+"),
    # A line break inside a token is how a terminal copies it.
    _shape(
        "github-token",
        r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{4,35}[ \t]{0,8}\n[ \t]{0,8}[A-Za-z0-9]{8,}+",
    ),
    _shape("github-token", r"(?<![A-Za-z0-9])gh[pousr]_(?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-])){10,}+"),
    _shape("github-token", r"gh[pousr]_(?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-])){30,}+"),
    _shape(
        "jwt", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,}+={0,2}\.[A-Za-z0-9_-]{5,}+={0,2}(?:\.[A-Za-z0-9_=+/-]*+){0,3}"
    ),
    _shape("aws-access-key", r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}"),
    _shape("google-api-key", r"AIza[0-9A-Za-z_-]{35}"),
    _shape("google-oauth", r"(?<![A-Za-z0-9])(?:ya29\.[0-9A-Za-z_-]{20,}+|GOCSPX-[0-9A-Za-z_-]{20,}+)"),
    _shape("azure-key", r"(?i:AccountKey|SharedAccessKey|SharedAccessSignature|[?&]sig)=[A-Za-z0-9+/=%]{20,}+"),
    _shape("slack-token", r"(?<![A-Za-z0-9])(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}+"),
    _shape("stripe-key", r"(?<![A-Za-z0-9])(?:[srp]k_(?:live|test)|whsec)_[0-9A-Za-z]{16,}+"),
    _shape("npm-token", r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{30,}+"),
    _shape("api-key", r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,}+"),
    _shape("api-key", r"(?<![A-Za-z0-9])(?:hf|dop_v1|doo_v1|shpat|lin_api|glc|pypi|rubygems)[_-][A-Za-z0-9_-]{24,}+"),
    _shape("vault-token", r"(?<![A-Za-z0-9])hv[sbr]\.[A-Za-z0-9_-]{20,}+"),
    _shape("docker-token", r"(?<![A-Za-z0-9])dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}+"),
    _shape("atlassian-token", r"(?<![A-Za-z0-9])(?:ATATT3|ATCTT3|ATBB)[A-Za-z0-9_=-]{20,}+"),
    _shape("databricks-token", r"(?<![A-Za-z0-9])dapi[0-9a-f]{32}(?![A-Za-z0-9])"),
    _shape("age-key", r"(?i)AGE-SECRET-KEY-1[0-9A-Z]{30,}+"),
    # A whole line of cookies: which of them opens a session is nobody's guess.
    _shape(
        "cookie",
        r"(?i)(?<![A-Za-z0-9-])((?:Set-)?Cookie[ \t]{0,3}:[ \t]{0,3})(?!\[redacted)[^\s\"'][^\n\"']*+",
        r"\1[redacted:cookie]",
    ),
    _shape(
        "login-password",
        r"(?i)((?<![A-Za-z0-9])login[ \t]{1,4}[^\s]{1,100}+\s{1,4}password[ \t]{1,4})(?!\[redacted)[^\s]++",
        r"\1[redacted:login-password]",
    ),
    # What commands take on their line: curl -u name:word, mysql -pWORD.
    _shape(
        "command-password",
        r"((?<![A-Za-z0-9])(?:curl|wget|https?|xh)[ \t][^\n|;&]{0,200}?(?:-u|--user|--proxy-user)[ =]?[\"']?"
        r"[^\s:\"'@/]{1,100}+:)(?!\[redacted)[^\s\"'`]++",
        r"\1[redacted:command-password]",
    ),
    _shape(
        "command-password",
        r"((?<![A-Za-z0-9])(?:mysql|mysqldump|mysqladmin|mariadb|sshpass)[^\n|;&]{0,200}?[ \t]-p)(?!\[redacted)"
        r"[^\s\"'`-][^\s\"'`]*+",
        r"\1[redacted:command-password]",
    ),
    _shape("authorization", r"(?i)(?<![A-Za-z0-9])(?:Bearer|Basic)[ \t]{1,4}[A-Za-z0-9._~+/-]{16,}+={0,2}"),
    # A link that opens somebody's conversation with an agent: private, and no evidence for anybody else.
    _shape(
        "session-link",
        r"https?://[^\s/\"'<>]{1,255}+(?:/[A-Za-z0-9_-]{1,40}){0,2}"
        r"/(?:sessions?|chats?|conversations?|threads?|share|c)/(?=[A-Za-z_-]{0,80}[0-9])[A-Za-z0-9_-]{3,}+(?![.\w])"
        r"[^\s\"'<>)\]]*+",
    ),
)

_ASSIGNMENT = re.compile(
    r"(?i)(?P<name>passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)"
    r"[A-Za-z0-9_]{0,20}[\"']?[ \t]{0,3}(?P<sign>:=|=>|=|:)[ \t]{0,3}[\"']?(?P<value>[^\s\"'`,;<>()\[\]{}]{4,}+)"
)


_PACKED = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{24,4000}+={0,2}(?![A-Za-z0-9+/=_-])")


def redact(text: str) -> Redacted:
    """The text with every secret replaced, also one written in wide letters or packed in base64. What is replaced twice
    changes nothing the second time.
    """
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    if plain != text:
        # Letters that only look wide hide a secret from a search, not from who copies it.
        found = _redacted(plain)
        if set(found.kinds) - set(_redacted(text).kinds):
            return found
    return _redacted(text)


def _redacted(text: str) -> Redacted:
    kinds: dict[str, None] = {}
    for shape in _SHAPES:
        replacement = f"[redacted:{shape.kind}]" if shape.replacement is None else shape.replacement
        text, found = shape.pattern.subn(replacement, text)
        if found:
            kinds[shape.kind] = None
    for plugin in _PLUGINS:
        kind = re.sub(r"[^a-z0-9]+", "-", plugin.secret_type.lower()).strip("-")
        for pattern in plugin.denylist:
            text = _replace(text, pattern, kind, kinds, lambda match: True)
    text = _replace(text, _ASSIGNMENT, "assigned-secret", kinds, _assigns_a_secret)
    text = _replace(text, _PACKED, "packed-secret", kinds, _packs_a_secret)
    return Redacted(text, tuple(kinds))


def _packs_a_secret(match: re.Match[str]) -> bool:
    try:
        packed = base64.b64decode(match[0] + "=" * (-len(match[0]) % 4), altchars=b"-_" if "-" in match[0] else None)
        inside = packed.decode("ascii")
    except ValueError:
        return False
    return any(shape.pattern.search(inside) for shape in _SHAPES if shape.kind != "session-link")


def _replace(
    text: str,
    pattern: re.Pattern[str],
    kind: str,
    kinds: dict[str, None],
    wanted: Callable[[re.Match[str]], bool],
) -> str:
    """Replaces the value a pattern finds (its last filled group, else all of it), unless it touches a SHA."""
    shas = [sha.span() for sha in SHA.finditer(text)]
    pieces: list[str] = []
    at = 0
    for match in pattern.finditer(text):
        start, end = match.span(match.lastindex or 0)
        if start == end or start < at or not wanted(match) or any(s < end and start < e for s, e in shas):
            continue
        pieces += (text[at:start], f"[redacted:{kind}]")
        at = end
        kinds[kind] = None
    return "".join((*pieces, text[at:]))


def _assigns_a_secret(match: re.Match[str]) -> bool:
    """Prose and code are full of `token: expired` and `password=None`; a secret looks like one."""
    value = match["value"]
    if value.startswith("$") or "redacted" in value:
        return False
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    if match["name"].lower().startswith("pass"):
        return mixed or (match["sign"] == "=" and value.lower() not in {"none", "null", "true", "false"})
    return mixed and len(value) >= 8
