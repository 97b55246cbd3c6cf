"""Scripts of `topics`, one module a noun; of `log`, the server and the file have their own."""

from busproof.play.scenarios.topics import cursor, file, lease, limit, log, presence, route, search, server

__all__ = ["cursor", "file", "lease", "limit", "log", "presence", "route", "search", "server"]
