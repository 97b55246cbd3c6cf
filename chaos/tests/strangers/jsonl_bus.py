"""A bus of a stranger without a database: a log of JSON lines, locked and synced, and a file of cursors.

`jsonl_bus.py` is correct and survives power cuts. With a word it has one fault:

    joined   appends behind a torn line, so that two half lines become one broken line
    memory   the same, but a process knows its own lines as long as it lives
    reset    begins anew if the log does not end with a whole line
    counter  numbers by this process's own count
    unsynced does not sync
    mapped   stores through a memory mapping
"""

import contextlib
import fcntl
import json
import mmap
import os
import sys
import time
import uuid

FAULT = (sys.argv[1:] or [""])[0]


class Bus:
    """Every call looks at the file."""

    store = None
    counted = None

    def __init__(self):
        self.mine = {}  # store → rows of this process, in case its memory is believed

    def hello(self, protocol, system):
        names = {"protocol": "1", "name": "jsonl", "version": "1", "language": "python", "systems": ["worker"]}
        return {**names, "nouns": ["log", "cursor"], "features": ["dump"], "clock": "wall", "durability": "power-loss"}

    def open(self, store, options):
        self.store, self.log, self.cursors = store, f"{store}/log.jsonl", f"{store}/cursors.json"
        self.counted = None
        with open(self.log, "ab") as file:
            os.fsync(file.fileno())
        self.sync_folder()
        return {}

    def close(self):
        return {}

    def publish(self, agent_id, message):
        with open(f"{self.store}/lock", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            rows, whole = self.rows()
            for row in rows:
                if row["id"] == message.get("id"):
                    return {"id": row["id"], "seq": row["seq"]}
            if self.counted is None:
                self.counted = len(rows)
            self.counted += 1
            seq = self.counted if FAULT == "counter" else 1 + max((row["seq"] for row in rows), default=0)
            row = {"seq": seq, "id": message.get("id") or str(uuid.uuid4()), "from_agent": agent_id}
            row |= {"to_agent": message.get("to"), "type": message["type"], "ts_ms": time.time_ns() // 1_000_000}
            row |= {name: message[name] for name in ("correlation_id", "payload") if name in message}
            self.append(whole, json.dumps(row).encode() + b"\n")
            if FAULT == "memory":
                self.mine.setdefault(self.store, []).append(row)
            return {"id": row["id"], "seq": seq}

    def append(self, whole, line):
        fd = os.open(self.log, os.O_RDWR)
        size = os.fstat(fd).st_size
        if FAULT in ("joined", "memory"):
            whole = size
        if FAULT == "reset" and whole < size:
            whole = 0
        if whole < size:
            os.ftruncate(fd, whole)
        if FAULT == "mapped":
            os.ftruncate(fd, whole + len(line))
            with mmap.mmap(fd, whole + len(line)) as view:
                view[whole:] = line
                view.flush()
        else:
            os.pwrite(fd, line, whole)
        if FAULT != "unsynced":
            os.fsync(fd)
        os.close(fd)

    def rows(self):
        """All rows, and where the last whole line ends."""
        with open(self.log, "rb") as file:
            data = file.read()
        whole, rows = data.rfind(b"\n") + 1, []
        for line in data[:whole].splitlines():
            with contextlib.suppress(ValueError):
                rows.append(json.loads(line))
        known = {row["id"] for row in rows}
        return [*rows, *(row for row in self.mine.get(self.store, ()) if row["id"] not in known)], whole

    def acked(self):
        try:
            with open(self.cursors, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return {}

    def poll(self, agent_id, limit=100, wait_ms=0):
        last = self.acked().get(agent_id, 0)
        rows = [row for row in self.rows()[0] if row["seq"] > last and row["to_agent"] in (None, agent_id)]
        return {"messages": sorted(rows, key=lambda row: row["seq"])[:limit]}

    def ack(self, agent_id, seq):
        with open(f"{self.store}/lock", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            cursors = self.acked()
            cursors[agent_id] = max(seq, cursors.get(agent_id, 0))
            with open(self.cursors + ".tmp", "w", encoding="utf-8") as file:
                json.dump(cursors, file)
                file.flush()
                os.fsync(file.fileno())
            os.rename(self.cursors + ".tmp", self.cursors)
            self.sync_folder()
            return {"last_acked_seq": cursors[agent_id]}

    def sync_folder(self):
        fd = os.open(self.store, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)

    def dump(self):
        rows = [{**row, "payload": json.dumps(row["payload"]) if "payload" in row else None} for row in self.rows()[0]]
        cursors = [{"agent_id": name, "last_acked_seq": seq} for name, seq in sorted(self.acked().items())]
        return {"messages": rows, "cursors": cursors}


def main():
    bus = Bus()
    for line in sys.stdin:
        request = json.loads(line)
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            answer["result"] = getattr(bus, request["method"])(**request["params"])
        except OSError as error:
            answer["error"] = {"code": -32000, "message": str(error), "data": {"code": "IO_ERROR", "definite": False}}
        print(json.dumps(answer), flush=True)


main()
