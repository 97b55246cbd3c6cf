"""The scripts for `comms`, one module a noun."""

from busproof.play.scenarios.comms import blob, export, lease, limit, log, presence, retry, route

__all__ = ["blob", "export", "lease", "limit", "log", "presence", "retry", "route"]
