"""Texts of messages for `relay`'s programs: headers, bodies of requests, and files that are none."""

from __future__ import annotations

import hashlib
import random
from functools import cache

# Some languages take these for the end of a line, but relay does not: its lines end at a line feed.
NO_LINE_ENDS = ("\f", "\v", "\r", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
BLANKS, ENDS = (" ", " ", " ", "", "  ", "\t "), ("", "", "", "", " ", "\t")  # around a value
CHANNELS = ("#dev", "#Dev", "#a", "#d-e_v", "#system", "#Lead", f"#{'z' * 63}")
LONG_STATE = "state " * 20_000
BODIES = (
    "",
    "hi",
    "two\nlines\n",
    "\n\nblank lines\n\n",
    "TO: bob\n\nlooks like a header",
    "caf\u00e9 \u6f22 \U0001f600",
    "a\x00b",
    "x" * 300,
    "\u00e9" * 150,
    "one\r\ntwo\r\n",
    " ends in blanks \n \n",
    *(f"one{sign}TO: ann{sign}{sign}two" for sign in NO_LINE_ENDS),
)
# Statements of an agent about itself, without a request: only its whole key makes a line one, not its content.
SAID = (
    *("idle", "STATE: #dev", "XSUBSCRIBE: #dev", "SUBSCRIBED: #dev", "UNSUBSCRIBED: #dev", "NOTE: SUBSCRIBE: #dev"),
    *(":",),
)
THREADS = ("t1", "T1", "a thread", "caf\u00e9", "t" * 200, "t" * 9_000, "null", "0", "a: b", ":", "a=b,c")
UNKNOWN = (
    *("X-MORE: yes", "X-MORE: TO: bob", "X-MORE: a=b,c=d", "NAME: bob", "A: b:c", "REPLY_TO: ann/1-0000abcd"),
    *("X:   blanks   ",),
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
PROMPTS = (
    *("work", "a: b", "ENV: PATH=1", "one\ntwo: 2", "", "one\n\ntwo", "$HOME `id` $(id)", "'a' \"b\"; c \\ d"),
    *("caf\u00e9", "*", "-x", "t" * 5_000, "a  b\tc", "NAME"),
    *(f"one{sign}NAME: bob" for sign in NO_LINE_ENDS),
)
WORKING_DIRS = ("/usr", "/usr/", "/usr/share", "/usr/./share", "/usr/share/../share")
DENIED_DIRS = ("/", "/usr/../etc", "/usrs", "/us", "/usr/..", "/tmp", "/nowhere")
Pairs = list[tuple[str, str]]


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
            "TO: bob\nKIND: messages",
        ),
        "TO: bob\nATTACHMENT: sha256:" + "a" * 65,
        f"TO: bob\nCHECKSUM: sha256:{hashlib.sha256(b'hi').hexdigest()}0",
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


def headers_of(
    r: random.Random, to: str, kind: str, body: str, fields: Pairs, attachments: list[str]
) -> tuple[str, list[str]]:
    """All header lines, in any order, and their tags. `fields` of a request may stand here, too."""
    pairs, tags = [("TO", to), *fields], list[str]()
    if kind != "message" or r.random() < 0.5:
        pairs.append(("KIND", kind))
    if r.random() < 0.2:
        pairs.append(("THREAD", r.choice(THREADS)))
    if r.random() < 0.3:
        tags.append("priority")
        pairs.append(("PRIORITY", str(r.randrange(10))))
    if r.random() < 0.15:
        text = body
        if r.random() < 0.3:
            tags.append("wrong checksum")
            text += "!"
        pairs.append(("CHECKSUM", f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"))
    if r.random() < (0.25 if attachments else 0.03):
        tags.append("attachment" if attachments else "missing attachment")
        pairs.append(("ATTACHMENT", f"sha256:{r.choice(attachments) if attachments else '0' * 64}"))
    lines = [f"{name}:{r.choice(BLANKS)}{value}{r.choice(ENDS)}" for name, value in pairs]
    if kind not in ("spawn", "release") and r.random() < 0.15:
        lines.append(r.choice(UNKNOWN))
    r.shuffle(lines)
    return "".join(f"{line}\n" for line in lines), tags


def body_of(r: random.Random, kind: str, names: list[str], alive: list[str]) -> tuple[str, Pairs, list[str]]:
    """A body of this kind for the orchestrator, or any body; fields for the header; tags."""
    match kind:
        case "status":
            body, tags = _status(r)
            return body, [], tags
        case "continuity":
            body, tags = _continuity(r)
            return body, [], tags
        case "spawn":
            return _request(r, *_spawn(r, names, alive))
        case "release":
            return _request(r, *_release(r, names, alive))
        case _:
            return r.choice(BODIES), [], []


def _request(r: random.Random, pairs: Pairs, tags: list[str]) -> tuple[str, Pairs, list[str]]:
    """Fields in any order, in the body, the header or both; seldom twice, or beside a line that is none."""
    r.shuffle(pairs)
    lines, fields = list[str](), list[tuple[str, str]]()
    for name, value in pairs:
        where = r.random()
        if where < 0.2 and value and value.isprintable() and value == value.strip():
            tags.append("header field")
            other = r.choice((value, "bob", "other"))  # the body wins
            fields.append((name, value if where < 0.1 else other))
            if where < 0.1:
                continue
        lines += [f"{name}:{r.choice((' ', ' ', '', '  '))}{value}"] * (2 if where > 0.98 else 1)
        if where > 0.94:
            lines.append(r.choice(("", " ", "NOTE: x", "name: bob", "\u00e9")))
    return "\n".join(lines) + r.choice(("\n", "\n", "", "\n\n")), fields, tags


def _release(r: random.Random, names: list[str], alive: list[str]) -> tuple[Pairs, list[str]]:
    name = r.choice(alive) if alive and r.random() < 0.5 else r.choice(names)
    if r.random() < 0.15:
        bad: tuple[Pairs, ...] = ([], [("REASON", "done")], [("NAME", "1a")], [("NAME", "system")], [("NAME", "")])
        return list(r.choice(bad)), ["bad request"]
    reason = [("REASON", r.choice(PROMPTS))] if r.random() < 0.6 else []
    return [("NAME", name), *reason], ["release" if name in alive else "release of nobody"]


def _status(r: random.Random) -> tuple[str, list[str]]:
    if r.random() < 0.15:
        bad = (
            "SUBSCRIBE: dev\n",
            "SUBSCRIBE: #caf\u00e9\n",
            "SUBSCRIBE: #dev,#\n",
            "SUBSCRIBE: #a b\n",
            "SUBSCRIBE: #1",
            "SUBSCRIBE: #a,,#b\n",
        )
        return r.choice((*bad, "SUBSCRIBE: #dev,\n", "SUBSCRIBE: #a:b\n", "SUBSCRIBE: ##dev\n", *LINES_IN_ONE)), [
            "bad channel"
        ]
    if r.random() < 0.4:
        lines = [_subscription(r, how_many) for how_many in r.choices((1, 1, 2, 3), k=r.choice((1, 1, 2, 4)))]
        return "\n".join(lines) + r.choice(("", "\n")), ["subscribe"]
    texts = (
        "SUBSCRIBE: #dev",
        "SUBSCRIBE: #dev, #Dev\n",
        "UNSUBSCRIBE: #dev\n",
        "SUBSCRIBE:#dev\nUNSUBSCRIBE:#Dev\n",
        "idle\n",
        f"{r.choice(SAID)}\nSUBSCRIBE: #Dev\n{r.choice(SAID)}\n",
        *(f"{text}\n" for text in r.sample(SAID, 3)),
    )
    return r.choice(texts), ["subscribe"]


def _subscription(r: random.Random, how_many: int) -> str:
    """A line that takes or leaves so many channels; one of them may come twice."""
    verb, blank, comma = r.choice(("", "", "UN")), r.choice((" ", "")), r.choice((",", ", "))
    return f"{verb}SUBSCRIBE:{blank}{comma.join(r.choices(CHANNELS, k=how_many))}"


def _continuity(r: random.Random) -> tuple[str, list[str]]:
    what = r.random()
    if what < 0.15:
        return r.choice(("", "save", "ACTION: drop\n", "action: save\n")), ["bad action"]
    return (
        ("ACTION: load\n", ["load"]) if what < 0.5 else (f"ACTION: save\n{r.choice((*BODIES, LONG_STATE))}", ["save"])
    )


def _spawn(r: random.Random, names: list[str], alive: list[str]) -> tuple[Pairs, list[str]]:
    what = r.random()
    free = [name for name in names if name not in alive]
    name, cli = r.choice(free or alive), r.choice(("sleeper", "a sayer: 2", "a sayer: 2", "odd"))
    pairs = [("NAME", name), ("CLI", cli)]
    if what < 0.15:
        bad: tuple[Pairs, ...] = (
            [],
            pairs[:1],
            pairs[1:],
            [("NAME", r.choice(("a b", "Root", "lead", "z" * 64, ""))), pairs[1]],
            [pairs[0], ("CLI", "")],
            [*pairs, ("ENV", r.choice(NO_ENVIRONMENTS))],
        )
        return list(r.choice(bad)), ["bad request"]
    if what < 0.3:
        denied: tuple[Pairs, ...] = (
            [*pairs, ("ENV", r.choice(DENIED_ENVIRONMENTS))],
            [*pairs, ("WORKING_DIR", r.choice(DENIED_DIRS))],
            [pairs[0], ("CLI", r.choice(("Sleeper", "a sayer", "/bin/sh", "sleeper again")))],
        )
        return list(r.choice(denied)), ["denied"]
    if what < 0.4 and alive:
        return [("NAME", r.choice(alive)), pairs[1]], ["agent exists"]
    more = {"PROMPT": PROMPTS, "WORKING_DIR": WORKING_DIRS, "ENV": ENVIRONMENTS}
    pairs += [(key, r.choice(values)) for key, values in more.items() if r.random() < 0.4]
    return pairs, ["spawn" if name in free else "agent exists"]
