"""Finding secrets in text by their shapes, and putting `[redacted:<kind>]` in their place.

Four sources: forms we know by their prefix, assignments to names that promise a secret, options of commands, and an
explicit list of detect-secrets' plugins. Its entropy plugins are not in it: they flag every commit SHA, and a SHA is
redacted only where it is assigned to a name that speaks of nothing but a secret. Nor are plugins whose patterns a
hostile text could make slow. Everything runs in memory, on one string at a time.
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

from app.domain.secret_commands import KIND as COMMAND_KIND
from app.domain.secret_commands import without_command_secrets

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

_PLUGIN_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (re.sub(r"[^a-z0-9]+", "-", plugin.secret_type.lower()).strip("-"), pattern)
    for plugin in _PLUGINS
    for pattern in plugin.denylist
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
    _shape(
        "api-key",
        r"(?<![A-Za-z0-9])(?:hf|dop_v1|doo_v1|shpat|shpss|lin_api|glc|glsa|pypi|rubygems|gsk|xai|nvapi|sntrys|sbp|PMAK|NRAK"
        r"|pscale_tkn|ntn|r8|pplx)[_-][A-Za-z0-9_-]{24,}+",
    ),
    _shape("figma-token", r"(?<![A-Za-z0-9])figd_[A-Za-z0-9_-]{8,}+"),
    # Whoever knows such an address can post there.
    _shape(
        "webhook-url",
        r"(?i)(?<![A-Za-z0-9.-])(?:https?://)?(?:(?:ptb\.|canary\.)?discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks"
        r"|hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)|[a-z0-9-]{1,63}\.webhook\.office\.com/webhookb2)"
        r"/[^\s\"'<>)\]]{6,}+",
    ),
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
    _shape("authorization", r"(?i)(?<![A-Za-z0-9])(?:Bearer|Basic)[ \t]{1,4}[A-Za-z0-9._~+/-]{16,}+={0,2}"),
    # With the header's name before it, a scheme nobody knows or a bare 40 hexadecimal characters are a credential too.
    _shape(
        "authorization",
        r"(?i)((?<![A-Za-z0-9])Authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?)"
        r"(?:[A-Za-z][A-Za-z0-9-]{0,20}+[ \t]{1,4})?(?=[A-Za-z._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/-]{8,}+={0,2}",
        r"\1[redacted:authorization]",
    ),
    # A link that opens somebody's conversation with an agent: private, and no evidence for anybody else.
    _shape(
        "session-link",
        r"https?://[^\s/\"'<>]{1,255}+(?:/[A-Za-z0-9_-]{1,40}){0,2}"
        r"/(?:sessions?|chats?|conversations?|threads?|share|c)/(?=[A-Za-z_-]{0,80}[0-9])[A-Za-z0-9_-]{3,}+(?![.\w])"
        r"[^\s\"'<>)\]]*+",
    ),
    # The same at the agents' own addresses, whose links need not look like it.
    _shape(
        "session-link",
        r"(?i)(?<![A-Za-z0-9.@-])(?:https?://)?(?:www\.)?(?:claude\.ai/(?:code|chat|share|cowork|public/artifacts)"
        r"|chatgpt\.com/(?:c|s|share|codex/(?:cloud/)?tasks|g/[a-z0-9-]{1,100}+/c)|chat\.openai\.com/(?:c|share)"
        r"|cursor\.com/(?:[a-z-]{1,12}+/)?(?:background-agents?|agents)(?=[/?])[/?a-z]{0,40}?|gemini\.google\.com/(?:app|share)"
        r"|g\.co/gemini/share|jules\.google(?:\.com)?/(?:task|session)s?|github\.com/copilot/(?:c|share|tasks|agents)"
        r"|(?:app\.)?devin\.ai/sessions|ampcode\.com/threads|v0\.(?:dev|app)/chat|grok\.com/(?:c|chat|share)"
        r"|(?:www\.)?perplexity\.ai/search|poe\.com/s|opncd\.ai/s(?:hare)?|opencode\.ai/s(?:hare)?"
        r"|copilot\.microsoft\.com/(?:chats|shares)|aistudio\.google\.com/(?:app/)?prompts|chat\.mistral\.ai/chat"
        r"|manus\.im/(?:app|share)|replit\.com/agents)(?:/|\?[a-z_]{1,20}+=)[A-Za-z0-9_-]{3,}+[^\s\"'<>)\]]*+",
    ),
    _shape("session-link", r"(?<![A-Za-z0-9])(?:session_0[A-Za-z0-9]{15,}+|task_e_[0-9a-f]{16,}+)"),
)

_BASIC = re.compile(r"(?i)(?<![A-Za-z0-9])Basic[ \t]{1,4}[A-Za-z0-9+/]{4,}+={0,2}(?![\w/-])")

# Of a value in quotes all of it, whatever it holds; else up to what ends a value in code.
_ASSIGNMENT = re.compile(
    r"(?i)(?P<name>passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?"
    r"|(?<![A-Za-z0-9])(?-i:(?:[A-Z0-9]{1,30}_){1,5}(?:PASS|PWD|PW|AUTH)|REDISCLI_AUTH)(?![A-Za-z0-9_])"
    r"|(?<![A-Za-z0-9])(?:db|user|root|admin|mysql|postgres|pg|redis|smtp|mail|ftp|ssh|login|proxy)_?(?:pass|pwd)(?![a-z_]))"
    r"(?P<rest>[A-Za-z0-9_]{0,20})(?:\\?[\"'])?[ \t]{0,3}(?P<sign>:=|=>|=|:)[ \t]{0,3}"
    r"(?:(?<![\"'\\])\\?\"(?P<quoted>[^\"\n\\]{3,200}+)(?=\\?\")|(?<![\"'\\])\\?'(?P<single>[^'\n\\]{3,200}+)(?=\\?')"
    r"|\\?[\"']?(?P<value>[^\s\"'`,;<>()\[\]{}]{4,}+))"
)
_HEX = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_OF_A_COMMIT = re.compile(r"(?i)sha|commit|hash|digest|rev|ref|oid")


_PACKED = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,65536}+={0,2}(?![A-Za-z0-9+/=_-])")

# A terminal breaks a long token where its line ends, as often as it takes. Its kind's length tells where to stop.
_BREAK = r"[ \t]{0,8}\\?\n[ \t>|]{0,8}"
_BROKEN = re.compile(
    r"(?<![A-Za-z0-9])(?P<begin>gh[pousr]_|github_pat_|arl_|sk-ant-|glpat-|npm_|hf_)(?P<first>[A-Za-z0-9_.-]{0,90}+)"
    rf"(?P<more>(?:{_BREAK}[A-Za-z0-9_.-]{{1,200}}+){{1,8}})"
)
_PIECE = re.compile(rf"{_BREAK}([A-Za-z0-9_.-]{{1,200}}+)")
_LENGTHS = {"github_pat_": 82, "arl_": 100, "sk-ant-": 95, "glpat-": 20, "npm_": 36, "hf_": 34}
_KINDS = {"arl_": "lease-token", "github_pat_": "github-token", **{f"gh{c}_": "github-token" for c in "pousr"}}
_SHORTEST_PIECE = 8


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
    text = _BROKEN.sub(lambda match: _rejoined(match, kinds), text)
    for shape in _SHAPES:
        replacement = f"[redacted:{shape.kind}]" if shape.replacement is None else shape.replacement
        text, found = shape.pattern.subn(replacement, text)
        if found:
            kinds[shape.kind] = None
    text, found = without_command_secrets(text)
    if found:
        kinds[COMMAND_KIND] = None
    for kind, pattern in _PLUGIN_SHAPES:
        text = _replace(text, pattern, kind, kinds, lambda match, sha: not sha)
    text = _replace(text, _BASIC, "authorization", kinds, _names_a_user)
    text = _replace(text, _ASSIGNMENT, "assigned-secret", kinds, _assigns_a_secret)
    text = _replace(text, _PACKED, "packed-secret", kinds, _packs_a_secret)
    return Redacted(text, tuple(kinds))


def _names_a_user(match: re.Match[str], _sha: bool) -> bool:
    """Whether what follows the word Basic is base64 of `name:password`, however short."""
    try:
        return b":" in base64.b64decode(match[0].split()[1]).decode("utf-8").encode()
    except ValueError:
        return False


def _rejoined(match: re.Match[str], kinds: dict[str, None]) -> str:
    """A broken token replaced by one word, and the lines after it as they are."""
    wanted = _LENGTHS.get(match["begin"], 36)
    if match["begin"] == "ghs_" and re.search(r"[_.]", match["first"]):
        wanted = 1000  # the long form of an installation token carries a JWT
    length, end = len(match["first"]), 0
    for piece in _PIECE.finditer(match["more"]):
        mixed = any(c.isdigit() for c in piece[1]) or sum(map(str.isupper, piece[1])) > 1
        if length >= wanted or not (mixed or (len(piece[1]) >= _SHORTEST_PIECE and wanted == 36)):
            break
        length, end = length + len(piece[1]), piece.end()
    if length < min(wanted, 12) or not end:
        return match[0]
    kind = _KINDS.get(match["begin"], "api-key")
    kinds[kind] = None
    return f"[redacted:{kind}]{match['more'][end:]}"


def _packs_a_secret(match: re.Match[str], _sha: bool) -> bool:
    """Whether base64 or hexadecimal digits hold a text with a secret. Wide letters of a shell's packed command count
    as plain ones, and a letter that cannot be read spoils only itself.
    """
    packed = match[0].rstrip("=")
    try:
        if re.fullmatch(r"(?:0x)?(?:[0-9a-fA-F]{2})+", packed):
            insides = [bytes.fromhex(packed.removeprefix("0x"))]
        else:
            insides = []
        # One letter too many is no base64; what stands before it is.
        whole = packed[: len(packed) - (len(packed) % 4 == 1)].replace("-", "+").replace("_", "/")
        insides.append(base64.b64decode(whole + "=" * (-len(whole) % 4)))
    except ValueError:
        return False
    return any(_holds_a_secret(inside.replace(b"\0", b"").decode("utf-8", "replace")) for inside in insides)


def _holds_a_secret(text: str) -> bool:
    # Most of what has the form of base64 is a path or a word; unpacked, it is noise.
    if sum(not " " <= letter <= "~" for letter in text) > len(text) // 3:
        return False
    if any(shape.pattern.search(text) for shape in _SHAPES if shape.kind != "session-link"):
        return True
    return any(_assigns_a_secret(match, False) for match in _ASSIGNMENT.finditer(text))


def _replace(
    text: str,
    pattern: re.Pattern[str],
    kind: str,
    kinds: dict[str, None],
    wanted: Callable[[re.Match[str], bool], bool],
) -> str:
    """Replaces the value a pattern finds (its last filled group, else all of it) where it is `wanted`, which is told
    whether the value touches a SHA.
    """
    if not pattern.search(text):
        return text
    shas = [sha.span() for sha in SHA.finditer(text)]
    pieces: list[str] = []
    at = 0
    for match in pattern.finditer(text):
        start, end = match.span(match.lastindex or 0)
        if start == end or start < at or not wanted(match, any(s < end and start < e for s, e in shas)):
            continue
        pieces += (text[at:start], f"[redacted:{kind}]")
        at = end
        kinds[kind] = None
    return "".join((*pieces, text[at:]))


def _assigns_a_secret(match: re.Match[str], sha: bool) -> bool:
    """Prose and code are full of `token: expired` and `password=None`; a secret looks like one. A SHA is one only where
    a name that speaks of nothing else is given it: `API_TOKEN=`, `password:`; not `token: ` in a sentence.
    """
    name, value = match["name"].lower(), match[match.lastindex or 0]
    if value.startswith(("$", "%")) or "redacted" in value:
        return False
    if sha:
        before = match.string[max(match.start() - 1, 0) : match.start()]
        compound = bool(before) and (before.isalnum() or before in "_-")
        alone = name == "token" and match["sign"] == ":" and not compound
        return bool(_HEX.fullmatch(value)) and not alone and not _OF_A_COMMIT.search(match["rest"])
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    if "pass" in name or name.endswith(("pwd", "pw")):
        spaced = " " in value.strip()
        return mixed or spaced or (match["sign"] == "=" and value.lower() not in {"none", "null", "true", "false"})
    return mixed and len(value) >= 8 and " " not in value
