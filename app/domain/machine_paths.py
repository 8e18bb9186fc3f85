"""Paths of somebody's machine: those in the work tree become repository-relative, the others go.

A checkpoint must be usable on another machine, and a home path names its user. Not touched: paths inside URLs, routes
such as `/api/v1`, and what is relative already.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

REDACTED = "[redacted:path]"
MAX_ROOTS = 8

_END = r"[^\s\"'`<>|;,)\]}]"
# Where a path may begin: not inside a word or URL, but after an option letter as in `-I/home/…`.
_BEGIN = r"(?:(?<![A-Za-z0-9_.~%/@\\-])|(?<=\s-[A-Za-z])|(?<=--))"
_PLACES = r"home|Users|root|tmp|var|private|mnt|media|Volumes|workspaces?|builds|run/user|opt|srv|nix/store"
# Folders of sandboxes, containers and shared disks; some of them are words of routes as well, which have a method.
_ROUTE = "".join(rf"(?<!{method} )" for method in ("GET", "PUT", "POST", "HEAD", "PATCH", "DELETE", "OPTIONS"))
_SANDBOX = (
    r"(?:cygdrive|testbed|actions-runner|export/home|[A-Za-z]/Users)/|(?:data|scratch|nfs)/[\w.@-]{1,64}+/(?!\s)"
    r"|github/(?:workspace|home|workflow|runner_temp|file_commands)\b|__[wte](?![\w-])|vercel/path[0-9]"
)
# A space may stand in a folder's name, as in `Ada Lovelace` and `Application Support`: what follows it goes too if it
# looks like the rest of a name and a path goes on after it.
_NAME = r"(?:[A-Z][\w.'&-]{0,40}|v[ao]n|de[rnl]?|d[aio]|la|le|bin|al)"
_SPACED = rf"(?:(?<![.:!?])(?: {_NAME}){{1,4}}/{_END}*+){{0,20}}+"
_REST = rf"(?:{_END}|(?<=\\) )++{_SPACED}"
_POSIX = re.compile(
    rf"{_BEGIN}(?:/{{1,2}}(?:{_PLACES})/{_REST}"
    rf"|{_ROUTE}/{{1,2}}(?:{_SANDBOX})(?:{_END}|(?<=\\) )*+{_SPACED})"
)
# In a user's own folder the first name may be any words, if quotes or Apple's folder say that they belong together.
_WORD = r"[^\s/\"'`<>|]"
_USER = re.compile(
    rf"(?:(?<=[\"'`])/(?:home|Users)/{_WORD}{{1,60}}+(?: {_WORD}{{1,60}}+){{1,3}}(?=[/\"'`])"
    rf"|{_BEGIN}/Users/{_WORD}{{1,60}}+(?<![.:!?,;)]) (?!(?:and|or)/){_WORD}{{1,40}}+(?=/))(?:/{_END}*+{_SPACED})?"
)
_HOME = re.compile(rf"(?<![\w.~%/@:-])~[A-Za-z0-9_-]{{0,32}}/{_REST}")
_VARIABLE = re.compile(
    r"(?i)(?:(?<![\w$])\$(?:\{(?:HOME|TMPDIR|TEMP|TMP|USERPROFILE)(?::?[-=][^\s}]{0,200}+)?\}|(?:env:)?"
    r"(?:HOME|TMPDIR|TEMP|TMP|USERPROFILE|APPDATA|LOCALAPPDATA))|%(?:USERPROFILE|HOMEPATH|HOMEDRIVE%%HOMEPATH|APPDATA|"
    rf"LOCALAPPDATA|TEMP|TMP)%)[\\/]{_REST}"
)
_FILE_URL = re.compile(
    rf"(?i)(?<![A-Za-z0-9])(?:file:/|vscode(?:-[a-z]{{1,20}})?://|(?:ssh|sftp|scp)-remote\+){_END}++"
)
_WORDS = r"[^\\/:*?\"<>|\s]{1,60}(?: [^\\/:*?\"<>|\s]{1,60}){0,2}"
_DRIVE = re.compile(
    rf"(?<![A-Za-z0-9])(?:[A-Za-z]:\\|[A-Z]:/(?!/)|[A-Za-z]:/Users/)(?:[\\/]*{_WORDS}\\+){{0,20}}{_END}*+"
)
_DRIVE_USER = re.compile(rf"(?<![A-Za-z0-9])[A-Za-z]:[\\/]{{1,4}}Users[\\/]{{1,4}}{_WORDS}/{_END}*+")
_UNC = re.compile(rf"(?<![\w\\])\\\\{{1,3}}[A-Za-z0-9][A-Za-z0-9_.$-]{{0,60}}\\{_END}++")


@dataclass(frozen=True)
class Portable:
    """A text without machine paths; how many became relative, and how many were taken out."""

    text: str
    relative: int = 0
    removed: int = 0


def portable(text: str, roots: Sequence[str] = ()) -> Portable:
    """The text with paths below one of the absolute `roots` made relative to it and other machine paths replaced."""
    relative = removed = 0
    for pattern in _root_patterns(roots):
        text, found = pattern.subn(_below_root, text)
        relative += found
    for pattern in (_FILE_URL, _VARIABLE, _DRIVE_USER, _DRIVE, _UNC, _USER, _POSIX, _HOME):
        text, found = pattern.subn(REDACTED, text)
        removed += found
    return Portable(text, relative, removed)


def _root_patterns(roots: Sequence[str]) -> list[re.Pattern[str]]:
    patterns = []
    # The longest first: a work tree may lie inside another one.
    for root in sorted(set(roots), key=len, reverse=True)[:MAX_ROOTS]:
        parts = [part for part in re.split(r"[\\/]+", root) if part]
        drive = re.match(r"^[A-Za-z]:$", parts[0]) if parts else None
        if len(parts) < 2 or not (drive or root.startswith("/")):
            continue
        separator = r"[\\/]{1,4}" if drive else "/"
        begin = r"(?<![A-Za-z0-9])" if drive else rf"(?:file://|{_BEGIN})/"
        body = separator.join(re.escape(part) for part in parts)
        rest = rf"(?:{separator}(?P<rest>{_END}*+))?(?![A-Za-z0-9_.-])"
        patterns.append(re.compile(begin + body + rest, re.IGNORECASE if drive else 0))
    return patterns


def _below_root(match: re.Match[str]) -> str:
    rest = re.sub(r"\\+", "/", match["rest"] or "")
    # Climbing out of the work tree is another machine path.
    return (rest or ".") if ".." not in rest.split("/") else REDACTED
