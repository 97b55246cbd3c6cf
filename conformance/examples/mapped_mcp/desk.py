"""A mailbox as an MCP server over stdio: one process for each agent, one SQLite file (DESK_FILE). To read is to take.

An agent joins and is given a number and a secret; with both it comes back after a restart. Others write to the number.
"""

import json, os, sqlite3, sys, uuid

TOOLS = {
    "join": ("Become an agent, or come back as one", {"nickname": "string", "secret": "string"}, ["nickname"]),
    "post_message": ("Write to an agent", {"recipient": "integer", "content": "string"}, ["recipient", "content"]),
    "read_messages": ("Take the messages that wait for you", {"max_count": "integer"}, []),
    "list_unconfirmed": ("Messages that you have not confirmed", {}, []),
    "confirm": ("Confirm messages", {"message_ids": "array"}, ["message_ids"]),
}
db = sqlite3.connect(os.environ["DESK_FILE"], timeout=10, isolation_level=None)
db.execute("PRAGMA journal_mode = WAL")
db.execute("PRAGMA synchronous = FULL")
db.execute("CREATE TABLE IF NOT EXISTS agents (id INTEGER PRIMARY KEY, nickname TEXT, secret TEXT UNIQUE)")
db.execute("CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY AUTOINCREMENT, sender INT, recipient INT,"
           " content TEXT, is_read INT DEFAULT 0, is_confirmed INT DEFAULT 0)")
me = None


def call(tool, given):
    global me
    if tool == "join":
        row = db.execute("SELECT id, secret FROM agents WHERE secret = ?", (given.get("secret"),)).fetchone()
        if row is None:
            secret = uuid.uuid4().hex
            row = (db.execute("INSERT INTO agents (nickname, secret) VALUES (?, ?)", (given["nickname"], secret)).lastrowid, secret)
        me = row[0]
        return {"agent": {"number": row[0], "secret": row[1]}}
    if me is None:
        raise ValueError("join first")
    if tool == "post_message":
        if not db.execute("SELECT 1 FROM agents WHERE id = ?", (given["recipient"],)).fetchone():
            raise ValueError(f"no agent is {given['recipient']}")
        row = (me, given["recipient"], given["content"])
        return {"message_id": db.execute("INSERT INTO messages (sender, recipient, content) VALUES (?, ?, ?)", row).lastrowid}
    if tool == "confirm":
        for id_ in given["message_ids"]:
            db.execute("UPDATE messages SET is_confirmed = 1 WHERE id = ? AND recipient = ?", (id_, me))
        return {"confirmed": True}
    db.rollback()
    db.execute("BEGIN IMMEDIATE")
    state = "is_read" if tool == "read_messages" else "is_confirmed"
    rows = db.execute(f"SELECT id, sender, content FROM messages WHERE recipient = ? AND {state} = 0 ORDER BY id LIMIT ?",
                      (me, given.get("max_count", 50) if tool == "read_messages" else -1)).fetchall()
    if tool == "read_messages":
        db.executemany("UPDATE messages SET is_read = 1 WHERE id = ?", [row[:1] for row in rows])
    db.execute("COMMIT")
    return {"inbox": {"messages": [{"id": id_, "author": {"number": sender}, "content": text} for id_, sender, text in rows]}}


for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "desk", "version": "1.0"}}
    elif request["method"] == "tools/list":
        result = {"tools": [{"name": name, "description": text, "inputSchema": {"type": "object", "required": needed,
                  "properties": {field: {"type": kind} for field, kind in fields.items()}}} for name, (text, fields, needed) in TOOLS.items()]}
    elif request["method"] == "tools/call":
        try:
            output, failed = json.dumps(call(request["params"]["name"], request["params"].get("arguments", {}))), False
        except (ValueError, KeyError, sqlite3.Error) as error:
            output, failed = f"{error}", True
        result = {"content": [{"type": "text", "text": output}], "isError": failed}
    else:
        result = {}
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
