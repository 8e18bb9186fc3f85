"""The audit as its command makes it, for the tests of what it finds."""

from pathlib import Path

from loop_world import REPO, LoopWorld

from app.drill.audit.audit import Audited, audit
from app.drill.audit.reading import Reader
from app.ledger.seals import PublicKeys


def audited(world: LoopWorld, folder: Path) -> list[Audited]:
    """The audit as the command makes it."""
    reader = Reader(api_url=world.emulator.url, repository=REPO, token=world.token, app="agent-recovery")
    public = PublicKeys.from_base64(world.keys.public_keys_base64())
    return audit(reader, folder / "mirror.git", token=world.token, keys=public)
