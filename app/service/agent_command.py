"""The operator's command that starts agents where no workflow does (`AGENT_RECOVERY_RESUME_COMMAND`).

The words come from the operator alone, never from a repository, and no shell reads them. The agent is a process of its
own: it outlives a restart of the service, and finds in its environment what the operator named and nothing else of the
service's, so no key or secret of ours. How it ends is told to the log and to nobody else: what it did is in the ledger.
"""

import asyncio
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence

import structlog

ORDINARY = ("PATH", "HOME", "LANG")
"""What every program expects to find."""

_log = structlog.get_logger(__name__)


class AgentCommand:
    """Starts the command. `names`: variables of the service's own environment that the agent is given as well;
    `service_url`: where it reaches the service.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        service_url: str,
        names: Sequence[str] = (),
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        if not words:
            raise ValueError("a command has at least one word")
        self._words = tuple(words)
        self._service_url = service_url
        given = (*ORDINARY, *names)
        self._environment = {name: environment[name] for name in given if name in environment}

    async def start(self, repository: str, inputs: Mapping[str, str]) -> str | None:
        """Start an agent, and do not wait for its end. None: it runs. Else why it could not be started, and then
        nothing was. The command's words are in no answer: an operator may have put a credential there.
        """
        told = {
            "AGENT_RECOVERY_URL": self._service_url,
            "AGENT_RECOVERY_REPO": repository,
            "AGENT_RECOVERY_TICKET": inputs["ticket"],
            "AGENT_RECOVERY_GENERATION": inputs["generation"],
            "AGENT_RECOVERY_ATTEMPT": inputs["attempt"],
        }
        return await asyncio.to_thread(self._start, told)

    def _start(self, told: Mapping[str, str]) -> str | None:
        try:
            # Not asyncio's: its transports kill what still runs when the loop ends.
            process = subprocess.Popen(
                self._words,
                env={**self._environment, **told},
                cwd=self._environment.get("HOME", os.sep),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as problem:
            return problem.strerror or type(problem).__name__ if isinstance(problem, OSError) else "not a command"
        attempt = told["AGENT_RECOVERY_ATTEMPT"]
        _log.info("agent_command_started", attempt=attempt, pid=process.pid)
        threading.Thread(target=_observe, args=(process, attempt), daemon=True).start()
        return None


def _observe(process: subprocess.Popen[bytes], attempt: str) -> None:
    _log.info("agent_command_ended", attempt=attempt, pid=process.pid, code=process.wait())
