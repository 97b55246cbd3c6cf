"""litequeue 0.9 as a `worker` bus: log and cursor, as far as a work queue goes.

From the library: `put` (append, durable), `pop` (lock), `list_locked`, `done`. The shim maps them: a poll locks what is
ready and shows everything that is locked and not done; an ack is `done` for each message up to a seq, which is the
library's `in_time`. The envelope (sender, recipient, type) travels inside the data, and poll leaves out what is
addressed to others. The library knows no message ids of the sender's and one consumer group: nothing hides that.
Nor does the shim add what the library leaves to its users: it checks no envelope (worker.log.12 and .15), and takes an
ack of any number (worker.cursor.09). Those rows are this file's.
"""

import json
import sys
import uuid

from litequeue import LiteQueue

queue = None


def hello(protocol, system):
    return {
        "protocol": "1",
        "name": "litequeue",
        "version": "0.9",
        "language": "python",
        "systems": ["worker"],
        "nouns": ["log", "cursor"],
        "features": ["seq"],
        "clock": "wall",
    }


def open_store(store, options):
    global queue
    queue = LiteQueue(f"{store}/litequeue.db", timeout=10)
    return {}


def close():
    queue.close()
    return {}


def publish(agent_id, message):
    message = {"id": str(uuid.uuid4()), **message}
    put = queue.put(json.dumps({"from_agent": agent_id, **message}))
    return {"id": message["id"], "seq": put.in_time}


def unfinished():
    while queue.pop() is not None:
        pass
    return sorted(queue.list_locked(threshold_seconds=-1), key=lambda message: message.in_time)


def poll(agent_id, limit=100, wait_ms=0):
    messages = []
    for item in unfinished():
        row = json.loads(item.data)
        if row.get("to") in (None, agent_id) and len(messages) < limit:
            row["to_agent"] = row.pop("to", None)
            messages.append({"seq": item.in_time, "ts_ms": item.in_time // 1_000_000, **row})
    return {"messages": messages}


def ack(agent_id, seq):
    for item in unfinished():
        if item.in_time <= seq and json.loads(item.data).get("to") in (None, agent_id):
            queue.done(item.message_id)
    return {}


METHODS = {"hello": hello, "open": open_store, "close": close, "publish": publish, "poll": poll, "ack": ack}

for line in sys.stdin:
    request = {"id": None}
    try:
        request = json.loads(line)
        if request["method"] not in METHODS:
            answer = {"error": {"code": -32601, "message": f"no method {request['method']}"}}
        else:
            answer = {"result": METHODS[request["method"]](**request["params"])}
    except json.JSONDecodeError as fault:
        answer = {"error": {"code": -32700, "message": str(fault)}}
    except Exception as fault:
        answer = {
            "error": {"code": -32000, "message": repr(fault), "data": {"code": type(fault).__name__, "definite": False}}
        }
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
