"""The environment's settings for every program of the bus (seed 004, section 2)."""

from __future__ import annotations

import os
from pathlib import Path

DB_DEFAULT = "~/.agent_bus/agent_bus.sqlite"


def database() -> Path:
    """The database file that the agents share: AGENT_BUS_DB, or the usual place."""
    return Path(os.environ.get("AGENT_BUS_DB") or DB_DEFAULT)


def embedding_model() -> str | None:
    """The folder of the model for searches by meaning: AGENT_BUS_EMBEDDING_MODEL."""
    return os.environ.get("AGENT_BUS_EMBEDDING_MODEL") or None
