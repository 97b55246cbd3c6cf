"""`toml:`: a command line, an MCP server and a JSON API are buses by a file of at most 30 lines."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance.tests.program import busproof

from busproof.bus.base import Door, Lost, Refused
from busproof.bus.child import Household
from busproof.bus.doors import open_door
from busproof.bus.toml.door import SLEEPERS
from busproof.cli import main
from busproof.contract import CONTRACTS
from busproof.run import doctor

EXAMPLES = Path(__file__).parents[1] / "examples"
MAPPED = {name: EXAMPLES / f"mapped_{name}/bus.toml" for name in ("cli", "mcp", "http")}
BODIES = [
    "$body $$ ${to}",
    "'\"`$HOME $(id)",
    "a\nb\r\n\tc",
    "-n",
    "--help",
    " lead, tail ",
    "ü€😀",
    "null",
    "7",
    "{}",
    "",
]


class Fleet:
    """Agents of one store, each in a process of its own."""

    def __init__(self, file: Path, store: Path) -> None:
        self.household, self._file, self._store = Household(), file, store
        self._doors: list[Door] = []

    def join(self) -> Door:
        """Another process."""
        door = open_door(f"toml:{shlex.quote(str(self._file))}", self.household.spawn)
        self._doors.append(door)
        door.get_ready("mailbox")
        door.call("open", {"store": str(self._store), "options": {}})
        return door

    def end(self) -> list[str]:
        """What was left running."""
        for door in self._doors:
            door.close()
        return self.household.end()


@pytest.fixture(params=MAPPED)
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fleet]:
    """On a store of one of the examples."""
    made = Fleet(MAPPED[request.param], tmp_path / "store")
    yield made
    made.end()


def ask(door: Door, method: str, agent: str, **params: Any) -> dict[str, Any]:
    """The answer, which has the contract's form."""
    reply = door.call(method, {"agent_id": agent, **params})
    CONTRACTS["mailbox"].methods[method].reply.of(reply)
    return reply


def running(processes: list[Path]) -> int:
    """How many of them are not over."""
    states = [(process / "stat").read_text().rpartition(")")[2].split()[0] for process in processes if process.exists()]
    return sum(state != "Z" for state in states)


@pytest.mark.parametrize("name", MAPPED)
def test_the_file_is_short_and_so_is_the_bus(name: str) -> None:
    """Whole files, blank lines included."""
    assert len(MAPPED[name].read_text().splitlines()) <= 30
    program = next(path for path in MAPPED[name].parent.iterdir() if path.suffix == ".py")
    assert len(program.read_text().splitlines()) <= 80


def test_whatever_a_message_holds_it_arrives_as_it_was_sent(fleet: Fleet) -> None:
    """From ann to bob, and nobody else sees it; both names are those of the kit."""
    ann, bob, cy = fleet.join(), fleet.join(), fleet.join()
    ids = [ask(ann, "send", "ann", to="bob", body=body)["id"] for body in BODIES]
    shown = ask(bob, "receive", "bob", limit=100)["messages"]
    assert [(message["id"], message["from_agent"], message["body"]) for message in shown] == [
        (id_, "ann", body) for id_, body in zip(ids, BODIES, strict=True)
    ]
    assert ask(cy, "receive", "cy", limit=100)["messages"] == []


def test_an_agent_comes_back_as_itself_after_a_kill(fleet: Fleet) -> None:
    """A new process resumes with what the old one saved."""
    ann, bob = fleet.join(), fleet.join()
    ask(bob, "receive", "bob", limit=10)
    bob.kill()
    sent = ask(ann, "send", "ann", to="bob", body="still here?")
    shown = ask(fleet.join(), "receive", "bob", limit=10)["messages"]
    assert [message["id"] for message in shown] == [sent["id"]]


def test_a_kill_of_a_participant_ends_all_that_it_started_and_the_others_go_on(fleet: Fleet) -> None:
    """Also where its server is that of all: the next call starts the server again."""
    ann = fleet.join()
    ask(ann, "send", "ann", to="bob", body="one")
    bob = fleet.join()
    assert len(ask(bob, "receive", "bob", limit=10)["messages"]) == 1
    group = ann.processes()
    ann.kill()
    assert _patiently(lambda: running(group) == 0)
    again = _patiently(lambda: ask(bob, "send", "bob", to="bob", body="two"))
    assert again["id"] in [message["id"] for message in ask(bob, "receive", "bob", limit=10)["messages"]]
    assert fleet.end() == []


