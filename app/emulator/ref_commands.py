"""Which refs a request asks to move, whatever becomes of it: by a push, or by the `updateRefs` mutation."""

from __future__ import annotations

import contextlib
import gzip
import json

from app.emulator.routing import Request
from app.emulator.smart_http import parse_commands


def ref_commands(request: Request, kind: str, operations: list[str]) -> list[str]:
    """Each as ``old new name``; an old value that was left out is ``-``."""
    if kind == "git" and request.path.endswith("/git-receive-pack"):
        body = gzip.decompress(request.raw) if request.headers.get("content-encoding") == "gzip" else request.raw
        return [f"{c.old} {c.new} {c.name}" for c in parse_commands(body)]
    if any(operation.lower() == "updaterefs" for operation in operations):
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            inputs = [v for v in json.loads(request.raw)["variables"].values() if "refUpdates" in v]
            updates = [u for given in inputs for u in given["refUpdates"]]
            return [f"{u.get('beforeOid') or '-'} {u['afterOid']} {u['name']}" for u in updates]
    return []
