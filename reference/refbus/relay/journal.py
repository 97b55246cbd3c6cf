"""Structured logs (7.3, 7.5): one JSON object a line, to standard error or to a file that rotates."""

from __future__ import annotations

import json
import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Lines(logging.Formatter):
    """Time, level, part, event, and the further fields of the event."""

    def format(self, record: logging.LogRecord) -> str:
        """A line."""
        basics = {
            "at_ms": round(record.created * 1000),
            "level": record.levelname.lower(),
            "part": record.name.rpartition(".")[2],
            "event": record.getMessage(),
        }
        more = {name: value for name, value in vars(record).items() if name not in _OWN}
        return json.dumps(basics | more, default=repr)


def write_to(path: Path | None, *, bytes_max: int, keep: int, level: str) -> None:
    """From now on the orchestrator's log goes there: None is standard error. A full file is renamed; `keep` stay."""
    handler: logging.Handler = (
        logging.StreamHandler(sys.stderr)
        if path is None
        else RotatingFileHandler(path, maxBytes=bytes_max, backupCount=keep, encoding="utf-8")
    )
    handler.setFormatter(Lines())
    logger = logging.getLogger("refbus.relay")
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False
