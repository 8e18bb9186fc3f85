"""What looks like a credential never reaches a log."""

import json
import subprocess
import sys

import pytest

from app.service.logs import redact

_LONG = "a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6"
TOKENS = {
    "classic": f"ghp_{_LONG}",
    "installation": f"ghs_111_eyJhbGciOiJ.{_LONG}.{_LONG}",
    "fine-grained": f"github_pat_{_LONG}",
    "lease": f"arl_lease-1.{_LONG}.{_LONG}",
    "jwt": f"eyJhbGciOiJSUzI1NiJ9.{_LONG}.{_LONG}",
    "bearer": f"Bearer {_LONG}",
    "basic": f"Basic {_LONG}==",
    "url": f"https://x-access-token:{_LONG}@github.com/acme/shop",
    "stripe": f"sk_live_{_LONG}",
    "assigned": f"DB_PASSWORD={_LONG}",
    "command": f"curl -u ann:{_LONG}",
    "webhook": f"https://discord.com/api/webhooks/1/{_LONG}",
    "pem": f"-----BEGIN RSA PRIVATE KEY-----\n{_LONG}\n-----END RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize("form", TOKENS)
def test_every_token_form_is_redacted(form):
    assert _LONG not in redact(f"before {TOKENS[form]} after")
    assert redact(f"before {TOKENS[form]} after").startswith("before ")


@pytest.mark.parametrize("text", ["a" * 40, "https://github.com/acme/shop/pull/7", "ticket/42-fix-token-refresh"])
def test_shas_addresses_and_words_stay(text):
    assert redact(text) == text


def test_log_lines_are_json_and_redacted_in_fields_lists_and_tracebacks():
    program = f"""
import logging, structlog
from app.service.logs import set_up_logs
set_up_logs()
token = {TOKENS["classic"]!r}
structlog.get_logger("a").info("event", field=token, nested={{"list": [token]}})
logging.getLogger("b").warning("said %s", token)
try:
    raise ValueError(token)
except ValueError as problem:
    structlog.get_logger("c").error("failed", exc_info=problem)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["event"] for line in lines] == ["event", "said [redacted:github-token]", "failed"]
    assert "Traceback" in lines[2]["exception"]
    assert _LONG not in done.stderr
