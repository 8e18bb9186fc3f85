"""The npm packages of tests/npm, for clients that are started from here."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_SPEC = importlib.util.spec_from_file_location("npm_packages", Path(__file__).parent.parent / "npm" / "packages.py")
assert _SPEC is not None
assert _SPEC.loader is not None
packages = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(packages)
