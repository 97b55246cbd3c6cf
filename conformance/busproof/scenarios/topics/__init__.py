"""Scripts of `topics`, one module a noun."""

from busproof.scenarios.topics import cursor, log

__all__ = ["cursor", "log"]