def test_nothing_runs_any_more_once_all_have_left(fleet: Fleet) -> None:
    """A server that all share ends with the last of them."""
    ann, bob = fleet.join(), fleet.join()
    ask(ann, "send", "ann", to="bob", body="one")
    ask(bob, "receive", "bob", limit=10)
    ann.call("close", {})
    ask(bob, "send", "bob", to="ann", body="two")
    bob.call("close", {})
    assert running(ann.processes()) == running(bob.processes()) == 1
    assert fleet.end() == []


def test_processes_of_one_household_live_in_different_time_zones(tmp_path: Path) -> None:
    """And each says which of them it is."""
    household = Household()
    children = [household.spawn(["sh", "-c", "echo $TZ $BUSPROOF_PARTICIPANT"]) for _ in range(3)]
    lines = [child.read_line("its zone").split() for child in children]
    assert len({zone for zone, _ in lines}) == 3
    assert [number for _, number in lines] == [b"0", b"1", b"2"]
    for child in children:
        child.close()


# -- smaller things, each on a program of a few lines


def bus(tmp_path: Path, toml: str, **programs: str) -> Fleet:
    """A bus.toml with its programs beside it."""
    for name, text in programs.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    file = tmp_path / "bus.toml"
    file.write_text(f'name = "x 1"\n{toml}'.replace("PYTHON", sys.executable), encoding="utf-8")
    return Fleet(file, tmp_path / "store")


ECHO = """\
door = { cli = ["PYTHON", "$here/echo.py"] }
send = { args = ["send", "$body"] }
receive = { args = ["inbox"], message = { id = "id", body = "body" } }
"""


@pytest.mark.parametrize(
    ("act", "code", "definite"),
    [
        ("sys.exit('the inbox holds 50')", "MAILBOX_FULL", True),
        ("sys.exit('who are you?')", "REFUSED", True),
        ("sys.exit('lost the lock after writing')", "BUSY", False),
        ("raise ValueError", "INTERNAL", False),
        ("raise ValueError('long' * 500)", "INTERNAL", False),
        ("sys.exit('index.js:1\\nError: no\\n    at main\\n\\nNode.js v22.1.0')", "INTERNAL", False),
        ("sys.exit(\"thread 'main' panicked at main.rs:2:5:\\nno\")", "INTERNAL", False),
        ('sys.exit("bus.rb:2:in `write\': no (Errno::EIO)")', "INTERNAL", False),
        ("sys.exit('the disk is full: ' + 'long' * 500)", "DISK_FULL", True),
        ("raise OSError(28, 'No space left on device')", "DISK_FULL", False),
        ("os.kill(os.getpid(), 9)", "NO_ANSWER", False),
        ("time.sleep(60)", "NO_ANSWER", False),
        ('print(\'{"note": "fine"}\')', "NO_ANSWER", False),
        ('print(\'{"error": "no such agent"}\')', "REFUSED", True),
    ],
)
def test_a_refusal_says_whether_it_happened(act: str, code: str, definite: bool, tmp_path: Path) -> None:
    """By the patterns of the file first; a crash, a death and silence promise nothing."""
    errors = (
        'errors = [{ match = "holds \\\\d+", code = "MAILBOX_FULL" },'
        ' { match = "lock", code = "BUSY", definite = false }]\n'
    )
    toml = ECHO.replace('"$body"] }', '"$body"], timeout_s = 3, refused = "error" }')
    fleet = bus(tmp_path, errors + toml, echo=f"import os, sys, time\n{act}\n")
    with pytest.raises(Refused) as refused:
        ask(fleet.join(), "send", "ann", to="bob", body="one")
    assert (refused.value.code, refused.value.definite) == (code, definite)
    fleet.end()


