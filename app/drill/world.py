"""The world of a story: an emulated GitHub, the service beside it, people with tokens, a repository with a ticket.

Everything is a real process on the loopback. Folders: one for GitHub, one for the service, one for each agent.
"""

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import httpx

from app.drill.door import Door
from app.drill.observer import AppIdentity, Observer
from app.drill.orchard import CHECK_PROGRAM, POLICY_TEXT
from app.drill.people import People, Person
from app.drill.processes import StoryProcess, StoryStopped, clean_environment
from app.drill.proof import Attempt
from app.drill.proofs_of_landing import CI
from app.drill.proofs_of_work import LIST_OF_REFS, POLICY
from app.emulator.client import Emulator
from app.service.keys import new_keys

OWNER, NAME = "acme", "orchard"
REPOSITORY = f"{OWNER}/{NAME}"
SLUG = "agent-recovery"
DEFAULT_BRANCH, TRUNK = "main", "release-1-2-0"
TICKET = 42
TITLE = "Ripen the apples"
BRANCH = "ticket/42-ripen-the-apples"
STEPS = (
    "Count the trees",
    "Water the roots",
    "Prune the crowns",
    "Chase the starlings away",
    "Measure the sugar",
    "Write the harvest plan",
)
PERMISSIONS = {
    "metadata": "read",
    "actions": "write",
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "write",
    "deployments": "read",
}
EVENTS = [
    "check_run",
    "create",
    "delete",
    "issue_comment",
    "issues",
    "pull_request",
    "push",
    "repository",
    "workflow_run",
]
ISSUE_BODY = "The orchard needs these steps, in this order:\n\n" + "\n".join(f"- [ ] {step}" for step in STEPS) + "\n"

QUIET_S = 0.5
"""With no ticket waiting and no request for so long, no round is running either."""


