"""Scripts of `topics`, one module a noun."""

from busproof.scenarios.topics import log

__all__ = ["log"]