def test_a_call_is_made_again_where_the_file_says_so(tmp_path: Path) -> None:
    """After a refusal that matches, with the steps before it; and as long as there is another page."""
    program = (
        "import json, sys\nstate = sys.argv[1]\ncount = len(open(state, 'a+').read() or open(state).read())\n"
        "if sys.argv[2] == 'base':\n    open(state, 'a').write('x'); print(json.dumps({'base': count + 1}))\n"
        "elif sys.argv[2] == 'send':\n    sys.exit('stale') if count < 3 else print(json.dumps({'id': sys.argv[3]}))\n"
        "else:\n    page = int(sys.argv[3]) if sys.argv[3:] else 0\n"
        "    print(json.dumps({'rows': [{'id': page, 'body': 'b'}], 'next': page + 1 if page < 2 else None}))\n"
    )
    toml = """\
door = { cli = ["PYTHON", "$here/paged.py", "$store/state"] }
[send]
before = [{ args = ["base"], save = { base = "base" } }]
args = ["send", "$base"]
again = { when = "stale", times = 5 }
[receive]
args = ["inbox", "$page"]
list = "rows"
message = { id = "id", body = "body" }
save = { page = "next" }
again = { while = "next" }
"""
    ann = (fleet := bus(tmp_path, toml, paged=program)).join()
    assert ask(ann, "send", "ann", to="bob", body="one")["id"] == "3"
    for _ in range(2):  # the second begins with the first page again
        assert [row["id"] for row in ask(ann, "receive", "ann", limit=10)["messages"]] == ["0", "1", "2"]
    fleet.end()


def test_a_step_may_end_with_a_status_that_is_no_refusal(tmp_path: Path) -> None:
    """Of a command that waits, and says by it that nothing came; any other status is a refusal."""
    toml = ECHO.replace('"inbox"]', '"inbox"], before = [{ args = ["wait", "$wait_s"], statuses = [3] }]')
    program = "import sys\nsys.exit(int(float(sys.argv[2]))) if sys.argv[1] == 'wait' else print('[]')\n"
    bob = (fleet := bus(tmp_path, toml, echo=program)).join()
    assert ask(bob, "receive", "bob", wait_ms=3000)["messages"] == []
    with pytest.raises(Refused, match="exit status 4"):
        ask(bob, "receive", "bob", wait_ms=4000)
    fleet.end()


def test_a_command_reads_json_and_takes_json_as_a_word(tmp_path: Path) -> None:
    """What has no value is left out of both."""
    json_ = '{ "$json" = { to = "$to", text = "$body", thread = "$thread" } }'
    toml = ECHO.replace('["send", "$body"]', f'["send", {json_}], stdin = {json_}')
    program = "import json, sys\nprint(json.dumps({'id': sys.argv[2] + sys.stdin.read()}))\n"
    ann = (fleet := bus(tmp_path, toml, echo=program)).join()
    assert ask(ann, "send", "ann", to="bob", body='"1"')["id"] == '{"to": "bob", "text": "\\"1\\""}' * 2
    fleet.end()


def test_a_channel_is_made_for_each_recipient_once(tmp_path: Path) -> None:
    """All sessions of the sender use it."""
    toml = ECHO.replace(
        '["send", "$body"]',
        '["$channel"], before = [{ args = ["new", "$from", "$to", "$now"], once = true, save = { channel = "id" } }]',
    )
    program = "import json, sys\nprint(json.dumps({'id': ' '.join(sys.argv[1:])}))\n"
    fleet = bus(tmp_path, toml, echo=program)
    channels = [
        ask(door, "send", "ann", to=to, body="one")["id"]
        for door in (fleet.join(), fleet.join())
        for to in ("bob", "cy")
    ]
    assert channels[:2] == channels[2:]
    assert [channel.rpartition(" ")[0] for channel in channels[:2]] == ["new ann bob", "new ann cy"]
    fleet.end()


def test_every_other_process_comes_by_the_second_way(tmp_path: Path) -> None:
    """To the same store; an operation that the second way lacks takes the first."""
    program = "import json, sys\nprint(json.dumps({'id': sys.argv[1]} if sys.argv[2] == 'send' else []))\n"
    toml = ECHO.replace("echo.py", 'echo.py", "front') + (
        'also = { door = { cli = ["PYTHON", "$here/echo.py", "back"] }, send = { args = ["send"] } }\n'
    )
    fleet = bus(tmp_path, toml, echo=program)
    ways = [ask(fleet.join(), "send", "ann", to="bob", body="one")["id"] for _ in range(4)]
    assert ways == ["front", "back", "front", "back"]
    fleet.end()


def test_an_agent_can_be_a_live_process(tmp_path: Path) -> None:
    """It lives on when its session is killed, for others write to it meanwhile, and ends with the kit."""
    toml = 'names = { pattern = "codex#{n}", needs_pid = true }\n' + ECHO.replace('"$body"', '"$agent", "$pid"')
    program = "import json, sys\nprint(json.dumps({'id': ' '.join(sys.argv[2:])}))\n"
    fleet = bus(tmp_path, toml, echo=program)
    door = fleet.join()
    name, pid = ask(door, "send", "ann", to="bob", body="one")["id"].split()
    assert name == "codex#1"
    door.kill()
    assert ask(fleet.join(), "send", "ann", to="bob", body="two")["id"].split() == [name, pid]
    assert ask(fleet.join(), "send", "bob", to="ann", body="three")["id"].split()[1] != pid
    assert fleet.end() == []


