"""The credential helper: the token for one repository, for nobody else, and only from the environment."""

from pathlib import Path

import pytest

from app.agent import credential
from tests.agent.conftest import TICKET, USER_TOKEN, World


@pytest.fixture
def here(world: World) -> Path:
    folder = world.folder("agent")
    assert world.run(folder, "claim", str(TICKET)).code == 0
    return folder


def request(world: World, **changes: str) -> str:
    fields = {"protocol": "http", "host": world.service.url.removeprefix("http://"), "path": "acme/shop.git", **changes}
    return "".join(f"{name}={value}\n" for name, value in fields.items()) + "\n"


def test_the_repository_of_the_lease_gets_it(world: World, here: Path) -> None:
    (here / "deep" / "inside").mkdir(parents=True)
    answer = credential.answer(request(world), here / "deep" / "inside", {"GITHUB_TOKEN": USER_TOKEN})
    assert answer == f"username=x-access-token\npassword={USER_TOKEN}\n"


@pytest.mark.parametrize(
    "changes",
    [
        {"host": "github.example"},
        {"host": "127.0.0.1"},
        {"host": "127.0.0.1:1"},
        {"protocol": "https"},
        {"protocol": "ftp"},
        {"path": "acme/other.git"},
        {"path": ""},
        {"path": "acme/shop.git/../other.git"},
    ],
)
def test_nobody_else_gets_it(world: World, here: Path, changes: dict[str, str]) -> None:
    assert credential.answer(request(world, **changes), here, {"GITHUB_TOKEN": USER_TOKEN}) == ""


def test_a_token_that_would_add_lines_is_not_handed_out(world: World, here: Path) -> None:
    assert credential.answer(request(world), here, {"GITHUB_TOKEN": "ghp_x\nhost=evil.example"}) == ""


def test_without_a_lease_or_a_token_there_is_no_answer(world: World, here: Path, tmp_path: Path) -> None:
    assert credential.answer(request(world), tmp_path, {"GITHUB_TOKEN": USER_TOKEN}) == ""
    assert credential.answer(request(world), here, {}) == ""


def test_storing_and_erasing_do_nothing(world: World, here: Path) -> None:
    before = sorted(path.name for path in (here / ".agent-recovery").iterdir())
    for operation in ("store", "erase"):
        done = world.run(here, "git-credential", operation)
        assert (done.code, done.out) == (0, "")
    assert sorted(path.name for path in (here / ".agent-recovery").iterdir()) == before


def test_the_services_git_endpoint_gets_the_lease_token(world: World, here: Path, tmp_path: Path) -> None:
    of_service = request(world, path="git/acme/shop.git")
    kept = f"username=agent\npassword={world.service.lease_token}\n"
    assert credential.answer(of_service, here, {}) == kept
    assert credential.answer(of_service, here, {"GITHUB_TOKEN": USER_TOKEN}) == kept
    handed = {"AGENT_RECOVERY_LEASE_TOKEN": "arl_handed"}
    assert credential.answer(of_service, here, handed) == "username=agent\npassword=arl_handed\n"
    # The user's own token never goes there, the lease token never to GitHub.
    assert world.service.lease_token not in credential.answer(request(world), here, {})
    where = {"AGENT_RECOVERY_URL": world.service.url, "AGENT_RECOVERY_REPO": "acme/shop"}
    assert credential.answer(of_service, tmp_path, where | handed) == "username=agent\npassword=arl_handed\n"
    for changes in ({"host": "git.example"}, {"protocol": "https"}, {"path": "git/acme/other.git"}, {"path": "git"}):
        assert (
            credential.answer(request(world, **{"path": "git/acme/shop.git", **changes}), tmp_path, where | handed)
            == ""
        )
    assert credential.answer(of_service, tmp_path, where) == ""
    assert credential.answer(of_service, tmp_path, handed) == ""
    plain = {"AGENT_RECOVERY_URL": "http://git.example", "AGENT_RECOVERY_REPO": "acme/shop"} | handed
    assert credential.answer(request(world, host="git.example", path="git/acme/shop.git"), tmp_path, plain) == ""


def test_git_gets_the_token_from_the_helper_only(world: World) -> None:
    here = world.folder("agent")
    world.run(here, "recover", str(TICKET))
    config = (here / ".git" / "config").read_text()
    assert USER_TOKEN not in config
    assert "git-credential" in config
    world.git(here, "fetch", "origin")  # the stand-in refuses everything without the token
