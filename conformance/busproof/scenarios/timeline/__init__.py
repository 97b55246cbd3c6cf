"""Scripts of `timeline`, one module a noun. What one process can see of it, the corpus decides."""

from busproof.scenarios.timeline import cursor, file, log, retry

__all__ = ["cursor", "file", "log", "retry"]
