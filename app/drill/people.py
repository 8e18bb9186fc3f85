"""What people do on GitHub by themselves, each with a token of their own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from app.drill.processes import StoryStopped
from app.drill.proof import Attempt
from app.emulator.client import Emulator

_READY = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"


@dataclass(frozen=True)
class Person:
    login: str
    token: str


class People:
    """Their calls to one repository. All raise StoryStopped where GitHub refuses, save attempts."""

    def __init__(self, github: Emulator, repository: str) -> None:
        self._github = github
        self._repository = f"/repos/{repository}/"

    def say(self, person: Person, number: int, text: str) -> int:
        """A comment on an Issue or pull request; its id."""
        return int(self.call(person, "POST", f"issues/{number}/comments", {"body": text})["id"])

    def make_ruleset(self, person: Person, body: Mapping[str, Any]) -> int:
        """A ruleset; its id."""
        return int(self.call(person, "POST", "rulesets", body)["id"])

    def push(self, person: Person, branch: str, files: dict[str, str], message: str) -> str:
        """One commit onto a branch that stands; its head."""
        repository = self._repository.strip("/").removeprefix("repos/")
        return self._github.commit(repository, files, branch=branch, author=person.login, message=message)

    def make_ready(self, person: Person, number: int) -> None:
        """A pull request leaves its draft."""
        pull = self.call(person, "GET", f"pulls/{number}")
        body = {"query": _READY, "variables": {"id": pull["node_id"]}}
        self._checked(self._sent(person, "POST", f"{self._github.url}/api/graphql", body))

    def try_to_merge(self, person: Person, number: int) -> Attempt:
        """What GitHub answers to a merge by hand; the exit code is the answer's status."""
        answer = self._sent(person, "PUT", self._below(f"pulls/{number}/merge"), {})
        return Attempt(f"merging #{number} by hand", answer.status_code, str(answer.json().get("message", "")))

    def call(self, person: Person, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """One call to the repository; what it answers."""
        return self._checked(self._sent(person, method, self._below(path), body))

    def _below(self, path: str) -> str:
        return f"{self._github.url}/api/v3{self._repository}{path}"

    @staticmethod
    def _sent(person: Person, method: str, url: str, body: Mapping[str, Any] | None) -> httpx.Response:
        headers = {"authorization": f"Bearer {person.token}"}
        return httpx.request(method, url, json=body, headers=headers, trust_env=False, timeout=20)

    @staticmethod
    def _checked(answer: httpx.Response) -> Any:
        body = answer.json()
        if answer.is_error or (isinstance(body, dict) and body.get("errors")):
            asked = f"{answer.request.method} {answer.request.url.path}"
            raise StoryStopped(f"{asked} was answered with {answer.status_code}: {answer.text[:200]}")
        return body
