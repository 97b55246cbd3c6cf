"""Scripts of `timeline`, one module a noun. The corpus decides all that one process can see of it."""

from busproof.play.scenarios.timeline import cursor, file, log, retry

__all__ = ["cursor", "file", "log", "retry"]
