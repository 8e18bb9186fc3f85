"""What the loop needs from the layer above it, which knows the commands: whoever runs the service plugs it in."""

from typing import Protocol

from app.controller.turn import Ended
from app.domain.keys import WordKey
from app.github.repository import Repository


class Ears(Protocol):
    """Hears what persons say. Both raise GitHubError, and Refused where nothing may be written now."""

    async def hear(self, key: WordKey) -> Ended:
        """Carry out one thing that a person said, and answer it."""
        ...

    async def listen_back(self, repo: Repository) -> int:
        """Poke what was said in a repository and never delivered; how much."""
        ...