@pytest.mark.parametrize(("promises", "count"), [("", 2), ("promises = { consumes = true }\n", 3)])
def test_a_door_keeps_nothing_back_that_a_bus_shows_only_once(tmp_path: Path, promises: str, count: int) -> None:
    """Two processes of an agent would show it in another order than the bus did."""
    program = "import json\nprint(json.dumps([{'id': n, 'body': 'one'} for n in range(3)]))\n"
    fleet = bus(tmp_path, promises + ECHO, echo=program)
    assert len(ask(fleet.join(), "receive", "ann", limit=2)["messages"]) == count
    fleet.end()


REGISTERS = """\
import json, pathlib, sys
seen = pathlib.Path(sys.argv[2]) / sys.argv[3]
if sys.argv[1] == "register" and not seen.exists():
    seen.write_text("")
    sys.exit("come again")
print(json.dumps({"id": "1"} if sys.argv[1] == "send" else []))
if sys.argv[1] == "register":
    seen.write_text("registered")
"""


def test_an_agent_whose_session_did_not_begin_gets_one_before_others_write_to_it(tmp_path: Path) -> None:
    """Its own may be on its way for long: a slow server's is."""
    toml = ECHO + 'session = [{ args = ["register", "$store", "$agent"] }]\n'
    toml = toml.replace('"inbox"', '"inbox", "$store", "$agent"').replace('"$body"', '"$store", "$to"')
    fleet = bus(tmp_path, toml, echo=REGISTERS)
    door, other = fleet.join(), fleet.join()
    for agent in ("ann", "bob"):
        with pytest.raises(Refused, match="come again"):
            ask(door, "receive", agent)
    ask(other, "send", "ann", to="bob", body="one")
    assert (tmp_path / "store" / "bus" / "bob").read_text() == "registered"
    fleet.end()


def test_a_live_process_that_is_an_agent_ends_with_the_kit_however_that_ends() -> None:
    words = """
import os
from busproof.bus.toml.door import pid_of
pid_of("bob")
if not os.fork():
    pid_of("ann")
    os._exit(0)
os.wait()
print(pid_of("ann"), open(f"/proc/{pid_of('ann')}/stat").read().rpartition(")")[2].split()[19], flush=True)
os.kill(os.getpid(), 9)
"""
    env = {name: value for name, value in os.environ.items() if name != SLEEPERS}  # no part of this run
    killed = subprocess.run([sys.executable, "-c", words], capture_output=True, check=False, env=env)
    assert killed.returncode == -signal.SIGKILL
    pid, began = killed.stdout.decode().split()

    def lives() -> bool:
        """As a process that began then: another may have the number by now."""
        try:
            state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return False
        return state != "Z" and rest[18] == began

    deadline = time.monotonic() + 60
    while lives() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not lives()


IN_MEMORY = """\
import json, sys
mail = []
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        asked = request.get("params", {}).get("arguments", {})
        if request.get("params", {}).get("name") == "send":
            mail.append({"id": f"m{len(mail)}", **asked})
        value = [letter for letter in mail if letter["to"] == asked.get("me")] if "me" in asked else mail[-1:]
        result = {"content": [{"type": "text", "text": json.dumps(value)}]}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""
REMEMBERS = """\
door = { mcp = ["PYTHON", "$here/server.py"], per = "store" }
send = { tool = "send", args = { to = "$to", body = "$body" }, id = "[0].id" }
receive = { tool = "inbox", args = { me = "$agent" }, message = { id = "id", body = "body" } }
"""
KILLED = [
    {"do": "open", "at": 0},
    {"do": "open", "at": 1},
    {"do": "call", "at": 0, "method": "receive", "params": {"agent_id": "ann"}},
    {"do": "call", "at": 1, "method": "receive", "params": {"agent_id": "bob"}},
    {"do": "call", "at": 0, "method": "send", "params": {"agent_id": "ann", "to": "bob", "body": "hello"}},
    {"do": "restart", "at": 0, "kill": True},
    {"do": "call", "at": 1, "method": "receive", "params": {"agent_id": "bob"}},
]


@pytest.mark.parametrize(("durability", "code"), [("none", 0), ("process-crash", 1)])
def test_a_bus_in_memory_is_asked_nothing_of_deaths(durability: str, code: int, tmp_path: Path) -> None:
    """Where its file says so; if it says that messages outlive a process, a kill shows that they do not."""
    bus(tmp_path, REMEMBERS + f'promises = {{ durability = "{durability}" }}\n', server=IN_MEMORY)
    steps = [json.dumps({"name": str(number), **step}) for number, step in enumerate(KILLED)]
    (tmp_path / "killed.jsonl").write_text("\n".join(steps) + "\n")
    argv = ["explore", "mailbox", "--script", str(tmp_path / "killed.jsonl"), "--out", str(tmp_path / "out")]
    assert main([*argv, "--bus", f"toml:{shlex.quote(str(tmp_path / 'bus.toml'))}"]) == code


LIVE = """\
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        value = [] if request.get("params", {}).get("name") == "inbox" else {"id": f"{sys.argv[1]} {os.getpid()}"}
        result = {"content": [{"type": "text", "text": json.dumps(value)}]}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


