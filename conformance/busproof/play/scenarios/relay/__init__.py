"""Scripts of `relay`, one module a noun. A row that the corpus decides needs none."""

from busproof.play.scenarios.relay import export, lease, limit, log, presence, put_back, route

__all__ = ["export", "lease", "limit", "log", "presence", "put_back", "route"]
