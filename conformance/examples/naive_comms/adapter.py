"""The door of the naive bus. It passes on what the bus does, and neither hides nor adds a fault.

What the bus raises is an error without a promise (`definite: false`), because the bus promises nothing. The seed does
not say where its bucket stands; here each process has one for each sender, before a message is sent.
"""

import json
import os
import sys
import time

from bus import Breaker, Bucket, Bus, faults


class RateLimited(Exception):
    pass


class Session:
    bus = now = None

    def hello(self, protocol, system):
        return {
            "protocol": "1",
            "name": "naive_comms",
            "version": "1",
            "language": "python",
            "systems": ["comms"],
            "nouns": ["log", "route", "lease", "retry", "presence", "blob", "limit"],
            "features": ["validate", "wait", "breaker", "dump", "sqlite"],
            "clock": "manual",
            "durability": "process-crash",
        }

    def now_s(self):
        return time.time() if self.now is None else self.now / 1000

    def open(self, store, options):
        self.close()
        self.bus, self.buckets = Bus(store, self.now_s), {}

    def close(self):
        self.now = None
        if self.bus:
            self.bus.db.close()
            self.bus = None

    def clock_set(self, now_ms):
        self.now = now_ms

    def send_message(self, from_agent, message_type, payload, to_agent=None, ttl_seconds=None, **more):
        if not self.buckets.setdefault(from_agent, Bucket(self.now_s)).take():
            raise RateLimited(from_agent)
        return {"message_id": self.bus.send(from_agent, to_agent, message_type, payload, ttl_s=ttl_seconds, **more)}

    def receive_messages(self, agent_id, channels, limit=10, timeout_seconds=None):
        return {"messages": self.bus.receive(agent_id, channels, limit, timeout_seconds or 0)}

    def claim_message(self, agent_id, message_id):
        return {"claimed": self.bus.claim(message_id)}

    def complete_message(self, message_id, error=None, agent_id=None, delivery_count=None):
        self.bus.complete(message_id, error)

    def send_response(self, original_message, response_payload, artifact_path=None, agent_id=None):
        return {"message_id": self.bus.respond(original_message, response_payload, artifact_path)}

    def subscribe_to_channel(self, agent_id, channel_name):
        self.bus.subscribe(agent_id, channel_name)

    def unsubscribe_from_channel(self, agent_id, channel_name):
        self.bus.unsubscribe(agent_id, channel_name)

    def get_subscribed_channels(self, agent_id):
        return {"channels": self.bus.channels(agent_id)}

    def send_heartbeat(self, agent_id, status, current_task=None):
        self.bus.heartbeat(agent_id, status, current_task)

    def get_agent_health(self, agent_id):
        return self.bus.health(agent_id)

    def cleanup_expired_messages(self):
        return {"deleted": self.bus.cleanup()}

    def validate_message(self, message):
        wrong = faults(message)
        return {"valid": not wrong, "errors": wrong}

    def dead_letters(self):
        rows = [dict(row) for row in self.bus.db.execute("SELECT * FROM dead_letter_queue")]
        return {"dead_letters": [{**row, "original_message": json.loads(row["original_message"])} for row in rows]}

    def write_artifact(self, agent_id, task_id, content, name="result.json"):
        return {"artifact_path": self.bus.write_artifact(agent_id, task_id, content, name)}

    def read_artifact(self, artifact_path):
        """The seed says how an artifact is written; its reader opens the path that the message holds."""
        with open(os.path.join(self.bus.root, artifact_path)) as file:
            return {"content": json.load(file)}

    def circuit_breaker(self, events):
        breaker, answers = Breaker(), []
        for event in events:
            now_s, admitted = event["at_ms"] / 1000, None
            if event["event"] == "call":
                admitted = breaker.admits(now_s)
            elif event["event"] == "success":
                breaker.succeeded()
            else:
                breaker.failed(now_s)
            answers.append({"state": breaker.state, "admitted": admitted})
        return {"answers": answers}

    def dump(self):
        tables = ("messages", "dead_letter_queue", "agent_status", "channel_subscriptions")
        state = {t: [dict(row) for row in self.bus.db.execute(f"SELECT * FROM {t}")] for t in tables}
        return {**state, "integrity": self.bus.db.execute("PRAGMA integrity_check").fetchone()[0]}


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
        definite = isinstance(fault, RateLimited)  # the bucket was asked before anything else
        data = {"code": "RATE_LIMITED" if definite else type(fault).__name__, "definite": definite}
        error = {"code": -32000, "message": repr(fault), "data": data}
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


if __name__ == "__main__":
    session = Session()
    for line in sys.stdin:
        print(json.dumps(answer(session, line)), flush=True)
