"""Scripts of `topics`, one module a noun."""

from busproof.scenarios.topics import cursor, limit, log, presence, search

__all__ = ["cursor", "limit", "log", "presence", "search"]