def test_an_agent_that_is_one_live_process_is_that_for_all_who_work_as_it(tmp_path: Path) -> None:
    """Each agent has a process, whoever asks. A killed participant takes along whom it alone spoke for."""
    server = '"$here/server.py", "$agent"], per = "name"'
    fleet = bus(tmp_path, ONE_FOR_ALL.replace('"$here/server.py"], per = "store"', server), server=LIVE)
    first, second = fleet.join(), fleet.join()
    shown = [ask(door, "send", agent, to="x", body="one")["id"] for agent in ("ann", "bob") for door in (first, second)]
    assert [words.split()[0] for words in shown] == ["ann", "ann", "bob", "bob"]
    assert len(set(shown)) == 2
    second.call("close", {})
    assert ask(first, "send", "bob", to="x", body="one")["id"] == shown[-1]
    third = fleet.join()
    eve = ask(first, "send", "eve", to="x", body="one")["id"]
    dan = ask(third, "send", "dan", to="x", body="one")["id"]
    ask(third, "send", "eve", to="x", body="one")
    third.kill()
    assert ask(first, "send", "eve", to="x", body="one")["id"] == eve
    assert ask(first, "send", "dan", to="x", body="one")["id"] != dan
    assert fleet.end() == []


ONE_FOR_ALL = """\
door = { mcp = ["PYTHON", "$here/server.py"], per = "store" }
send = { tool = "send", args = { body = "$body" } }
receive = { tool = "inbox", message = { id = "id", body = "body" } }
"""
SERVER = """\
import json, sys, threading, time
lock = threading.Lock()
def answer(request):
    if request["method"] == "tools/call" and request["params"]["name"] == "send":
        time.sleep(1.0)
        value = {"id": str(time.monotonic_ns())}
    else:
        value = []
    result = {"content": [{"type": "text", "text": json.dumps(value)}]}
    with lock:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
print("a banner, which is no message", flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        ONE_OR_MANY
"""


def test_a_command_that_leaves_a_process_behind_is_answered_when_it_ends(tmp_path: Path) -> None:
    """And not when that process lets go of the output. One that does not end is told with what it wrote."""
    program = """\
import subprocess, sys, time
subprocess.Popen(["sleep", "600"])
print("on my way", file=sys.stderr, flush=True)
time.sleep(600 * (sys.argv[-1] == "two"))
print('{"id": "1"}')
"""
    fleet = bus(tmp_path, ECHO.replace('"$body"]', '"$body"], timeout_s = 10'), echo=program)
    door = fleet.join()
    began = time.monotonic()
    assert ask(door, "send", "ann", to="bob", body="one")["id"] == "1"
    assert time.monotonic() - began < 300
    with pytest.raises(Refused, match=r"echo.* two did not end in 10 s: on my way"):
        ask(door, "send", "ann", to="bob", body="two")
    fleet.end()


