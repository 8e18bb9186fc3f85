"""Logs: JSON lines on stderr. No bodies, no tokens: what looks like a credential is redacted in every line."""

import logging
import re
import sys
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from app.domain import secret_shapes

# Levels, logger names, events of one word and times: most of a line, and no secret looks like that.
_PLAIN = re.compile(r"[a-z_.]{0,60}|[0-9T:.Z+-]{0,32}")


def redact(text: str) -> str:
    """The text with every secret replaced that a checkpoint would lose too, each by `[redacted:<kind>]`."""
    return text if _PLAIN.fullmatch(text) else secret_shapes.redact(text).text


def _redact_values(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {name: _redacted(value) for name, value in event.items()}


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(str(name)): _redacted(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_redacted(part) for part in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return redact(str(value))


def set_up_logs(level: int = logging.INFO) -> None:
    """Send structlog's and the standard library's logs to stderr as JSON, redacted. Called once, at start."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.PositionalArgumentsFormatter()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                _redact_values,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("httpx", "httpcore", "githubkit"):
        logging.getLogger(noisy).setLevel(logging.WARNING)  # they log every URL
