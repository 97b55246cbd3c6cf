"""A complete adapter for the core of `worker`: busproof check worker --bus 'exec:python adapter.py'"""
import json, sqlite3, sys, time
from bus import Bus, Refused
bus, clock = None, None
def now(): return int(time.time() * 1000) if clock is None else clock
def hello(protocol, system):
    return {"protocol": "1", "name": "minimal-python", "version": "1", "language": "python", "systems": ["worker"],
            "nouns": ["log", "cursor", "route", "lease", "presence"], "features": ["seq"], "clock": "manual"}
def open_(store, options):
    global bus
    bus = Bus(f"{store}/minimal.db")
def close():
    clock_set(None)
    bus.db.close()
def clock_set(now_ms):
    global clock
    clock = now_ms
def publish(agent_id, message): return dict(zip(("id", "seq"), bus.publish(now(), agent_id, message)))
def poll(agent_id, limit=100, wait_ms=0): return {"messages": bus.poll(agent_id, limit)}
def ack(agent_id, seq): bus.ack(agent_id, seq)
def try_claim_task(task_id, agent_id): return {"claimed": bus.claim(now(), task_id, agent_id)}
def renew_claim(task_id, agent_id, token=None): return {"renewed": bus.renew(now(), task_id, agent_id)}
def release_claim(task_id, agent_id, token=None): return {"released": bus.release(task_id, agent_id)}
def heartbeat(agent_id, **row): bus.beat(now(), agent_id, row)
def liveness(): return {"agents": list(bus.liveness(now()))}
methods = {"open": open_, "clock.set": clock_set} | {f.__name__: f for f in (
    hello, close, publish, poll, ack, try_claim_task, renew_claim, release_claim, heartbeat, liveness)}
full_or_busy = {sqlite3.SQLITE_FULL: "DISK_FULL", sqlite3.SQLITE_BUSY: "DB_BUSY"}
for line in sys.stdin:
    request, error = {"id": None}, None
    try:
        request = json.loads(line)
        result = methods[request["method"]](**request["params"]) or {}
    except json.JSONDecodeError as no: error = {"code": -32700, "message": str(no)}
    except KeyError as missing: error = {"code": -32601, "message": f"no {missing}"}
    except (Refused, sqlite3.Error) as no:
        code = no.code if isinstance(no, Refused) else full_or_busy.get(no.sqlite_errorcode, "IO_ERROR")
        error = {"code": -32000, "message": str(no), "data": {"code": code, "definite": code != "IO_ERROR"}}
    answer = {"error": error} if error else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
