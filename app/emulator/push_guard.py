"""Pushes against what guards branches and tags: judged before git takes them, refused by git with GitHub's words.

A push to a guarded ref has its objects stored first, as far as they are new, so that the rules can look at them. An
update hook then refuses the refs that were judged, and git's report is given GitHub's reason for each.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.emulator import workflow_guard
from app.emulator.acts.active_rules import active_rules
from app.emulator.acts.ref_rules import bypassed_violations, ref_violations
from app.emulator.pkt import FLUSH, after_flush, banded, pkt, pkt_lines
from app.emulator.repos import ZERO, RefChange, git_env
from app.emulator.routing import Request
from app.emulator.state import Repository

_HEX_NAME = re.compile(r"refs/(?:heads|tags)/[0-9a-fA-F]{40}\Z")
_HEX_NAMES = "error: GH002: Sorry, branch or tag names consisting of 40 hex characters are not allowed.\n"
_HOOK = f"""#!/bin/sh
if [ -f "$EMULATOR_VERDICTS/$1" ]; then
  cat "$EMULATOR_VERDICTS/$1" >&2
  exit 1
fi
[ -f "$EMULATOR_VERDICTS/bypassed/$1" ] && cat "$EMULATOR_VERDICTS/bypassed/$1" >&2
[ -n "$EMULATOR_PUSHER" ] || exit 0
{workflow_guard.SCRIPT}"""


@dataclass
class PushGuard:
    """The judgement of one push: the reasons of refused refs, and how git is told."""

    options: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    folder: Path | None = None

    def worded(self, output: bytes) -> bytes:
        """receive-pack's answer with GitHub's reasons in its report."""
        left_by_hook = self.folder / "reasons" if self.folder is not None else None
        if left_by_hook is not None:
            files = [f for f in left_by_hook.rglob("*") if f.is_file()]
            self.reasons |= {str(f.relative_to(left_by_hook)): f.read_text(encoding="utf-8").strip() for f in files}
        if not self.reasons:
            return output
        lines = pkt_lines(output)
        if not lines or lines[0][:1] not in (b"\x01", b"\x02"):
            return b"".join(pkt(self._reworded(line)) for line in lines) + FLUSH
        report = b"".join(line[1:] for line in lines if line[:1] == b"\x01")
        reworded = b"".join(pkt(self._reworded(line)) for line in pkt_lines(report)) + FLUSH
        told = b"".join(pkt(line) for line in lines if line[:1] != b"\x01")
        return told + banded(b"\x01", reworded) + FLUSH

    def _reworded(self, line: bytes) -> bytes:
        verb, _, rest = line.rstrip(b"\n").partition(b" ")
        reason = self.reasons.get(rest.partition(b" ")[0].decode(errors="replace"))
        if verb != b"ng" or reason is None or not rest.endswith(b" hook declined"):
            return line
        return b"ng " + rest.partition(b" ")[0] + b" " + reason.encode() + b"\n"

    def close(self) -> None:
        """Forget the judgement."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


async def judge(request: Request, repo: Repository, commands: Sequence[RefChange], body: bytes) -> PushGuard:
    """Judge all commands of a push. The caller closes what it gets."""
    guard = PushGuard()
    pusher = workflow_guard.push_env(request.identity, repo)
    guarded = [c for c in commands if _is_guarded(repo, c.name)]
    unwanted = [c.name for c in commands if c.new != ZERO and _HEX_NAME.match(c.name) and repo.git.ref(c.name) is None]
    if not pusher and not guarded and not unwanted:
        return guard
    guard.folder = _new_folder(request.world.data_dir)
    verdicts, reasons = guard.folder / "verdicts", guard.folder / "reasons"
    guard.options = ["-c", f"core.hooksPath={_hooks(request.world.data_dir)}"]
    guard.env = pusher | {"EMULATOR_VERDICTS": str(verdicts), "EMULATOR_REASONS": str(reasons)}
    if unwanted:
        guard.reasons = _declined(verdicts, unwanted, commands)
    elif guarded:
        await _store(repo, _pack_of(body))
        guard.reasons = _judge_refs(verdicts, request, repo, guarded)
    return guard


def _declined(verdicts: Path, unwanted: Sequence[str], commands: Sequence[RefChange]) -> dict[str, str]:
    """A push with a branch or tag that looks like an object is declined as a whole (astral-sh/uv#10779)."""
    names = [f'error: Invalid branch or tag name "{name.split("/", 2)[2]}"\n' for name in unwanted]
    for change in commands:
        _write(verdicts / change.name, "")
    _write(verdicts / commands[0].name, _HEX_NAMES + "".join(names))
    return {change.name: "pre-receive hook declined" for change in commands}


def _judge_refs(verdicts: Path, request: Request, repo: Repository, guarded: Sequence[RefChange]) -> dict[str, str]:
    """The reasons of refused refs; what the pusher is told of each lies under ``verdicts``."""
    refused: dict[str, str] = {}
    world, actor = request.world, request.identity.actor
    for change in guarded:
        if repo.git.ref(change.name) not in (change.old, None):
            continue  # the branch moved on, which git itself will say
        found = ref_violations(world, repo, change, actor)
        bypassed = bypassed_violations(world, repo, change, actor) if found is None else None
        if found is not None:
            refused[change.name] = found.push_reason
            _write(verdicts / change.name, found.push_text(f"{world.url}/{repo.full_name}"))
        elif bypassed is not None:
            _write(verdicts / "bypassed" / change.name, bypassed.bypass_text)
    return refused


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _is_guarded(repo: Repository, ref: str) -> bool:
    return bool(active_rules(repo, ref)) or ref.removeprefix("refs/heads/") in repo.guard.protections


def _pack_of(body: bytes) -> bytes:
    rest = after_flush(body)
    if not rest.startswith(b"PACK") and b"push-options" in b"".join(pkt_lines(body)[:1]):
        rest = after_flush(rest)
    return rest


async def _store(repo: Repository, pack: bytes) -> None:
    """Store the objects of a pack; a broken one is left to receive-pack to complain about."""
    if not pack.startswith(b"PACK"):
        return
    process = await asyncio.create_subprocess_exec(
        "git",
        "index-pack",
        "--stdin",
        "--fix-thin",
        cwd=repo.git.path,
        env=git_env(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    await process.communicate(pack)


def _new_folder(data_dir: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix="push-", dir=data_dir)).resolve()


def _hooks(data_dir: Path) -> Path:
    """The folder with the hook, made when it is first needed."""
    folder = data_dir / "hooks"
    if not (folder / "update").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "update").write_text(_HOOK, encoding="utf-8")
        (folder / "update").chmod(0o755)
    return folder.resolve()
