"""`serve` where it cannot start: what is wrong and what to do, and never the code that means "fenced out"."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from app.service.keys import new_keys


def serve(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    pem = rsa.generate_private_key(65537, 2048).private_bytes(
        Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
    )
    settings = new_keys().settings() | {
        "AGENT_RECOVERY_APP_ID": "7",
        "AGENT_RECOVERY_APP_PRIVATE_KEY": pem.decode(),
        "AGENT_RECOVERY_GITHUB_URL": "http://127.0.0.1:9",
        "AGENT_RECOVERY_DATABASE_URL": f"sqlite:///{folder}/service.db",
    }
    return subprocess.run(
        [sys.executable, "-m", "app.cli", "serve", *arguments],
        env={"PATH": os.environ["PATH"], **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_an_address_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        used = str(taken.getsockname()[1])
        for arguments, words in (
            (("--port", used), "address already in use"),
            (("--host", "nowhere.invalid", "--port", "0"), "nowhere.invalid"),
            (("--host", "192.0.2.1", "--port", "0"), "cannot assign requested address"),
            (("--port", "99999"), "AGENT_RECOVERY_PORT"),
        ):
            done = serve(tmp_path, *arguments)
            assert done.returncode == 2, done.stderr
            assert words in done.stderr
            assert "Traceback" not in done.stderr
