"""Scripts of `topics`, one module a noun."""

from busproof.scenarios.topics import cursor, lease, limit, log, presence, route, search

__all__ = ["cursor", "lease", "limit", "log", "presence", "route", "search"]
