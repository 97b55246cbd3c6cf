"""A mailbox as a JSON API: one server for all agents, one SQLite file. A reader holds its position; jobs have a time-out.

    POST /messages {from, to, body}                         GET /inbox/AGENT?after=N&limit=N
    POST /jobs/QUEUE {text}, /jobs/QUEUE/take {worker, seconds}     DELETE /jobs/QUEUE/ID?take=N
"""

import contextlib, json, sqlite3, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

SCHEMA = """
CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY AUTOINCREMENT, sender TEXT, recipient TEXT, body TEXT);
CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT, text TEXT, takes INT DEFAULT 0, free_at REAL DEFAULT 0);
"""


def connected():
    # For each request anew: a file that SQLite could open for reading alone, once, is no reason to stay so.
    return contextlib.closing(sqlite3.connect(sys.argv[2], timeout=10, isolation_level=None))


def answer(db, method, path, query, given):
    match method, *path:
        case "GET", "health":
            return {}
        case "POST", "messages":
            row = (given["from"], given["to"], given["body"])
            return {"id": db.execute("INSERT INTO messages (sender, recipient, body) VALUES (?, ?, ?)", row).lastrowid}
        case "GET", "inbox", agent:
            after, limit = int(query.get("after", 0)), int(query.get("limit", 50))
            rows = db.execute("SELECT id, sender, body FROM messages WHERE recipient = ? AND id > ? ORDER BY id LIMIT ?",
                              (agent, after, limit)).fetchall()
            mails = [{"id": id_, "from": sender, "body": body} for id_, sender, body in rows]
            return {"mails": mails, "last": mails[-1]["id"] if mails else after}
        case "POST", "jobs", queue:
            return {"id": db.execute("INSERT INTO jobs (queue, text) VALUES (?, ?)", (queue, given["text"])).lastrowid}
        case "POST", "jobs", queue, "take":
            row = db.execute("UPDATE jobs SET takes = takes + 1, free_at = ? WHERE id = (SELECT min(id) FROM jobs WHERE"
                             " queue = ? AND free_at <= ?) RETURNING id, text, takes",
                             (time.time() + given["seconds"], queue, time.time())).fetchall()
            return {"job": {"id": row[0][0], "text": row[0][1], "take": row[0][2]} if row else None}
        case "DELETE", "jobs", queue, id_:
            done = db.execute("DELETE FROM jobs WHERE id = ? AND queue = ? AND takes = ? AND free_at > ?",
                              (id_, queue, query["take"], time.time()))
            return {} if done.rowcount else None


class Handler(BaseHTTPRequestHandler):
    def reply(self):
        place = urlsplit(self.path)
        given = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        query = {name: values[0] for name, values in parse_qs(place.query).items()}
        try:
            with connected() as db:
                reply = answer(db, self.command, [unquote(part) for part in place.path.split("/")[1:]], query, given)
            self.send_response(404 if reply is None else 200)
        except (KeyError, ValueError) as error:
            reply = {"error": f"{error} is missing or wrong"}
            self.send_response(400)
        except sqlite3.Error as error:
            reply = {"error": f"{error}"}
            self.send_response(500)
        self.end_headers()
        self.wfile.write(json.dumps(reply).encode())

    do_GET = do_POST = do_DELETE = reply

    def log_message(self, *_):
        pass


with connected() as db:
    db.executescript(SCHEMA)
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