class World:
    """Starts everything, and stops what it started. `folder` is the caller's to keep or to remove."""

    title, issue_body = TITLE, ISSUE_BODY
    files: ClassVar[Mapping[str, str]] = {
        "README.md": "# The orchard\n",
        "tools/check.py": CHECK_PROGRAM,
        POLICY: POLICY_TEXT,
    }
    """What stands in the repository from the start."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._agents: list[StoryProcess] = []
        self._replicas: list[StoryProcess] = []
        self._ci_token: str | None = None
        self.service: StoryProcess | None = None
        self.door: Door | None = None
        self.emulator = Emulator.start(folder / "github")
        self.people = People(self.emulator, REPOSITORY)
        try:
            self._furnish()
        except BaseException:
            self.stop()
            raise

    def _furnish(self) -> None:
        github = self.emulator
        self.author = self._person("olive")
        self.observer_person = self._person("observer")
        self.first, self.second, self.third = (self._person(f"worker-{n}") for n in ("one", "two", "three"))
        github.org(OWNER)
        github.repo(
            OWNER,
            NAME,
            files=self.files,
            default_branch=DEFAULT_BRANCH,
            branches={TRUNK: None},
            collaborators={
                self.author.login: "admin",
                self.observer_person.login: "read",
                **{p.login: "write" for p in (self.first, self.second, self.third)},
            },
        )
        self.keys = new_keys()
        self.port = _free_port()
        self.service_url = f"http://127.0.0.1:{self.port}"
        made = github.app(
            SLUG,
            permissions=PERMISSIONS,
            events=EVENTS,
            webhook_url=f"{self.service_url}/webhook",
            webhook_secret=self.keys.webhook_secret,
        )
        self.app = AppIdentity(id=int(made["id"]), slug=SLUG, private_key=made["pem"])
        self._ci = github.app(CI, permissions={"metadata": "read", "checks": "write"})
        for number in range(1, TICKET):
            github.issue(REPOSITORY, f"Tree {number} looks thirsty", author=self.author.login)
        issue = github.issue(REPOSITORY, self.title, body=self.issue_body, author=self.author.login)
        if issue["number"] != TICKET:
            raise StoryStopped(f"the ticket became #{issue['number']}, not #{TICKET}")
        self.clone_url = f"{github.url}/{REPOSITORY}.git"
        self.door = Door(self.service_url, self.requests_served)
        self.observer = Observer(
            api_url=f"{github.url}/api/v3",
            clone_url=self.clone_url,
            repository=REPOSITORY,
            token=self.observer_person.token,
            folder=self.folder / "observer.git",
        )

    def _person(self, login: str) -> Person:
        made = self.emulator.user(login)
        return Person(login, made["token"])

    # The App

    def install(self) -> None:
        """Installs the App on the repository, as its owner would."""
        self.emulator.installation(SLUG, OWNER, [NAME])

    @property
    def database(self) -> Path:
        return self.folder / "service" / "agent-recovery.db"

    def start_service(self, **settings: str) -> StoryProcess:
        """Starts the service and waits until it answers. `settings` are further `AGENT_RECOVERY_…` variables."""
        self.service = self._serve("service", self.port, settings)
        return self.service

    def start_replica(self) -> str:
        """Starts one more service of the same App with a database of its own: it shares only GitHub. Its URL."""
        port = _free_port()
        self._replicas.append(self._serve(f"replica-{len(self._replicas) + 1}", port, {}))
        return f"http://127.0.0.1:{port}"

    def _serve(self, name: str, port: int, settings: dict[str, str]) -> StoryProcess:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        key = folder / "app.pem"
        if not key.exists():
            key.touch(mode=0o600)
            key.write_text(self.app.private_key, "utf-8")
        url = f"http://127.0.0.1:{port}"
        service = StoryProcess(
            f"the {name}",
            [sys.executable, "-m", "app.cli", "serve"],
            cwd=folder,
            env=self._service_environment(
                folder, AGENT_RECOVERY_PUBLIC_URL=url, AGENT_RECOVERY_PORT=str(port), **settings
            ),
            log=self.folder / f"{name}.log",
        )
        try:
            _wait_for_answer(service, url)
        except BaseException:
            service.kill()
            raise
        return service

    def _service_environment(self, folder: Path, **settings: str) -> dict[str, str]:
        return clean_environment(
            **self.keys.settings(),
            AGENT_RECOVERY_APP_ID=str(self.app.id),
            AGENT_RECOVERY_APP_PRIVATE_KEY_FILE=str(folder / "app.pem"),
            AGENT_RECOVERY_GITHUB_URL=f"{self.emulator.url}/api/v3",
            AGENT_RECOVERY_DATABASE_URL=f"sqlite:///{folder}/{self.database.name}",
            **settings,
        )

    def operate(self, *arguments: str) -> Attempt:
        """Runs `agent-recovery …` as the operator, beside the service; what came of it."""
        folder = self.folder / "service"
        environment = self._service_environment(folder)
        return self._run(
            environment, folder, [sys.executable, "-m", "app.cli", *arguments], "agent-recovery", arguments
        )

    def wait_until_idle(self, within: float = 40.0) -> None:
        """Until the service has no ticket to look at, now or later. Raises StoryStopped when that never comes."""
        deadline = time.monotonic() + within
        last, since = -1, time.monotonic()
        with httpx.Client(base_url=self.service_url, trust_env=False, verify=False, timeout=10) as http:
            while time.monotonic() < deadline:
                waiting = "agent_recovery_pokes_waiting 0.0" not in http.get("/metrics").text
                served = self.requests_served()
                if waiting or served != last:
                    last, since = served, time.monotonic()
                elif time.monotonic() - since > QUIET_S:
                    return
                time.sleep(0.05)
        raise StoryStopped(f"the service was still at work after {within:.0f} s")

    def lose_service(self) -> int:
        """SIGKILL to the service, then its database goes. The exit code it ended with."""
        assert self.service is not None
        code = self.service.kill()
        for leftover in self.database.parent.glob(f"{self.database.name}*"):
            leftover.unlink()
        return code

    # Agents

    def agent_environment(self, person: Person) -> dict[str, str]:
        """All that an agent knows: the service's URL, the repository, and a GitHub user token of its own."""
        assert self.door is not None
        return clean_environment(
            AGENT_RECOVERY_URL=self.door.url,
            AGENT_RECOVERY_REPO=REPOSITORY,
            GITHUB_TOKEN=person.token,
        )

    def start_agent(self, name: str, person: Person, ticket: int = TICKET) -> tuple[StoryProcess, Path]:
        """Starts an agent in an empty folder of its own. The process and the folder."""
        workspace = self.folder / name.replace(" ", "-")
        workspace.mkdir()
        agent = StoryProcess(
            f"the {name}",
            [sys.executable, "-m", "app.drill.scripted_agent", str(ticket)],
            cwd=workspace,
            env=self.agent_environment(person),
            log=self.folder / f"{workspace.name}.log",
        )
        self._agents.append(agent)
        return agent, workspace

    def command(self, person: Person, workspace: Path, *arguments: str) -> Attempt:
        """Runs `agent-recovery …` as a person, in a workspace; what came of it."""
        environment = self.agent_environment(person)
        return self._run(
            environment, workspace, [sys.executable, "-m", "app.cli", *arguments], "agent-recovery", arguments
        )

    def git(self, person: Person, workspace: Path, *arguments: str) -> Attempt:
        """Runs git as a person, in a workspace, with that person's own token; what came of it."""
        identity = ("-c", f"user.name={person.login}", "-c", f"user.email={person.login}@example.com")
        environment = self.agent_environment(person)
        return self._run(environment, workspace, ["git", *identity, *arguments], "git", arguments)

    def _run(
        self, environment: dict[str, str], folder: Path, command: list[str], program: str, arguments: tuple[str, ...]
    ) -> Attempt:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Attempt(f"{program} {' '.join(arguments)}", done.returncode, f"{done.stdout}\n{done.stderr}".strip())

    # What people and others' machines do

    def say_policy(self, text: str, message: str) -> None:
        """The repository's owner commits the policy to the default branch."""
        self.emulator.commit(
            REPOSITORY, {POLICY: text}, branch=DEFAULT_BRANCH, author=self.author.login, message=message
        )

    def open_issue(self, title: str, body: str) -> int:
        """The owner opens an Issue; its number."""
        return int(self.emulator.issue(REPOSITORY, title, body=body, author=self.author.login)["number"])

    def work_by_hand(self, person: Person, branch: str, files: dict[str, str], message: str) -> str:
        """A person puts a new branch with one commit onto the trunk, without the App's leave; its head."""
        made = {"ref": f"refs/heads/{branch}", "sha": self.observer.branch(TRUNK)}
        self.people.call(person, "POST", "git/refs", made)
        return self.people.push(person, branch, files, message)

    def pass_check(self, *heads: str) -> None:
        """The repository's CI, another App, reports success on these commits. Raises StoryStopped."""
        github = self.emulator
        if self._ci_token is None:
            made = github.installation(CI, OWNER, [NAME])
            self._ci_token = github.installation_token(self._ci, int(made["id"]))
        for head in heads:
            answer = httpx.post(
                f"{github.url}/api/v3/repos/{REPOSITORY}/check-runs",
                json={"name": CI, "head_sha": head, "status": "completed", "conclusion": "success"},
                headers={"authorization": f"Bearer {self._ci_token}"},
                trust_env=False,
                timeout=20,
            )
            if answer.status_code != 201:
                raise StoryStopped(f"the CI's result was not taken: {answer.status_code} {answer.text[:200]}")

    # GitHub's own books

    def requests_served(self) -> int:
        """The number of requests GitHub has served so far."""
        return int(self.emulator.counters()["total"])

    def app_requests(self, since: int, until: int | None = None) -> list[dict[str, Any]]:
        """What GitHub served to the App after request number `since`, up to and with `until`."""
        served = self.emulator.requests(since=since)
        return [
            r
            for r in served
            if r["identity"] == f"app:{SLUG}" and r["n"] > since and (until is None or r["n"] <= until)
        ]

    def reads_since(self, mark: int) -> list[str]:
        """The paths of what the App has read successfully after request number `mark`, lists of refs by git too."""
        served = [r for r in self.app_requests(mark) if r["status"] == 200]
        return [r["path"] for r in served if r["method"] == "GET" or r["path"].endswith(LIST_OF_REFS)]

    def pass_lease(self) -> None:
        """Moves GitHub's clock past a lease of the default length, its grace and its heartbeats."""
        self.emulator.advance(20 * 60)

    def stop(self) -> None:
        """Ends every process that this world started, agents first."""
        for agent in self._agents:
            if agent.exit_code is None:
                agent.kill()
        for service in (*self._replicas, self.service):
            if service is not None:
                service.stop()
        if self.door is not None:
            self.door.close()
        self.emulator.stop()


def _wait_for_answer(service: StoryProcess, url: str, within: float = 20.0) -> None:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if service.exit_code is not None:
            raise StoryStopped(f"{service.name} did not start: {service.last_words()}")
        try:
            if httpx.get(f"{url}/healthz", trust_env=False, timeout=2).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.05)
    raise StoryStopped(f"{service.name} did not answer within {within:.0f} s: {service.last_words()}")


def _free_port() -> int:
    """A port that was free a moment ago: the service's address must be known before it starts, for its webhooks."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def new_folder() -> Path:
    """A new folder for a story, below the system's place for such."""
    base = Path(os.environ.get("TMPDIR", "/tmp"))
    folder = base / f"agent-recovery-demo-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    return folder
