"""Scripts of `topics`, one module a noun."""

from busproof.scenarios.topics import lease, log, route

__all__ = ["lease", "log", "route"]
