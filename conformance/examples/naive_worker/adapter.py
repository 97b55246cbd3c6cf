"""The door of the naive bus. It passes on what the bus does, and neither hides nor adds a fault.

What the bus raises is an error without a promise (`definite: false`), because the bus promises nothing.
"""

import json
import sys
import time

from bus import Bus


class Session:
    now = None

    def hello(self, protocol, system):
        return {
            "protocol": "1",
            "name": "naive_worker",
            "version": "1",
            "language": "python",
            "systems": ["worker"],
            "nouns": ["log", "cursor", "route", "lease", "presence", "blob", "retry", "export"],
            "features": ["process_loop", "dump", "sqlite"],
            "clock": "manual",
            "durability": "process-crash",
        }

    def open(self, store, options):
        self.bus = Bus(store, lambda: int(time.time() * 1000) if self.now is None else self.now)

    def close(self):
        self.now = None

    def clock_set(self, now_ms):
        self.now = now_ms

    def publish(self, agent_id, message):
        return {"id": self.bus.publish(agent_id, message)}

    def poll(self, agent_id, limit=100, wait_ms=0):
        return {"messages": self.bus.poll(agent_id, limit)}

    def ack(self, agent_id, seq):
        self.bus.ack(agent_id, seq)

    def process_loop(self, agent_id, limit=100, fail_ids=()):
        """One turn of a loop: handle, then acknowledge."""
        handled = []
        for msg in self.bus.poll(agent_id, limit):
            if msg["id"] in fail_ids:
                return {"handled": handled, "failed": msg["id"]}
            handled.append(msg["id"])
            self.bus.ack(agent_id, msg["seq"])
        return {"handled": handled}

    def try_claim_task(self, task_id, agent_id):
        return {"claimed": self.bus.try_claim(task_id, agent_id)}

    def renew_claim(self, task_id, agent_id, token=None):
        return {"renewed": self.bus.renew(task_id, agent_id)}

    def release_claim(self, task_id, agent_id, token=None):
        self.bus.release(task_id, agent_id)

    def heartbeat(self, agent_id, status, current_task=None, progress=None):
        self.bus.heartbeat(agent_id, status, current_task, progress)

    def liveness(self):
        return {"agents": list(self.bus.liveness())}

    def export_to_jsonl(self):
        self.bus.export()

    def save_blob(self, content):
        return {"ref": self.bus.save_blob(content)}

    def load_blob(self, ref):
        return {"content": self.bus.load_blob(ref)}

    def dump(self):
        conn = self.bus.connect()
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
