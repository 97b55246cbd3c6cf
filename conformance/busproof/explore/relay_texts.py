"""Texts of messages for `relay`'s programs: headers, bodies of requests, and files that are none."""

from __future__ import annotations

import hashlib
import random
from functools import cache

# Some languages take these for the end of a line, but relay does not: its lines end at a line feed.
NO_LINE_ENDS = ("\f", "\v", "\r", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
BODIES = (
    "",
    "hi",
    "two\nlines\n",
    "\n\nblank lines\n\n",
    "TO: bob\n\nlooks like a header",
    "caf\u00e9 \u6f22 \U0001f600",
    "a\x00b",
    "x" * 300,
    *(f"one{sign}TO: ann{sign}{sign}two" for sign in NO_LINE_ENDS),
)
# Statements of an agent about itself, without a request: only its whole key makes a line one, not its content.
SAID = (
    "idle",
    "STATE: #dev",
    "XSUBSCRIBE: #dev",
    "SUBSCRIBED: #dev",
    "UNSUBSCRIBED: #dev",
    "NOTE: SUBSCRIBE: #dev",
    ":",
)
THREADS = ("t1", "T1", "a thread", "caf\u00e9", "t" * 200, "null", "0", "a: b", ":", "a=b,c")
UNKNOWN = (
    "X-MORE: yes",
    "X-MORE: TO: bob",
    "X-MORE: a=b,c=d",
    "NAME: bob",
    "A: b:c",
    "REPLY_TO: ann/1-0000abcd",
    "X:   blanks   ",
)
GOOD = "TO: bob\n\nhi"
LINES_IN_ONE = tuple(f"SUBSCRIBE: #dev{sign}UNSUBSCRIBE: #dev\n" for sign in NO_LINE_ENDS)
# Values that contain separators, and empty ones: only the first sign separates.
ENVIRONMENTS = (
    *("COLOUR=red,SIZE=2", "COLOUR=YWI=", "COLOUR==", "COLOUR=a=b=c,SIZE=2", "COLOUR=COLOUR=red", "COLOUR=a:b"),
    *("COLOUR=", "COLOUR=,SIZE=", "COLOUR=red,COLOUR=blue", "COLOUR=two words"),
)
NO_ENVIRONMENTS = ("COLOUR", "COLOUR=1,", "COLOUR=1,,SIZE=2", ",", "COLOUR=1,COLOUR")
DENIED_ENVIRONMENTS = ("PATH=/tmp", "COLOUR=1,LD_PRELOAD=x", "COLOUR=1,PATH=a=b", "=", "=red", "colour=1")
PROMPTS = ("work", "a: b", "ENV: PATH=1", "one\ntwo: 2", "", *(f"one{sign}NAME: bob" for sign in NO_LINE_ENDS))


@cache
def bad_files() -> list[tuple[str, str]]:
    """Text and, in hexadecimal digits, the bytes after it: each malformed in one way."""
    heads = (
        *(
            "KIND: message",
            "to: bob",
            "To: bob",
            "TO bob",
            "TO:",
            "TO:   ",
            " TO: bob",
            "TO : bob",
            "TO: b\x07b",
            "TO: bob\r",
        ),
        *(
            "TO: bob\nTO: bob",
            "TO: bob\nFROM: ann",
            "TO: bob\nID: x",
            "TO: bob\nKIND: letter",
            "TO: bob\nKIND: Message",
        ),
        *("TO: bob\nPRIORITY: 10", "TO: bob\nPRIORITY: -1", "TO: bob\nPRIORITY: high", "TO: bob\nPRIORITY: \u0663"),
        *("TO: bob\nCHECKSUM: abc", "TO: bob\nCHECKSUM: sha256:" + "A" * 64, "TO: bob\nATTACHMENT: sha256:" + "a" * 63),
        *(
            "TO: bob\nKIND: ack\nKIND: ack",
            "TO: bob\nno colon",
            "TO: bob\nx: lower",
            "TO: bob\n1X: digit",
            "TO: b\x85b",
        ),
        *("\nTO: bob", "TO: bob\nATTACHMENT: ../../ledger.db", "TO: bob\n KIND: ack", "\ufeffTO: bob", "TO: bob\tbob"),
    )
    texts = [(f"{head}\n\nhi", "") for head in heads]
    return [
        *texts,
        ("TO: bob\n", ""),
        ("TO: bob", ""),
        ("\n\nhi", ""),
        ("TO: bob\n\nhi", "ff"),
        ("TO: bob\n\nhi", "eda080"),
    ]


def headers_of(r: random.Random, kind: str, body: str, attachments: list[str]) -> tuple[str, list[str]]:
    """Lines below TO, and their tags."""
    lines, tags = [] if kind == "message" and r.random() < 0.5 else [f"KIND: {kind}"], list[str]()
    if r.random() < 0.2:
        lines.append(f"THREAD: {r.choice(THREADS)}")
    if r.random() < 0.3:
        tags.append("priority")
        lines.append(f"PRIORITY:{r.choice(('', ' ', '  '))}{r.randrange(10)}")
    if r.random() < 0.15:
        text = body
        if r.random() < 0.3:
            tags.append("wrong checksum")
            text += "!"
        lines.append(f"CHECKSUM: sha256:{hashlib.sha256(text.encode()).hexdigest()}")
    if r.random() < (0.25 if attachments else 0.03):
        tags.append("attachment" if attachments else "missing attachment")
        lines.append(f"ATTACHMENT: sha256:{r.choice(attachments) if attachments else '0' * 64}")
    if kind not in ("spawn", "release") and r.random() < 0.15:
        lines.append(r.choice(UNKNOWN))
    r.shuffle(lines)
    return "".join(f"{line}\n" for line in lines), tags


def body_of(r: random.Random, kind: str, names: list[str], alive: list[str]) -> tuple[str, list[str]]:
    """A body of this kind for the orchestrator, or any body."""
    match kind:
        case "status":
            return _status(r)
        case "continuity":
            return _continuity(r)
        case "spawn":
            return _spawn(r, names, alive)
        case "release":
            name = r.choice(alive) if alive and r.random() < 0.5 else r.choice(names)
            if r.random() < 0.2:
                return r.choice(("", "REASON: done\n", "NAME: 1a\n", "NAME: system\n", "NAME: a\nNAME: b\n")), [
                    "bad request"
                ]
            return f"NAME: {name}\nREASON: done\n", ["release" if name in alive else "release of nobody"]
        case _:
            return r.choice(BODIES), []


def _status(r: random.Random) -> tuple[str, list[str]]:
    if r.random() < 0.15:
        bad = ("SUBSCRIBE: dev\n", "SUBSCRIBE: #dev,#\n", "SUBSCRIBE: #a b\n", "SUBSCRIBE: #1", "SUBSCRIBE: #a,,#b\n")
        return r.choice((*bad, "SUBSCRIBE: #dev,\n", "SUBSCRIBE: #a:b\n", "SUBSCRIBE: ##dev\n", *LINES_IN_ONE)), [
            "bad channel"
        ]
    texts = (
        "SUBSCRIBE: #dev",
        "SUBSCRIBE: #dev, #Dev\n",
        "UNSUBSCRIBE: #dev\n",
        "SUBSCRIBE:#dev\nUNSUBSCRIBE:#Dev\n",
        "idle\n",
        f"{r.choice(SAID)}\nSUBSCRIBE: #Dev\n{r.choice(SAID)}\n",
        *(f"{said}\n" for said in r.sample(SAID, 3)),
    )
    return r.choice(texts), ["subscribe"]


def _continuity(r: random.Random) -> tuple[str, list[str]]:
    what = r.random()
    if what < 0.15:
        return r.choice(("", "save", "ACTION: drop\n", "action: save\n")), ["bad action"]
    return ("ACTION: load\n", ["load"]) if what < 0.5 else (f"ACTION: save\n{r.choice(BODIES)}", ["save"])


def _spawn(r: random.Random, names: list[str], alive: list[str]) -> tuple[str, list[str]]:
    what = r.random()
    free = [name for name in names if name not in alive]
    name = r.choice(free or alive)
    if what < 0.2:
        texts = ("", "CLI: sleeper\n", f"NAME: {name}\n", "NAME: a b\nCLI: sleeper\n", "NAME: Root\nCLI: sleeper\n")
        bad = f"NAME: {name}\nCLI: sleeper\nENV: {r.choice(NO_ENVIRONMENTS)}\n"
        return r.choice((*texts, bad)), ["bad request"]
    if what < 0.4:
        denied = f"ENV: {r.choice(DENIED_ENVIRONMENTS)}\n"
        more = r.choice(("WORKING_DIR: /\n", "WORKING_DIR: /usr/../etc\n", denied, denied, ""))
        return f"NAME: {name}\nCLI: {'sleeper' if more else 'Sleeper'}\n{more}", ["denied"]
    if what < 0.5 and alive:
        return f"NAME: {r.choice(alive)}\nCLI: sleeper\n", ["agent exists"]
    prompt, environment = f"PROMPT: {r.choice(PROMPTS)}\n", f"ENV: {r.choice(ENVIRONMENTS)}\n"
    more = r.choice(("", prompt, "WORKING_DIR: /usr\n", environment, environment + prompt))
    return f"NAME: {name}\nCLI: sleeper\n{more}", ["spawn" if name in free else "agent exists"]
