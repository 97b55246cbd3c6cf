"""Scripts of `topics`, one module a noun."""

from busproof.scenarios.topics import limit, log, presence, search

__all__ = ["limit", "log", "presence", "search"]
