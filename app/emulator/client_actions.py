"""Control calls about Actions, for :class:`app.emulator.client.Emulator`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.emulator.client_identities import Calls, Json


class ActionsCalls:
    """Local commands that stand in for runners."""

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

    def run_log(self: Calls, run: int) -> str:
        """What the command of a run wrote so far."""
        return str(self._object("GET", f"/actions/runs/{run}/log")["log"])
