"""What the user sees: short text for people, JSON for programs, and never a secret.

Wanted property: a line of ours stays one line. Names, labels, reasons and git's words come from elsewhere; nothing in
them begins a line of its own, so nobody but this program can say "next:".

Every command runs inside `reporting`: an expected refusal becomes code, message and next action with the exit code
that goes with it, never a traceback.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from app.agent.environment import ID_TOKEN_SECRET
from app.domain.checkpoint import Change
from app.domain.outcome import Blocked, Code, Exit, Refused, exit_code
from app.domain.plain_text import clean, one_line, shorten

_TOKENS = re.compile(
    r"arl_[A-Za-z0-9_.\-]+|gh[opsur]_[A-Za-z0-9_.\-]{10,}|github_pat_[A-Za-z0-9_]{10,}"
    r"|eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]+"
)
_URL_CREDENTIALS = re.compile(r"(?<=://)[^/\s@\"\\]+@")
# Terminal escapes, other control characters, and characters that reorder or hide text; new lines and tabs stay.
_UNPRINTABLE = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ud800-\udfff\ufeff]"
)
_LONGEST_LINE = 2000
"""Bytes of one line of output: git's words and the commands that go on fit, a flood does not."""


class DetailedRefusal(Refused):
    """A refusal with facts beside it, such as the foreign commits it speaks of."""

    def __init__(self, blocked: Blocked, details: dict[str, Any], lines: tuple[str, ...]) -> None:
        super().__init__(blocked)
        self.details = details
        self.lines = lines


def scrub(text: str) -> str:
    """The text without anything that looks like a token, and without this environment's own tokens."""
    for name in ("GITHUB_TOKEN", "AGENT_RECOVERY_LEASE_TOKEN", ID_TOKEN_SECRET):
        secret = os.environ.get(name, "").strip()
        if len(secret) >= 8:
            text = text.replace(secret, f"[{name}]")
    return _URL_CREDENTIALS.sub("", _TOKENS.sub("[token]", text))


def printable(text: str) -> str:
    """Text of others with its lines, safe for a terminal."""
    return clean(_UNPRINTABLE.sub("", text))


def line(text: str) -> str:
    """One line of bounded length: nothing that came from elsewhere begins a line, hides or reverses anything."""
    # A line end counts before escapes are taken out: what stood on two lines is not joined into one word.
    spaced = " ".join(_UNPRINTABLE.sub("", part) for part in re.split("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", text))
    return shorten(scrub(one_line(spaced)), _LONGEST_LINE)[0]


def say(text: str) -> None:
    """One line of output for people, on stdout."""
    print(line(text))


def warn(text: str) -> None:
    """A remark beside the output, one line on stderr."""
    print(line(f"warning: {text}"), file=sys.stderr)


def plain_markdown(text: str) -> None:
    """A Markdown text as it is."""
    print(scrub(printable(text)))


def markdown(text: str) -> None:
    """A Markdown text: rendered on a terminal, as it is elsewhere."""
    if not sys.stdout.isatty():
        plain_markdown(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(scrub(printable(text)), hyperlinks=False))


def changes(made: tuple[Change, ...]) -> None:
    """What admission did to a checkpoint, one line each."""
    for change in made:
        say(f"changed: {change.field} {change.kind}: {change.detail}")


def data(value: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    print(scrub(json.dumps(value, indent=2, ensure_ascii=True)))


@contextmanager
def reporting(as_json: bool) -> Iterator[None]:
    """Turns what a command raises into its message and exit code."""
    try:
        yield
    except Refused as refused:
        _report(refused, as_json)
        raise SystemExit(exit_code(refused.blocked.code)) from None
    except BrokenPipeError:
        raise  # standard output's, and told where the program ends
    except OSError as error:
        about = f" ({error.filename})" if error.filename else ""
        blocked = Blocked(Code.USAGE, f"{error.strerror or type(error).__name__}{about}", "mend that and try again")
        _report(Refused(blocked), as_json)
        raise SystemExit(Exit.USAGE) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _report(refused: Refused, as_json: bool) -> None:
    blocked = refused.blocked
    details = refused.details if isinstance(refused, DetailedRefusal) else {}
    if as_json:
        data(
            {
                "error": {
                    "code": str(blocked.code),
                    "message": line(blocked.reason),
                    "next_action": line(blocked.remedy),
                    "retryable": blocked.retryable,
                    "holder": None if blocked.holder is None else line(blocked.holder),
                    "generation": blocked.generation,
                    **details,
                }
            }
        )
        return
    lines = [f"refused ({blocked.code}): {blocked.reason}"]
    if isinstance(refused, DetailedRefusal):
        lines += refused.lines
    if blocked.holder and blocked.generation is not None:
        lines.append(f"holder: {blocked.holder} (generation {blocked.generation})")
    lines.append(f"next: {blocked.remedy}")
    for text in lines:
        # What stands in is ours; everything behind it is one line.
        indent = text[: len(text) - len(text.lstrip(" "))]
        print(indent + line(text), file=sys.stderr)
