"""The door of the seed's listing. It passes on what the listing does, and neither hides nor adds a fault.

The listing asks `time.time()`, so the clock is set by giving its module another `time`. What the listing raises is an
error without a promise (`definite: false`), because the listing promises nothing.
"""

import json
import sys
import time
from types import SimpleNamespace

import listing


class Session:
    store = None

    def hello(self, protocol, system):
        return {
            "protocol": "1",
            "name": "seed 000 listing",
            "version": "v4",
            "language": "python",
            "systems": ["worker"],
            "nouns": ["log", "cursor", "route", "lease", "presence", "blob", "retry", "export"],
            "features": ["process_loop", "dump", "sqlite"],
            "clock": "manual",
            "durability": "process-crash",
        }

    def open(self, store, options):
        self.store = store
        listing.create(store)

    def close(self):
        listing.time = time

    def clock_set(self, now_ms):
        listing.time = SimpleNamespace(time=lambda: (now_ms + 0.5) / 1000)

    def publish(self, agent_id, message):
        return {"id": listing.publish(self.store, agent_id, message)}

    def poll(self, agent_id, limit=100, wait_ms=0):
        return {"messages": listing.poll(self.store, agent_id, limit)}

    def ack(self, agent_id, seq):
        listing.ack(self.store, agent_id, seq)

    def process_loop(self, agent_id, limit=100, fail_ids=()):
        """One turn of the listing's `while running`."""
        handled = []
        for msg in listing.poll(self.store, agent_id, limit):
            if msg["id"] in fail_ids:
                return {"handled": handled, "failed": msg["id"]}
            handled.append(msg["id"])
            listing.ack(self.store, agent_id, msg["seq"])
        return {"handled": handled}

    def try_claim_task(self, task_id, agent_id):
        return {"claimed": listing.try_claim_task(self.store, task_id, agent_id)}

    def renew_claim(self, task_id, agent_id, token=None):
        return {"renewed": listing.renew_claim(self.store, task_id, agent_id)}

    def release_claim(self, task_id, agent_id, token=None):
        listing.release_claim(self.store, task_id, agent_id)

    def heartbeat(self, agent_id, status, current_task=None, progress=None):
        listing.heartbeat(self.store, agent_id, status, current_task, progress)

    def liveness(self):
        return {"agents": list(listing.liveness(self.store))}

    def export_to_jsonl(self):
        listing.export_to_jsonl(self.store)

    def save_blob(self, content):
        return {"ref": listing.save_blob(self.store, content)}

    def load_blob(self, ref):
        return {"content": listing.load_blob(self.store, ref)}

    def dump(self):
        conn = listing.get_connection(self.store)
        try:
            tables = ("messages", "cursors", "task_claims", "heartbeats")
            state = {t: [dict(row) for row in conn.execute(f"SELECT * FROM {t}")] for t in tables}
            integrity = conn.execute("PRAGMA integrity_check").fetchone()[0]
        finally:
            conn.close()
        return {**state, "integrity": integrity}


def answer(session, line):
    request_id = None
    try:
        request = json.loads(line)
        request_id = request["id"]
        method = getattr(session, request["method"].replace(".", "_"), None)
        if method is None:
            raise NotImplementedError(request["method"])
        return {"jsonrpc": "2.0", "id": request_id, "result": method(**request["params"]) or {}}
    except NotImplementedError as missing:
        error = {"code": -32601, "message": f"no method {missing}"}
    except Exception as fault:
        error = {"code": -32000, "message": repr(fault), "data": {"code": type(fault).__name__, "definite": False}}
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


if __name__ == "__main__":
    session = Session()
    for line in sys.stdin:
        print(json.dumps(answer(session, line)), flush=True)
