"""The adapter protocol: JSON-RPC 2.0, one object a line, UTF-8, over stdin and stdout.

This package is the only source of the wire: the JSON Schemas and `docs/protocol.md` are generated from it.
Method names and fields are the seeds' own, one module per system.

One process is one session of one agent's program. `hello` comes first and negotiates; `open` binds the session to a
store (a folder that many sessions share) and may come again with another store, so that a warm process serves many
runs. A method that an adapter lacks is answered with -32601.

An error's `data` carries `code` and `definite`. `definite: true` promises that the operation certainly did not
happen. Every error without that promise, a time-out, EOF and a kill mean that it may or may not have happened.
"""

from __future__ import annotations

from busproof.contract import comms, mailbox, relay, timeline, topics, worker
from busproof.contract.common import (
    BUS_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    PROTOCOL_VERSION,
    Contract,
    HelloReply,
    Method,
    Noun,
    Params,
    Reply,
    ToolServer,
)

__all__ = [
    "BUS_ERROR",
    "CONTRACTS",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "PROTOCOL_VERSION",
    "Contract",
    "HelloReply",
    "Method",
    "Noun",
    "Params",
    "Reply",
    "ToolServer",
]

# Every system that can be judged, by name: those of the seeds in their order, then our own. `busproof.systems` binds
# the rest to them.
CONTRACTS: dict[str, Contract] = {
    part.CONTRACT.system: part.CONTRACT for part in (worker, comms, relay, timeline, topics, mailbox)
}
