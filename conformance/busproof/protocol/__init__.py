"""The adapter protocol: JSON-RPC 2.0, one object a line, UTF-8, over stdin and stdout.

This package is the only source of the wire: the JSON Schemas and `docs/protocol.md` are generated from it.
Method names and fields are the seeds' own, one module a system.

One process is one session of one agent's program. `hello` comes first and negotiates; `open` binds the session to a
store (a folder that many sessions share) and may come again with another store, so that a warm process serves many
runs. A method that an adapter lacks is answered with -32601.

An error's `data` carries `code` and `definite`. `definite: true` promises that the operation certainly did not
happen. Every error without that promise, a time-out, EOF and a kill mean that it may or may not have happened.
"""

from __future__ import annotations

from busproof.protocol import comms, topics, worker
from busproof.protocol.common import (
    BUS_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    PROTOCOL_VERSION,
    HelloReply,
    Method,
    Noun,
    Params,
    Reply,
)

__all__ = [
    "BUS_ERROR",
    "ERROR_CODES",
    "FEATURES",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHODS",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "PROTOCOL_VERSION",
    "HelloReply",
    "Method",
    "Noun",
    "Params",
    "Reply",
]

METHODS: dict[str, dict[str, Method]] = {
    "worker": worker.WORKER_METHODS,
    "comms": comms.COMMS_METHODS,
    "topics": topics.TOPICS_METHODS,
}
FEATURES: dict[str, dict[str, str]] = {
    "worker": worker.WORKER_FEATURES,
    "comms": comms.COMMS_FEATURES,
    "topics": topics.TOPICS_FEATURES,
}
# The bool is what the reference promises in `definite`.
ERROR_CODES: dict[str, dict[str, bool]] = {
    "worker": worker.WORKER_ERROR_CODES,
    "comms": comms.COMMS_ERROR_CODES,
    "topics": topics.TOPICS_ERROR_CODES,
}
