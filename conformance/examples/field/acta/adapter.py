"""acta 0.1.0. Its page: files in a shared folder, durable; read shows the newest message first. `clear` names no agent."""

import json
import sys

import acta

HELLO = {"protocol": "1", "name": "acta", "version": "0.1.0", "language": "python", "systems": ["mailbox"]}
HELLO |= {"nouns": ["log", "cursor"], "features": ["sender"], "durability": "process-crash", "clock": "wall"}
store = ""
for line in sys.stdin:
    request = json.loads(line) if line.endswith("}\n") else {"method": "no JSON", "id": None}
    method, p, answer = request["method"], request.get("params", {}), {"result": {}}
    if method == "hello":
        answer["result"] = HELLO
    elif method == "open":
        store = p["store"]
    elif method == "send":
        answer["result"] = {"id": acta.post(p["body"], p["agent_id"], p["to"], board=store).stem}
    elif method == "receive":
        rows = [{**row, "from_agent": row.get("from")} for row in acta.read(p["agent_id"], store)]
        answer["result"] = {"messages": rows[::-1][: p.get("limit")]}
    elif method != "close":
        answer = {"error": {"code": -32601, "message": method}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
