"""How git is called here, and what its words mean.

Wanted properties: no configuration of this machine or this clone changes what our calls do, save what says how the
remote is reached (`url.*.insteadOf`, proxies, certificates, credential helpers); a failure keeps git's own words, on
one line and without credentials; whether a push may have happened is told apart from a refusal.
"""

import os
import re
from collections.abc import Sequence
from enum import StrEnum

QUIET = tuple(
    word
    for setting in (
        # No hook and no monitor runs: a repository's own may be anybody's, and a token is near.
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        # Ours to decide, not a configuration's: what a push sends and what a checkout touches.
        "push.gpgSign=false",
        "push.pushOption=",
        "remote.origin.mirror=false",
        "submodule.recurse=false",
        "fetch.prune=false",
        "fetch.pruneTags=false",
        "merge.verifySignatures=false",
        "color.ui=false",
        "color.push=false",
        "color.remote=false",
        "color.transport=false",
        "color.advice=false",
        "i18n.logOutputEncoding=UTF-8",
    )
    for word in ("-c", setting)
)
"""Stands before the command's name in every call."""

DIRECT = "agent-recovery-direct"
"""The name of the remote that `directly` describes."""


def directly(address: str) -> tuple[str, ...]:
    """Words before the command's name that make DIRECT the remote at `address`, and nothing else.

    A remote under a name that configurations know is what they all make of it together: git would fetch from the first
    `remote.origin.url` on this machine and push to each of them, or to a `pushurl`. An explicit address for pushes
    passes by `url.*.pushInsteadOf`, which would push elsewhere than what was read; `insteadOf` holds for both.
    """
    of = f"remote.{DIRECT}"
    # A push keeps the remembered heads of `origin` true: by them is told what was never published.
    settings = (f"{of}.url={address}", f"{of}.pushurl={address}", f"{of}.fetch=+refs/heads/*:refs/remotes/origin/*")
    return tuple(word for setting in settings for word in ("-c", setting))


_KEPT = re.compile(
    # Who the person is, how the remote is reached, where git and its configuration stand.
    r"GIT_(?:(?:AUTHOR|COMMITTER|SSL|SSH|PROXY|HTTP|CONFIG_KEY|CONFIG_VALUE)_\w+|SSH|CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM|COUNT)"
    r"|EXEC_PATH|ALLOW_PROTOCOL)"
)
"""Of git's own variables, those that our calls see. All others would send git to another repository, index or file of
settings (a hook or an alias that calls us sets several), or change what it says, which is read here.
"""
_LEFT_OUT = frozenset(("SSH_ASKPASS", "LANGUAGE"))
_CREDENTIAL = re.compile(r"(://)[^/\s@]*@|\b(?:gh[a-z]_|github_pat_|arl_)[A-Za-z0-9._-]+")
_LONGEST = 800


class Fault(StrEnum):
    """What kind of failure git told of."""

    UNHEARD = "unheard"
    """No answer, or an answer that may pass: of a push, the outcome is unknown."""
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    SERVICE = "service"
    """The service's git endpoint says no, names its reason as the agent API does, and says what to do."""
    DECLINED = "declined"
    """A rule or a hook of the remote says no to this ref."""
    CONTENT = "content"
    """The remote says no to what the commits hold."""
    NAME_TAKEN = "name_taken"
    """A branch of the remote leaves no room for this branch's name."""
    LOCAL = "local"
    """git cannot work here: its configuration, the folder, the disk."""
    OTHER = "other"

    @property
    def is_final(self) -> bool:
        """Whether nothing happened and the same call fails again until somebody mends something."""
        return self not in (Fault.UNHEARD, Fault.OTHER)


_MEANINGS = tuple(
    (fault, re.compile("|".join(words), re.IGNORECASE))
    for fault, words in (
        (
            Fault.SERVICE,
            (
                r"\b(?:stale_generation|ended|held|frozen|no_policy|mode_observe|writes_off|installation_suspended): ",
                r"\(forbidden: ",
                "unauthenticated: ",
            ),
        ),
        (Fault.CONTENT, ("GH001:", "exceeds GitHub's file size limit", "cannot contain secrets", "secret-scanning")),
        (
            Fault.DECLINED,
            (
                *("GH006:", "GH013:", "protected branch", "repository rule violations", "refusing to allow"),
                *("hook declined", "deny(?:ing)? updating", r"\[remote rejected\].*\((?:prohibited|denied|deny)"),
            ),
        ),
        (
            Fault.UNAUTHENTICATED,
            (
                *("Authentication failed", "could not read (?:Username|Password)", "Invalid username or"),
                *("returned error: 401", "HTTP 401", "Bad credentials", r"Permission denied \(publickey"),
            ),
        ),
        (
            Fault.FORBIDDEN,
            ("returned error: 403", "HTTP 403", "Permission to .* denied", "Write access to repository not granted"),
        ),
        (Fault.NOT_FOUND, ("Repository not found", "returned error: 404", "HTTP 404", "repository '.*' not found")),
        (
            Fault.LOCAL,
            (
                *("bad config", "bad numeric config", "bad boolean config", "invalid value for", "dubious ownership"),
                *("not a git repository", "transport '.*' not allowed", "unable to read (?:config|askpass)"),
                *("No space left", "Permission denied$", "insufficient permission", "read-only file system"),
                "remote helper",
            ),
        ),
        (
            Fault.UNHEARD,
            (
                *("returned error: (?:5|408|429)", "HTTP (?:5|408|429)", "unable to access", "could not resolve"),
                *("failed to connect", "couldn't connect", "connection (?:refused|reset|timed out|was)", "timed out"),
                *("recv failure", "send failure", "RPC failed", "hung up unexpectedly", "early EOF", "empty reply"),
                *("unexpected disconnect", "did not answer in time", "failed to report status", "internal server"),
                *("bad line length", "bad band", "protocol error", "expected flush", "remote did not send all"),
                r"\((?:unavailable|unknown_outcome): ",
            ),
        ),
    )
)


def fault_of(said: str) -> Fault:
    """What git's words, spoken in the C locale, mean; the remote's own among them count where they say no."""
    return next((fault for fault, pattern in _MEANINGS if pattern.search(said)), Fault.OTHER)


def git_environment(**more: str) -> dict[str, str]:
    """For git: it never asks a person, speaks English, and looks at no other repository than it is sent to."""
    kept = {name: value for name, value in os.environ.items() if _is_kept(name)}
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "LC_ALL": "C", **more}


def _is_kept(name: str) -> bool:
    return _KEPT.fullmatch(name) is not None if name.startswith("GIT_") else name not in _LEFT_OUT


def git_words(lines: Sequence[str]) -> str:
    """The lines that tell why, or all where none does: on one line, without credentials, of bounded length."""
    telling = [line for line in lines if line.startswith(("fatal:", "error:", "remote:", "!"))] or list(lines)
    said = [line.strip() for line in telling if line.strip() not in ("", "remote:")]
    return plain_line(_CREDENTIAL.sub(r"\1", " / ".join(dict.fromkeys(said))), _LONGEST)


def plain_line(text: str, longest: int = 200) -> str:
    """Strangers' text as one line without control characters, at most `longest` characters."""
    return "".join(c for c in text.strip("\n")[:longest] if c.isprintable())
