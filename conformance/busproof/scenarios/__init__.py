"""The scripts that decide catalogue rows: one folder a system, one module a noun. Importing this registers them all."""

from busproof.scenarios import comms, topics, worker

__all__ = ["comms", "topics", "worker"]
