"""simplebroker 8.7 as a `worker` bus: log and cursor.

From the library: `write` (append, durable; its timestamp is unique and rises, so it is the seq), `peek_many` with
`after_timestamp` (read without consuming), and a queue that keeps only its newest message, which serves as an agent's
cursor. The shim compares an ack with the present cursor, and puts the envelope (id, sender, recipient, type) into the
text; poll leaves out what is addressed to others. The library knows no message ids of the sender's: nothing hides that.
Nor does the shim add what the library leaves to its users: it checks no envelope (worker.log.12 and .15), and takes and
believes an ack of any number (worker.cursor.09 and .10). Those rows are this file's.
"""

import json
import sys
import time
import uuid

from simplebroker import Queue

database = None


def hello(protocol, system):
    return {
        "protocol": "1",
        "name": "simplebroker",
        "version": "8.7.2",
        "language": "python",
        "systems": ["worker"],
        "nouns": ["log", "cursor"],
        "features": ["seq"],
        "clock": "wall",
    }


def queue(name):
    return Queue(name, db_path=database)


def open_store(store, options):
    global database
    database = f"{store}/simplebroker.db"
    return {}


def close():
    return {}


def publish(agent_id, message):
    message = {"id": str(uuid.uuid4()), **message}
    text = json.dumps({"from_agent": agent_id, "ts_ms": time.time_ns() // 1_000_000, **message})
    with queue("bus") as bus:
        return {"id": message["id"], "seq": bus.write(text)}


def cursor_of(agent_id):
    with queue(f"cursor-{agent_id}") as cursor:
        newest = cursor.peek_one()
    return int(newest) if newest else 0


def poll(agent_id, limit=100, wait_ms=0):
    messages, after = [], cursor_of(agent_id)
    with queue("bus") as bus:
        for text, seq in bus.peek_generator(with_timestamps=True, after_timestamp=after):
            row = json.loads(text)
            if row.get("to") in (None, agent_id) and len(messages) < limit:
                row["to_agent"] = row.pop("to", None)
                messages.append({"seq": seq, **row})
    return {"messages": messages}


def ack(agent_id, seq):
    if seq > cursor_of(agent_id):
        with queue(f"cursor-{agent_id}") as cursor:
            cursor.write(str(seq), keep_newest=1)
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
