"""The npm packages that the tests lean on: where they are, and why a test is skipped when they are not.

`make npm` installs exactly what package-lock.json names and then writes that file's checksum beside the packages;
packages of another lock file are as good as none.
"""

import hashlib
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"


@cache
def missing() -> str | None:
    """Why the packages cannot be used, in words for a skipped test; None when they are there."""
    stamp = MODULES / "installed"
    if not stamp.exists():
        return "the npm packages of tests/npm are not installed (make npm; it needs npm)"
    if stamp.read_text().strip() != hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest():
        return "the npm packages of tests/npm are older than their package-lock.json (make npm)"
    return None


needs_packages = pytest.mark.skipif(missing() is not None, reason=str(missing()))
