"""The door of the listing of seed 001. It passes on what the listing does, and neither hides nor adds a fault.

The listing asks `time.time()`, so the clock is set by giving its module another `time`. What the listing raises is an
error without a promise (`definite: false`), because the listing promises nothing. The seed does not say where its
bucket stands; here each process has one for each sender, before `send_message`.
"""

import contextlib
import json
import os
import sys
import time
from types import SimpleNamespace

import listing


class RateLimited(Exception):
    pass


class Session:
    conn = None

    def hello(self, protocol, system):
        return {
            "protocol": "1",
            "name": "seed 001 listing",
            "version": "1.0",
            "language": "python",
            "systems": ["comms"],
            "nouns": ["log", "route", "lease", "retry", "presence", "blob", "limit"],
            "features": ["validate", "wait", "breaker", "dump", "sqlite"],
            "clock": "manual",
            "durability": "process-crash",
        }

    def open(self, store, options):
        self.close()
        self.store, self.buckets = store, {}
        self.conn = listing.initialize_communication_system(store)

    def close(self):
        listing.time = time
        if self.conn:
            self.conn.close()
            self.conn = None

    def clock_set(self, now_ms):
        listing.time = SimpleNamespace(time=lambda: now_ms / 1000, monotonic=time.monotonic, sleep=time.sleep)

    def _take_token(self, agent):
        bucket = self.buckets.setdefault(agent, listing.TokenBucket(100, 10))
        if not bucket.consume():
            raise RateLimited(agent)

    def send_message(self, from_agent, message_type, payload, to_agent=None, **more):
        self._take_token(from_agent)
        return {"message_id": listing.send_message(self.conn, from_agent, to_agent, message_type, payload, **more)}

    def receive_messages(self, agent_id, channels, limit=10, timeout_seconds=None):
        return {"messages": listing.receive_messages(self.conn, agent_id, channels, limit, timeout_seconds)}

    def claim_message(self, agent_id, message_id):
        return {"claimed": listing.claim_message(self.conn, agent_id, message_id)}

    def complete_message(self, message_id, error=None, agent_id=None, delivery_count=None):
        listing.complete_message(self.conn, message_id, error)

    def send_response(self, original_message, response_payload, artifact_path=None, agent_id=None):
        reply = listing.send_response(self.conn, original_message, response_payload, artifact_path)
        return {"message_id": reply}

    def subscribe_to_channel(self, agent_id, channel_name):
        listing.subscribe_to_channel(self.conn, agent_id, channel_name)

    def unsubscribe_from_channel(self, agent_id, channel_name):
        listing.unsubscribe_from_channel(self.conn, agent_id, channel_name)

    def get_subscribed_channels(self, agent_id):
        return {"channels": listing.get_subscribed_channels(self.conn, agent_id)}

    def send_heartbeat(self, agent_id, status, current_task=None):
        listing.send_heartbeat(self.conn, agent_id, status, current_task)

    def get_agent_health(self, agent_id):
        return listing.get_agent_health(self.conn, agent_id)

    def cleanup_expired_messages(self):
        return {"deleted": listing.cleanup_expired_messages(self.conn)}

    def validate_message(self, message):
        valid, errors = listing.validate_message(message)
        return {"valid": valid, "errors": errors}

    def dead_letters(self):
        rows = [dict(row) for row in self.conn.execute("SELECT * FROM dead_letter_queue")]
        return {"dead_letters": [{**row, "original_message": json.loads(row["original_message"])} for row in rows]}

    def write_artifact(self, agent_id, task_id, content, name="result.json"):
        return {"artifact_path": listing.write_artifact(self.store, agent_id, task_id, content)}

    def read_artifact(self, artifact_path):
        """The document says how an artifact is written; its reader opens the path that the message holds."""
        with open(os.path.join(self.store, artifact_path)) as file:
            return {"content": json.load(file)}

    def circuit_breaker(self, events):
        """A call is admitted if the listing calls the function; its end is told by a later event."""
        breaker, answers = listing.CircuitBreaker(), []
        real, listing.time = listing.time, SimpleNamespace(time=lambda: at_ms / 1000)
        try:
            for number, event in enumerate(events):
                at_ms, admitted = event["at_ms"], None
                if event["event"] == "call":
                    end = next((e["event"] for e in events[number + 1 :] if e["event"] != "call"), None)
                    admitted, state = self._call(breaker, end)
                    if end is None or events[number + 1]["event"] == "call":
                        breaker.state = state  # still under way
                answers.append({"state": breaker.state, "admitted": admitted})
        finally:
            listing.time = real
        return {"answers": answers}

    def _call(self, breaker, end):
        seen = []

        def function():
            seen.append(breaker.state)
            if end == "failure":
                raise RuntimeError("asked to fail")

        with contextlib.suppress(Exception):
            breaker.call(function)
        return bool(seen), seen[0] if seen else breaker.state

    def dump(self):
        tables = ("messages", "dead_letter_queue", "agent_status", "channel_subscriptions")
        state = {t: [dict(row) for row in self.conn.execute(f"SELECT * FROM {t}")] for t in tables}
        return {**state, "integrity": self.conn.execute("PRAGMA integrity_check").fetchone()[0]}


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
