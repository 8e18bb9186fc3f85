"""What checks depend on outside the commit, as one digest: nobody but the operator of this machine can name it.

`AGENT_RECOVERY_DEPENDENCIES` holds a text that changes whenever the tools do: the digest of a container image, the hash
of an installed lock file. Without it nothing says that two machines are the same, and no earlier result is reused.
"""

import hashlib
import os
import platform
from collections.abc import Mapping

VARIABLE = "AGENT_RECOVERY_DEPENDENCIES"


def digest(environment: Mapping[str, str] = os.environ) -> str | None:
    """`sha256:…` of the named dependencies and the kind of machine, or None where they are not named."""
    named = environment.get(VARIABLE, "").strip()
    if not named:
        return None
    text = "\n".join((named, platform.system(), platform.machine()))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
