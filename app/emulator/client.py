"""The control path from Python: start an emulator, arrange its world, read what was asked of it."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import jwt

from app.emulator.client_actions import ActionsCalls
from app.emulator.client_identities import IdentityCalls
from app.emulator.client_machine import MachineCalls
from app.emulator.client_projects import ProjectCalls

_START_TIMEOUT_S = 15.0
# The process must find this package wherever it is started from.
_ROOT = Path(__file__).resolve().parents[2]
Json = dict[str, Any]


class Emulator(ActionsCalls, IdentityCalls, MachineCalls, ProjectCalls):
    """A running emulator. Every method is one control call and raises ``httpx.HTTPStatusError`` on refusal."""

    def __init__(self, url: str, process: subprocess.Popen[str] | None = None) -> None:
        self.url = url
        self.process = process
        # Plain HTTP on this machine: without certificates to load, a client is made in no time.
        self._http = httpx.Client(base_url=f"{url}/_emulator", timeout=30, trust_env=False, verify=False)

    @classmethod
    def start(cls, data_dir: Path, port: int = 0, unix_socket: Path | None = None) -> Self:
        """Spawn the process and wait until it listens. Raises ``RuntimeError`` if it does not."""
        more = ["--unix-socket", str(unix_socket)] if unix_socket is not None else []
        process = subprocess.Popen(
            [sys.executable, "-m", "app.emulator", "--data", str(data_dir), "--port", str(port), *more],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(_ROOT)},
        )
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            ready = selector.select(_START_TIMEOUT_S)
        line = process.stdout.readline() if ready else ""
        if not line:
            process.kill()
            process.wait()
            raise RuntimeError("the emulator did not start")
        return cls(json.loads(line)["url"], process)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process, if this object started one."""
        self._http.close()
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process is not None and self.process.stdout is not None:
            self.process.stdout.close()

    def reset(self) -> None:
        """Make it an empty GitHub again, under the same address."""
        self._post("/reset")

    # The world

    def user(self, login: str, token: str | None = None) -> Json:
        """A person: login, id, token."""
        return self._post("/users", login=login, token=token)

    def org(self, login: str, *, enterprise: bool = False, custom_roles: Mapping[str, str] | None = None) -> Json:
        """An organization; ``custom_roles`` are based on built-in ones, and only enterprises have them."""
        return self._post("/orgs", login=login, enterprise=enterprise, custom_roles=custom_roles or {})

    def repo(
        self,
        owner: str,
        name: str,
        *,
        files: Mapping[str, str] | None = None,
        branches: Mapping[str, Mapping[str, str] | None] | None = None,
        collaborators: Mapping[str, str] | None = None,
        private: bool = False,
        default_branch: str = "main",
        plan_allows_drafts: bool = True,
    ) -> Json:
        """A repository with a first commit, branches (None = at that commit) and collaborators' roles."""
        return self._post(
            "/repos",
            owner=owner,
            name=name,
            files=files,
            branches=branches or {},
            collaborators=collaborators or {},
            private=private,
            default_branch=default_branch,
            plan_allows_drafts=plan_allows_drafts,
        )

    def change_repo(self, full_name: str, **changes: Any) -> Json:
        """Change collaborators, archived, private, plan_allows_drafts."""
        return self._object("PATCH", f"/repos/{full_name}", changes)

    def commit(
        self,
        repo: str,
        files: Mapping[str, str | None],
        *,
        branch: str | None = None,
        author: str | None = None,
        message: str = "",
    ) -> str:
        """Commit files (None removes one) on a branch as somebody; the new SHA."""
        return str(self._post("/commits", repo=repo, files=files, branch=branch, author=author, message=message)["sha"])

    def app(
        self,
        slug: str,
        *,
        permissions: Mapping[str, str],
        events: Sequence[str] = (),
        webhook_url: str | None = None,
        webhook_secret: str | None = None,
    ) -> Json:
        """A GitHub App: id, slug, pem, client_id, bot_id, bot_login."""
        return self._post(
            "/apps",
            slug=slug,
            permissions=permissions,
            events=list(events),
            webhook_url=webhook_url,
            webhook_secret=webhook_secret,
        )

    def change_app(self, slug: str, **changes: Any) -> Json:
        """Change webhook_url, webhook_secret, events, permissions of an App."""
        return self._object("PATCH", f"/apps/{slug}", changes)

    def installation(self, app: str, account: str, repositories: str | Sequence[str] = "all") -> Json:
        """Install an App on an account, for all its repositories or for some."""
        chosen = repositories if isinstance(repositories, str) else list(repositories)
        return self._post("/installations", app=app, account=account, repositories=chosen)

    def change_installation(self, number: int, **changes: Any) -> Json:
        """Change suspended, permissions, repositories of an installation."""
        return self._object("PATCH", f"/installations/{number}", changes)

    def issue(
        self,
        repo: str,
        title: str,
        *,
        body: str = "",
        author: str | None = None,
        labels: Sequence[str] = (),
        assignees: Sequence[str] = (),
    ) -> Json:
        """An Issue, by its author or the repository's owner."""
        return self._post(
            "/issues",
            repo=repo,
            title=title,
            body=body,
            author=author,
            labels=list(labels),
            assignees=list(assignees),
        )

    def comment(self, repo: str, number: int, author: str, body: str) -> Json:
        """A comment of a person."""
        return self._post("/comments", repo=repo, number=number, author=author, body=body)

    # Time

    def now(self) -> float:
        """The present by the emulated clock, seconds since the epoch."""
        return float(self._call("GET", "/clock")["epoch"])

    def advance(self, seconds: float) -> float:
        """Move the clock; the new present."""
        return float(self._post("/clock", advance_s=seconds)["epoch"])

    def set_clock(self, moment: str | float) -> float:
        """Make a stamp or a number of seconds the present."""
        return float(self._post("/clock", set=moment)["epoch"])

    # Traffic

    def requests(self, since: int = 0) -> list[Json]:
        """All requests to the emulated GitHub after number ``since``."""
        listed: list[Json] = self._call("GET", f"/requests?since={since}")
        return listed

    def forget_requests(self) -> int:
        """Empty the request log; the number of the last request."""
        return int(self._call("DELETE", "/requests")["n"])

    def counters(self) -> Json:
        """Totals by kind, identity, route and status."""
        return self._object("GET", "/counters")

    def rate(self, identity: str, limit: int) -> Json:
        """Set an hourly limit (``installation:<id>``, ``user:<login>``)."""
        return self._post("/rate", identity=identity, limit=limit)

    def switches(self, repo: str | None = None, **values: str) -> Json:
        """Switch ``update_refs`` or ``custom_refs`` to "ok" or "refused"."""
        return self._post("/switches", repo=repo, **values)

    def fault(
        self, kind: str, *, match: Mapping[str, str] | None = None, times: int | None = 1, **members: Any
    ) -> Json:
        """Order a fault, for ever when ``times`` is None; see the documentation for kinds and members."""
        return self._object("POST", "/faults", {"kind": kind, "match": dict(match or {}), "times": times} | members)

    def faults(self) -> list[Json]:
        """All orders with what is left of them."""
        listed: list[Json] = self._call("GET", "/faults")
        return listed

    def clear_faults(self) -> Json:
        """Withdraw all orders."""
        return self._object("DELETE", "/faults")

    # Webhooks

    def deliveries(self) -> list[Json]:
        """All deliveries, oldest first; ``payload`` is parsed."""
        listed: list[Json] = self._call("GET", "/deliveries")
        return [d | {"payload": json.loads(d["payload"])} for d in listed]

    def flush(self, timeout_s: float = 5.0) -> int:
        """Wait until all webhooks were sent; how many were not."""
        return int(self._post("/deliveries/flush", timeout_s=timeout_s)["pending"])

    def delivery_mode(self, mode: str) -> Json:
        """``normal``, ``hold``, ``drop``, ``duplicate`` or ``shuffle``."""
        return self._post("/deliveries/mode", mode=mode)

    def replay(self, *, guid: str | None = None, delivery_id: int | None = None) -> Json:
        """Deliver an event once more."""
        return self._post("/deliveries/replay", guid=guid, id=delivery_id)

    # Credentials, as an App makes them

    def app_jwt(self, app: Mapping[str, Any]) -> str:
        """A JWT of an App made by :meth:`app`, valid by the emulated clock."""
        now = int(self.now())
        return jwt.encode({"iat": now - 30, "exp": now + 500, "iss": str(app["id"])}, app["pem"], "RS256")

    def installation_token(self, app: Mapping[str, Any], number: int, **narrowed: Any) -> str:
        """An installation token, optionally for some repositories or permissions."""
        answer = httpx.post(
            f"{self.url}/app/installations/{number}/access_tokens",
            json=narrowed,
            headers={"authorization": f"Bearer {self.app_jwt(app)}"},
            trust_env=False,
            verify=False,
        )
        answer.raise_for_status()
        return str(answer.json()["token"])

    def wait_for(self, event: str, action: str | None = None, timeout_s: float = 5.0) -> Json:
        """The newest delivery of an event, waited for. Raises ``TimeoutError``."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            for delivery in reversed(self.deliveries()):
                if delivery["event"] == event and action in (None, delivery["action"]):
                    return delivery
            time.sleep(0.02)
        raise TimeoutError(f"no {event} {action or ''} was delivered")

    def _post(self, path: str, **body: Any) -> Json:
        return self._object("POST", path, {k: v for k, v in body.items() if v is not None})

    def _object(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Json:
        answer: Json = self._call(method, path, body)
        return answer

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The parsed answer: an object for most calls, a list for the listing ones."""
        answer = self._http.request(method, path, json=body)
        if answer.is_error:
            raise httpx.HTTPStatusError(
                f"{method} {path}: {answer.status_code} {answer.text}",
                request=answer.request,
                response=answer,
            )
        return answer.json()
