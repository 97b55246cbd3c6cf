"""A complete adapter for the core of `worker`: busproof check worker --bus 'exec:python adapter.py'"""
import json, sys, time
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
    global clock
    clock = None
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
methods = {"open": open_, "clock.set": clock_set} | {f.__name__: f for f in (hello, close, publish, poll, ack,
           try_claim_task, renew_claim, release_claim, heartbeat, liveness)}
for line in sys.stdin:
    request = {"id": None}
    try:
        request = json.loads(line)
        answer = {"result": methods[request["method"]](**request["params"]) or {}}
    except json.JSONDecodeError as no:
        answer = {"error": {"code": -32700, "message": str(no)}}
    except Refused as no:
        answer = {"error": {"code": -32000, "message": str(no), "data": {"code": no.code, "definite": True}}}
    except KeyError as missing:
        answer = {"error": {"code": -32601, "message": f"no {missing}"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
