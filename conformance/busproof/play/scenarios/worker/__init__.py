"""The scripts that decide catalogue rows, one module a noun. Importing this package registers all of them."""

from busproof.play.scenarios.worker import blob, cursor, export, lease, limit, log, presence, retry, route, search

__all__ = ["blob", "cursor", "export", "lease", "limit", "log", "presence", "retry", "route", "search"]
