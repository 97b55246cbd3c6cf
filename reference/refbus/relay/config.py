"""config.json: the owner's settings. Read when the orchestrator opens; the options that it is opened with win.

A file that changes later is for the next orchestrator: the service says so in its log.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

from refbus.kernel import jsontext, msgfile
from refbus.kernel.errors import BusError, InvalidArgument
from refbus.kernel.files import atomic_write, read_whole
from refbus.kernel.rules import limit
from refbus.relay.names import is_agent_name

CONFIG_BYTES_MAX = 1024 * 1024
_DAY_MS = 24 * 60 * 60 * 1000
_MS_MAX = 3650 * _DAY_MS
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclasses.dataclass(frozen=True)
class Config:
    """All settings, with their defaults. Times in milliseconds."""

    lead: str | None = None  # the agent behind the address Lead
    clis: dict[str, list[str]] = dataclasses.field(default_factory=dict)  # the names for CLI, each with its argv
    roots: list[str] = dataclasses.field(default_factory=list)  # folders in which WORKING_DIR may lie
    env: list[str] = dataclasses.field(default_factory=list)  # names that ENV may set
    settle_ms: int = msgfile.SETTLE_MS  # a file that changed later is still being written
    malformed_ms: int = msgfile.MALFORMED_MS  # a file that is no message by then never will be one
    orphan_ms: int = 30_000  # older files in .pending are deleted
    message_bytes_max: int = msgfile.BYTES_MAX
    attachment_bytes_max: int = 1024 * 1024 * 1024
    retries_max: int = 3
    retry_ms: int = 1_000  # before the first retry; twice as long before each next one
    rate_per_min: int = 6_000  # messages of an agent; the others wait in its outbox
    retention_days: int = 30  # of the archive, and of the log of the ledger's changes
    agent_timeout_ms: int = 60 * 60 * 1000  # an agent that was silent so long is inactive
    grace_ms: int = 2_000  # between SIGTERM and SIGKILL
    scan_interval_ms: int = 250  # between two passes without an event
    archive: bool = True  # false: handled files stay in their outbox
    disk_alert_percent: int = 90  # of the disk is used: an alert is logged
    disk_low_percent: int | None = None  # from here on the archive's oldest days are removed before retention_days

    def __post_init__(self) -> None:
        """Raise INVALID_ARGUMENT for a setting that cannot be."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type == "int" or (field.type == "int | None" and value is not None):
                limit.integer(field.name, value, 0, 100 if field.name.endswith("percent") else _MS_MAX)
            elif field.type == "bool":
                limit.flag(field.name, value)
        if self.lead is not None and not is_agent_name(self.lead):
            raise InvalidArgument(f"lead is no agent's name: {self.lead!a:.80}")
        for name in ("roots", "env"):
            _texts(name, getattr(self, name))
        if not all(_ENV_NAME.fullmatch(name) for name in self.env):
            raise InvalidArgument("env must list names of variables")
        _refuse_bad_clis(self.clis)


OPTIONS = tuple(field.name for field in dataclasses.fields(Config))


def load(path: Path, options: dict[str, Any]) -> Config:
    """The settings of a folder; where there is no file an empty one is made. Raises INVALID_ARGUMENT."""
    return Config(**(_read(path) | options))


def change(path: Path, **values: Any) -> dict[str, Any]:
    """Write these settings into a folder's file, beside all others; returns its content. Raises INVALID_ARGUMENT."""
    settings = _read(path) | values
    Config(**settings)
    atomic_write(path, f"{json.dumps(settings, indent=2)}\n".encode())
    return settings


def changed_ns(path: Path) -> int:
    """When the file was last changed; 0 without one."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _read(path: Path) -> dict[str, Any]:
    try:
        settings = jsontext.decode(read_whole(path, CONFIG_BYTES_MAX).decode())
    except FileNotFoundError:
        atomic_write(path, b"{}\n")
        settings = {}
    except (OSError, ValueError, BusError) as error:
        raise InvalidArgument(f"config.json cannot be read: {error!s:.200}") from error
    if type(settings) is not dict or not settings.keys() <= set(OPTIONS):
        what = min(settings.keys() - set(OPTIONS)) if type(settings) is dict else settings
        raise InvalidArgument(f"config.json must be an object with any of {', '.join(OPTIONS)}, not {what!a:.80}")
    return settings


def _texts(what: str, value: object) -> None:
    if type(value) is not list or not all(type(text) is str and text and "\0" not in text for text in value):
        raise InvalidArgument(f"{what} must be a list of texts")


def _refuse_bad_clis(clis: object) -> None:
    if type(clis) is not dict:
        raise InvalidArgument("clis must be an object")
    for name, argv in clis.items():
        _texts(f"clis[{name!a:.80}]", argv)
        if not argv or not argv[0].startswith("/"):
            raise InvalidArgument(f"clis[{name!a:.80}] must begin with the absolute path of a program")
