"""Which queue a store has: `config.toml` in its folder, unless the session says otherwise.

    [queue]
    backend = "nats"                      # or "sqlite", the default
    nats_url = "nats://127.0.0.1:4222"    # of a cluster: several, with commas between
    nats_creds = "~/.nats.creds"          # for a server that asks for them
    nats_replicas = 3                     # of the stream, when this store makes it; 1, unless it is a cluster

Agents, services and harness are the same on both.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from refbus.kernel.errors import InvalidArgument
from refbus.kernel.rules import limit as limits

CONFIG_NAME = "config.toml"
BACKENDS = ("sqlite", "nats")
_URLS = re.compile(r"(?:nats|tls|ws|wss)://[^\s,/]+(?:,(?:nats|tls|ws|wss)://[^\s,/]+)*")
NATS_URL = "nats://127.0.0.1:4222"


class Config(NamedTuple):
    """The table `queue`."""

    backend: str = "sqlite"
    nats_url: str = NATS_URL
    nats_creds: str | None = None
    nats_replicas: int = 1


def load(folder: Path, **given: str | None) -> Config:
    """The file's values, overridden by the given values. Raises INVALID_ARGUMENT for values that cannot be meant."""
    values = {**_read(folder / CONFIG_NAME), **{name: value for name, value in given.items() if value is not None}}
    if strange := sorted(values.keys() - set(Config._fields)):
        raise InvalidArgument(f"[queue] has {', '.join(Config._fields)}, not {', '.join(strange):.100}")
    for name, value in values.items():
        if name != "nats_replicas" and type(value) is not str:
            raise InvalidArgument(f"{name} must be a string")
    config = Config(**values)
    limits.integer("nats_replicas", config.nats_replicas, 1, 5)
    if config.backend not in BACKENDS:
        raise InvalidArgument(f"backend must be one of {', '.join(BACKENDS)}, not {config.backend!a:.40}")
    if not _URLS.fullmatch(config.nats_url):
        raise InvalidArgument(f"nats_url must be nats://host:port, not {config.nats_url!a:.100}")
    return config


def _read(path: Path) -> dict[str, Any]:
    try:
        queue = tomllib.loads(path.read_text("utf-8")).get("queue", {})
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"{path.name} cannot be read: {error!s:.200}") from error
    if type(queue) is not dict:
        raise InvalidArgument("[queue] must be a table")
    return queue
