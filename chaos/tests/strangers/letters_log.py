"""A mailbox of a stranger in one log, to which it appends under a lock. Of a full disk it says that writing failed.

`letters_log.py roomy` takes a megabyte for its log when it opens, so that no call needs more room.
"""

import fcntl
import json
import os
import sys

HELLO = {"protocol": "1", "name": "letters", "version": "1", "language": "python", "systems": ["mailbox"]}
HELLO |= {"nouns": ["log", "cursor"], "features": ["ack"], "clock": "wall", "durability": "process-crash"}
ROOM = 1 << 20 if sys.argv[1:] == ["roomy"] else 0
log = None


def lines():
    with open(log, "rb") as file:
        return [json.loads(line) for line in file if line.endswith(b"\n")]


def append(line):
    with open(log, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        end = len(file.read().rstrip(b"\0"))
        try:
            text = json.dumps(line).encode() + b"\n"
            if os.pwrite(file.fileno(), text, end) < len(text):
                raise OSError("a part was written")
        except OSError:
            os.truncate(log, end)
            raise


def answer(method, p):
    global log
    if method == "hello":
        return HELLO
    if method == "open":
        log = f"{p['store']}/log"
        with open(log, "ab") as file:
            if ROOM:
                os.posix_fallocate(file.fileno(), 0, ROOM)
    if method == "send":
        id_ = os.urandom(8).hex()
        append({"id": id_, "to": p["to"], "body": p["body"]})
        return {"id": id_}
    if method == "receive":
        acked = {(line["by"], id_) for line in lines() for id_ in line.get("acked", ())}
        mine = [line for line in lines() if line.get("to") == p["agent_id"]]
        waiting = [line for line in mine if (p["agent_id"], line["id"]) not in acked]
        return {"messages": [{"id": line["id"], "body": line["body"]} for line in waiting[: p.get("limit", 100)]]}
    if method == "ack":
        append({"by": p["agent_id"], "acked": p["ids"]})
    return {}


for request in map(json.loads, sys.stdin):
    try:
        reply = {"result": answer(request["method"], request.get("params", {}))}
    except OSError as error:
        reply = {"error": {"code": -32000, "message": str(error), "data": {"code": "IO_ERROR", "definite": True}}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
