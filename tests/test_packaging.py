"""What a fresh machine gets: locked dependencies, an image of files that exist, a CI that does what the README says."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.service.settings import PREFIX, SECRETS, Settings

ROOT = Path(__file__).parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
DOCS = sorted([ROOT / "README.md", ROOT / "deploy/README.md", *(ROOT / "docs").rglob("*.md")])


def _instructions() -> list[tuple[str, str]]:
    text = (ROOT / "deploy/Dockerfile").read_text()
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#")).replace("\\\n", " ")
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines.splitlines() if line.strip()]


def _compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "deploy/compose.yml").read_text())
    return loaded


def test_there_are_four_locks() -> None:
    assert [lock.name for lock in LOCKS] == ["agent.lock", "all.lock", "build.lock", "server.lock"]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_pins_every_package_by_hash_and_names_no_address(lock: Path) -> None:
    text = lock.read_text()
    assert "://" not in text
    entries = [entry for entry in re.split(r"\n(?=\S)", text.strip()) if not entry.startswith("#")]
    unpinned = [e.splitlines()[0] for e in entries if "==" not in e.splitlines()[0] or "--hash=sha256:" not in e]
    assert unpinned == []


def test_the_npm_lock_pins_every_package_by_hash_and_names_no_address() -> None:
    text = (ROOT / "tests" / "npm" / "package-lock.json").read_text()
    packages = {name: package for name, package in json.loads(text)["packages"].items() if name}
    assert [name for name, package in packages.items() if not package.get("integrity")] == []
    assert "://" not in text


@pytest.mark.parametrize("name", ["agent.lock", "build.lock", "server.lock"])
def test_a_smaller_lock_has_the_versions_that_are_tested(name: str) -> None:
    def versions(lock: str) -> set[str]:
        return set(re.findall(r"^[a-z0-9][^ ;\\]*==\S+", (ROOT / "requirements" / lock).read_text(), re.MULTILINE))

    assert versions(name) - versions("all.lock") == set()


def test_the_image_has_two_stages_and_runs_as_nobody_in_particular() -> None:
    steps = _instructions()
    stages = [rest.split(" AS ")[1] for word, rest in steps if word == "FROM"]
    assert stages == ["build", "serve"]
    last = steps[max(i for i, (word, _) in enumerate(steps) if word == "FROM") :]
    assert [rest for word, rest in last if word == "USER"] == ["10001"]
    assert any(word == "HEALTHCHECK" and "/healthz" in rest for word, rest in last)
    assert [rest for word, rest in last if word == "CMD"] == [
        '["agent-recovery", "serve", "--host", "0.0.0.0", "--port", "8080"]'
    ]
    assert not [word for word, _ in steps if word == "ADD"]


def test_what_the_image_copies_exists_and_reaches_the_builder() -> None:
    allowed = re.findall(r"^!(\S+)", (ROOT / "deploy/Dockerfile.dockerignore").read_text(), re.MULTILINE)
    copies = [shlex.split(rest)[:-1] for word, rest in _instructions() if word == "COPY" and "--from" not in rest]
    sources = [source for copy in copies for source in copy]
    assert "app" in sources
    assert [s for s in sources if not (ROOT / s).exists() or s.split("/")[0] not in allowed] == []


def test_the_image_installs_nothing_without_its_hash() -> None:
    installs = [c for word, rest in _instructions() if word == "RUN" for c in rest.split("&&") if "pip install" in c]
    assert len(installs) == 3
    assert [c for c in installs if "--require-hashes" not in c and "--no-deps" not in c] == []


def test_compose_gives_the_service_every_secret_as_a_file_and_no_other() -> None:
    compose = _compose()
    service = compose["services"]["service"]
    environment: dict[str, str] = service["environment"]
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    assert {name.removesuffix("_FILE") for name in environment} <= known
    files = {f"{PREFIX}{name.upper()}_FILE" for name in SECRETS}
    assert {name for name in environment if name.endswith("_FILE")} == files
    assert {environment[name].removeprefix("/run/secrets/") for name in files} == set(service["secrets"])
    given = set(service["secrets"]) | set(compose["services"]["database"]["secrets"])
    assert given == set(compose["secrets"])


def test_compose_publishes_the_service_on_this_machine_only_and_the_database_not_at_all() -> None:
    services = _compose()["services"]
    assert services["service"]["ports"] == ["127.0.0.1:8080:8080"]
    assert "ports" not in services["database"]
    assert services["service"]["depends_on"]["database"]["condition"] == "service_healthy"


def test_ci_runs_the_commands_of_the_readme_and_leaves_no_test_out() -> None:
    script = (ROOT / ".ci/run").read_text()
    assert re.findall(r"^make \w+$", script, re.MULTILINE) == ["make test", "make demo"]
    makefile = (ROOT / "Makefile").read_text()
    assert re.findall(r"\$\(PYTEST\) -m (.+)$", makefile, re.MULTILINE) == ['"not drill"', "drill $(DRILLS)"]
    # The files of the long tests are found by the word with which tests are marked.
    marking = {path.name for path in (ROOT / "tests").rglob("*.py") if "mark.drill" in path.read_text("utf-8")}
    assert "grep -rlF mark.drill tests --include='test_*.py'" in makefile
    assert [name for name in marking if not name.startswith("test_")] == []
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert {"run": "bash .ci/run"} in workflow["jobs"]["test"]["steps"]
    assert {"run": "make drills"} in workflow["jobs"]["drills"]["steps"]


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_named_files_of_a_page_exist(page: Path) -> None:
    text = page.read_text()
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    missing = [link for link in links if link and not (page.parent / link).exists()]
    named = re.findall(r"`((?:controller|domain|ledger|github|service|agent|drill|emulator)/[a-z_/]+\.py)`", text)
    missing += [name for name in named if not (ROOT / "app" / name).exists()]
    assert missing == []


@pytest.mark.parametrize("page", [p for p in DOCS if p.parts[-2] != "decisions"], ids=lambda p: p.name)
def test_make_targets_that_a_page_names_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", page.read_text())) <= targets


@pytest.mark.parametrize(
    ("command", "missing", "extra"),
    [("serve", "uvicorn", "server"), ("emulator", "pygit2", "emulator"), ("demo", "github", "server,emulator,drill")],
)
def test_a_command_of_an_extra_that_is_not_installed_says_which(command: str, missing: str, extra: str) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None; from app.cli import main; sys.argv[1:] = [{command!r}]; main()"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2
    assert f"needs {missing}, which is not installed" in ran.stderr
    assert f"pip install '.[{extra}]'" in ran.stderr
