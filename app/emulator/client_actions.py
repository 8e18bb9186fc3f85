"""Control calls about Actions, for :class:`app.emulator.client.Emulator`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.emulator.client_identities import Calls, Json


class ActionsCalls:
    """What carries out runs, and what they are given."""

    def workflow_command(
        self: Calls,
        repo: str,
        workflow: str,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout_s: float | None = None,
    ) -> Json:
        """Set what is started for the runs of a workflow (its file's name or id)."""
        return self._post(
            "/actions/commands",
            repo=repo,
            workflow=workflow,
            command=list(command),
            env=dict(env or {}),
            cwd=cwd,
            timeout_s=timeout_s,
        )

    def workflow_machine(
        self: Calls,
        repo: str,
        workflow: str,
        *,
        env: Mapping[str, str] | None = None,
        actions: Mapping[str, Sequence[str]] | None = None,
        pace: float = 1.0,
    ) -> Json:
        """Carry out the steps of a workflow as they stand. ``actions``: commands in place of ``uses``; ``pace``: how
        many seconds one of GitHub's takes here."""
        given = {name: list(command) for name, command in (actions or {}).items()}
        return self._post(
            "/actions/machines", repo=repo, workflow=workflow, env=dict(env or {}), actions=given, pace=pace
        )

    def action_values(
        self: Calls,
        repo: str,
        *,
        variables: Mapping[str, str | None] | None = None,
        secrets: Mapping[str, str | None] | None = None,
    ) -> Json:
        """Set variables and secrets of a repository; None takes one away."""
        return self._post("/actions/values", repo=repo, variables=dict(variables or {}), secrets=dict(secrets or {}))

    def lose_machine(self: Calls, run: int) -> None:
        """Take the machine of a run away: all its processes are killed, no step follows."""
        self._post(f"/actions/runs/{run}/lose")

    def run_log(self: Calls, run: int) -> str:
        """What the command of a run wrote so far."""
        return str(self._object("GET", f"/actions/runs/{run}/log")["log"])