@pytest.mark.parametrize(
    ("how", "at_once"), [("threading.Thread(target=answer, args=[request]).start()", True), ("answer(request)", False)]
)
def test_agents_share_one_server_and_call_it_at_once(how: str, at_once: bool, tmp_path: Path) -> None:
    """The server decides whether calls overlap; each answer finds its caller."""
    fleet = bus(tmp_path, ONE_FOR_ALL, server=SERVER.replace("ONE_OR_MANY", how))
    doors = [fleet.join() for _ in range(3)]
    for door in doors:
        ask(door, "receive", "x", limit=1)
    spans: list[tuple[float, float]] = []

    def send(door: Door, agent: str) -> None:
        began = time.monotonic()
        ask(door, "send", agent, to="x", body="one")
        spans.append((began, time.monotonic()))

    threads = [threading.Thread(target=send, args=(door, str(number))) for number, door in enumerate(doors)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(spans) == 3
    whole_s = max(end for _, end in spans) - min(began for began, _ in spans)
    assert at_once or whole_s >= 3.0
    answered_apart_s = max(end for _, end in spans) - min(end for _, end in spans)
    assert not at_once or answered_apart_s < 1.9, "two of them waited for others"
    assert fleet.end() == []


def test_a_server_that_was_killed_with_the_process_that_started_it_is_no_silence(tmp_path: Path) -> None:
    """A kill of another process ended it: the bus is not to blame, and nobody knows whether the call happened."""
    dies = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        os.kill(os.getppid(), 9)
        os._exit(1)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
    toml = """
door = { http = "http://127.0.0.1:$port", server = ["PYTHON", "$here/dies.py", "$port"] }
send = { call = "POST /send", args = { body = "$body" } }
receive = { call = "GET /inbox", message = { id = "id", body = "body" } }
"""
    fleet = bus(tmp_path, toml, dies=dies)
    with pytest.raises(Refused) as refused:
        ask(fleet.join(), "send", "ann", to="bob", body="one")
    assert (refused.value.code, refused.value.definite) == ("UNREACHABLE", False)
    fleet.end()


def test_a_call_to_a_server_that_does_not_start_was_not_made(tmp_path: Path) -> None:
    """So its refusal says that nothing happened."""
    toml = """
door = { http = "http://127.0.0.1:$port", server = ["PYTHON", "-c", "raise SystemExit('no room')"] }
send = { call = "POST /send", args = { body = "$body" } }
receive = { call = "GET /inbox", message = { id = "id", body = "body" } }
"""
    fleet = bus(tmp_path, toml)
    with pytest.raises(Refused, match="no room") as refused:
        ask(fleet.join(), "send", "ann", to="bob", body="one")
    assert (refused.value.code, refused.value.definite) == ("NO_ANSWER", True)
    fleet.end()


def test_tools_of_a_server_over_streamable_http(tmp_path: Path) -> None:
    """The server of MCP's own SDK; answers come as events."""
    pytest.importorskip("mcp", reason="the SDK is the server of this test")
    server = (
        "import sys\nfrom mcp.server.mcpserver import MCPServer\nrows = []\nserver = MCPServer('shelf')\n"
        "@server.tool()\ndef put_note(to: str, text: str) -> dict:\n"
        "    rows.append({'id': len(rows) + 1, 'to': to, 'text': text})\n    return rows[-1]\n"
        "@server.tool()\ndef notes(of: str) -> list[dict]:\n    return [row for row in rows if row['to'] == of]\n"
        "server.run('streamable-http', host='127.0.0.1', port=int(sys.argv[1]))\n"
    )
    toml = """\
door = { mcp_url = "http://127.0.0.1:$port/mcp", server = ["PYTHON", "$here/shelf.py", "$port"], start_s = 60 }
send = { tool = "put_note", args = { to = "$to", text = "$body" } }
receive = { tool = "notes", args = { of = "$agent" }, list = "result", message = { id = "id", body = "text" } }
"""
    fleet = bus(tmp_path, toml, shelf=server)
    ann, bob = fleet.join(), fleet.join()
    ask(ann, "send", "ann", to="bob", body="a $note")
    assert ask(bob, "receive", "bob", limit=10)["messages"] == [{"id": "1", "body": "a $note"}]
    with pytest.raises(Refused, match="put_note") as refused:
        ask(ann, "send", "ann", body="to nobody")
    assert refused.value.definite
    assert fleet.end() == []


SHELF = """\
import json, pathlib, sys
shelf = pathlib.Path(sys.argv[1]) / "mails.json"
mails = json.loads(shelf.read_text()) if shelf.exists() else []
match sys.argv[2:]:
    case ["send", to, body]:
        mails.append({"id": len(mails) + 1, "to": to, "body": body})
        print(json.dumps(mails[-1]))
    case ["ids", agent]:
        print(json.dumps([mail["id"] for mail in mails if mail["to"] == agent]))
    case ["all", agent]:
        print(json.dumps([mail for mail in mails if mail["to"] == agent]))
    case ["everything"]:
        print(json.dumps(mails))
    case ["open", agent, number]:
        print(json.dumps({"text": mails[int(number) - 1]["body"]}))
shelf.write_text(json.dumps(mails))
"""
OF_SHELF = """\
door = { cli = ["PYTHON", "$here/shelf.py", "$store"] }
send = { args = ["send", "$to", "$body"] }
"""
SHOWS_ALL = """\
[door]
cli = ["PYTHON", "$here/shelf.py", "$store"]
[send]
args = ["send", "$to", "$body"]
[receive]
args = ["everything"]
list = "[?to=='$agent']"
message = { id = "id", body = "body" }
"""
RECEIVE = {
    "ids alone": """\
[receive]
args = ["ids", "$agent"]
each = { args = ["open", "$agent", "$id"] }
message = { id = "row", body = "message.text" }
""",
    "headings": """\
[receive]
args = ["all", "$agent"]
each = { args = ["open", "$agent", "$id"] }
message = { id = "id", body = "message.text" }
""",
    "positions": """\
receive = { args = ["all", "$agent"], message = { id = "id", body = "body", position = "id" }, position = "`0`" }
promises = { page = true }
""",
}


def test_a_bus_that_tells_no_id_shows_the_one_that_the_file_sends(tmp_path: Path) -> None:
    """Though it answers a send with nothing."""
    toml = """
door = { cli = ["PYTHON", "$here/plain.py", "$store/mail"] }
send = { args = ["send", "[$key_or_new] $body"], parse = "text", id = "$key_or_new" }
[receive]
args = ["inbox"]
parse = "text"
list = { match = '(?m)^\\[(?P<id>.*?)\\] (?P<body>.*)$' }
"""
    plain = """
import pathlib, sys
mail = pathlib.Path(sys.argv[1])
if sys.argv[2] == "send":
    mail.open("a").write(sys.argv[3] + "\\n")
else:
    print(mail.read_text(), end="")
"""
    ann = bus(tmp_path, toml, plain=plain).join()
    sent = [ask(ann, "send", "ann", to="bob", body=body)["id"] for body in ("one", "two")]
    shown = [(message["id"], message["body"]) for message in ask(ann, "receive", "bob", limit=10)["messages"]]
    assert shown == [(sent[0], "one"), (sent[1], "two")]


@pytest.mark.parametrize(("margin", "code"), [("", 1), ("  ", 0)], ids=["as it is", "behind a margin"])
def test_a_message_in_a_body_is_no_message_where_the_bus_shows_a_text(margin: str, code: int, tmp_path: Path) -> None:
    """The kit has never seen these headings before, and sends them back as a body."""
    toml = """
door = { cli = ["PYTHON", "$here/plain.py", "MARGIN"] }
promises = { consumes = true, sender = true }
send = { args = ["$store/$to", "<$key_or_new> $from: $body"], parse = "text", id = "$key_or_new" }
[receive]
args = ["$store/$agent"]
parse = "text"
list = { match = '(?ms)^<(?P<id>\\w+)> (?P<from>\\w+): (?P<body>.*?)\\n(?=<|\\Z)' }
"""
    plain = """
import pathlib, sys
margin, inbox, *lines = sys.argv[1:]
inbox = pathlib.Path(inbox)
if lines:
    inbox.open("a").write(lines[0].replace("\\n", "\\n" + margin) + "\\n")
elif inbox.exists():
    print(inbox.read_text(), end="")
    inbox.unlink()
"""
    bus(tmp_path, toml.replace("MARGIN", margin), plain=plain)
    argv = ["check", "mailbox", "--only", "mailbox.log.26", "--out", str(tmp_path / "out"), "--quiet"]
    assert main([*argv, "--bus", f"toml:{shlex.quote(str(tmp_path / 'bus.toml'))}"]) == code


def test_a_bus_is_not_asked_for_more_than_it_gives_at_once(tmp_path: Path) -> None:
    """An API may refuse such a request instead of giving what it has."""
    toml = """
door = { cli = ["PYTHON", "$here/narrow.py"] }
send = { args = ["send", "$body"] }
receive = { args = ["inbox", "$limit"], message = { id = "id", body = "body" } }
promises = { page_max = 2 }
"""
    narrow = """
import json, sys
if sys.argv[1] == "inbox" and int(sys.argv[2]) > 2:
    sys.exit("limit: at most 2")
print(json.dumps([{"id": n, "body": "one"} for n in range(int(sys.argv[2]))]))
"""
    bob = bus(tmp_path, toml, narrow=narrow).join()
    assert [len(ask(bob, "receive", "bob", limit=limit)["messages"]) for limit in (1, 10_000)] == [1, 2]


def test_a_bus_may_show_everybody_all_and_the_file_says_which_is_whose(tmp_path: Path) -> None:
    """Doctor does not take the agents for one."""
    bus(tmp_path, SHOWS_ALL, shelf=SHELF)
    assert doctor.examine(f"toml:{shlex.quote(str(tmp_path / 'bus.toml'))}") == 0


@pytest.mark.parametrize("how", RECEIVE)
def test_no_more_is_shown_than_was_asked_for_where_the_bus_takes_no_limit(how: str, tmp_path: Path) -> None:
    """A position is that of the last message shown."""
    fleet = bus(tmp_path, OF_SHELF + RECEIVE[how], shelf=SHELF)
    ann = fleet.join()
    for body in ("one", "two", "three"):
        ask(ann, "send", "ann", to="bob", body=body)
    first, second = ask(fleet.join(), "receive", "bob", limit=2), ask(fleet.join(), "receive", "bob")
    assert [message["body"] for message in first["messages"]] == ["one", "two"]
    assert [message["body"] for message in second["messages"]] == ["one", "two", "three"]
    if how == "positions":
        assert (first["position"], second["position"]) == (2, 3)
        assert ask(ann, "receive", "cy", limit=2)["position"] == 0
    assert fleet.end() == []


def test_a_call_that_starts_a_server_has_the_time_of_the_start_besides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten seconds for an answer, and start_s for a server, both in tenths."""
    monkeypatch.setenv("BUSPROOF_PATIENCE", "0.1")
    slow = ONE_FOR_ALL.replace('per = "store"', 'per = "store", start_s = 200')
    fleet = bus(
        tmp_path, slow, server="import time\ntime.sleep(2)\n" + SERVER.replace("ONE_OR_MANY", "answer(request)")
    )
    door = fleet.join()
    assert door.call("receive", {"agent_id": "ann", "limit": 1}, timeout_s=10.0)["messages"] == []
    assert fleet.end() == []


def test_an_operation_has_the_time_that_the_file_gives_its_calls(tmp_path: Path) -> None:
    """On a busy machine a command takes longer than a check would wait; how long it may take is said in the file."""
    fleet = bus(tmp_path, OF_SHELF + RECEIVE["headings"], shelf=SHELF)
    ann = fleet.join()
    ann.call("send", {"agent_id": "ann", "to": "bob", "body": "one"}, timeout_s=0.0)
    assert len(ann.call("receive", {"agent_id": "bob"}, timeout_s=0.0)["messages"]) == 1
    fleet.end()


def test_a_position_of_the_whole_answer_goes_with_all_of_it(tmp_path: Path) -> None:
    """A bus that takes no limit and tells one position: what a limit would cut off, no position would show again."""
    whole = RECEIVE["positions"].replace(', position = "id"', "")
    fleet = bus(tmp_path, OF_SHELF + whole, shelf=SHELF)
    ann = fleet.join()
    for body in ("one", "two", "three"):
        ask(ann, "send", "ann", to="bob", body=body)
    assert len(ask(ann, "receive", "bob", limit=2)["messages"]) == 3
    assert fleet.end() == []


def test_a_broadcast_may_have_an_address(tmp_path: Path) -> None:
    """What a send without an addressee is sent to is said in the file; no agent is called that."""
    fleet = bus(tmp_path, OF_SHELF + 'names = { everyone = "all" }\n' + RECEIVE["positions"], shelf=SHELF)
    ann = fleet.join()
    ask(ann, "send", "ann", body="news")
    assert '"all"' in ann.call("toml.calls", {})["calls"][-1]["call"]
    with pytest.raises(Refused, match="all is the address of all") as refused:
        ask(ann, "receive", "all")
    assert refused.value.definite
    assert fleet.end() == []


def _patiently(call: Any) -> Any:
    """A shared server that was killed may still be missed by the first call, and the dead by their parent."""
    for _ in range(20):
        with contextlib.suppress(Refused, Lost):
            if value := call():
                return value
        time.sleep(0.1)
    return call()


def test_the_adapter_names_a_fault_of_the_file_and_no_check_begins(tmp_path: Path) -> None:
    """Exit 2: nothing is decided."""
    (tmp_path / "bus.toml").write_text('name = "x"\n', encoding="utf-8")
    done = busproof("doctor", "--system", "mailbox", "--bus", f"toml:{tmp_path}/bus.toml")
    assert "line 1: door: Field required" in done.stdout + done.stderr
    assert done.returncode in (1, 2)
