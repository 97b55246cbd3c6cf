"""`busproof init mailbox --from`: a bus.toml drafted from what a program offers, by names and types alone.

Names say which tool sends and which argument is the body. No name says what an answer looks like: doctor finds it by
a letter. So each line of a draft is right, or a guess that doctor corrects, or marked as the author's to fill.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from busproof.bus.base import DoorError
from busproof.bus.child import MARK, Child, Household
from busproof.bus.doors import BusSpecError
from busproof.bus.mcp_client import McpClient, as_object
from busproof.bus.scratch import scratch

HELP_S = 20
INTERPRETER = re.compile(r"python[\d.]*$|node$|sh$|bash$|env$|npx$|uvx$|-|\w+=")
OPERATIONS = {  # operation → what the name of its tool looks like
    "join": r"^(register|join|connect|announce|sign_?in|login|hello)|_(register|join|connect)$",
    "send": r"^(send|post|publish|write)|(_|-)(send|post|publish)$|(send|post)_?(message|msg|mail|note)",
    "receive": r"inbox|^(poll|receive|fetch|read)|check_?(message|msg|mail)|"
    r"(message|msg)s?_(list|read|get)|(list|get|read)_?(message|mail)",
    "ack": r"^ack|(_|-)ack$|acknowledge|confirm|mark.*(read|done)",
    "claim": r"^(claim|reserve|lease|lock|acquire)|(_|-)(claim|reserve|lease|lock|acquire)$",
    "renew": r"renew|extend|refresh",
    "release": r"release|^un(lock|claim|reserve)",
}
ARGUMENTS = {  # variable → what the name of its argument looks like; the first that fits counts
    "ids": r"(message|msg|mail)_?ids$|^ids$",
    "id": r"(message|msg|mail)_?id$|^id$|^numbers?$",
    "to": r"^(to|target|recipient|receiver|addressee|agent_to|to_\w+)s?$",
    "from": r"^(from|sender|author|from_\w+|sender_\w+)$",
    "key": r"idempot|^key$|client_id|dedup",
    "thread": r"thread|conversation",
    "reply_to": r"reply|in_reply",
    "priority": r"priority|importance",
    "body": r"body|content|^text$|message$|^msg$|payload",
    "limit": r"^(limit|max|count|n|page_size|max_\w+|\w+_count)$",
    "after": r"after|since|cursor|offset",
    "ttl_s": r"ttl|expires|lease|seconds|duration",
    "name": r"resource|path|lock|task_id|^name$",
    "token": r"token|generation|fenc",
    "agent": r"agent|recipient|receiver|^(me|self|identity|user|owner|holder|worker|\w*nickname|mailbox|inbox)$|_name$",
}
OF = {  # operation → variables that it has
    "join": ("agent",),
    "send": ("to", "from", "body", "key", "thread", "reply_to", "priority"),
    "receive": ("limit", "after", "agent"),
    "ack": ("ids", "id", "agent"),
    "claim": ("ttl_s", "name", "agent"),
    "renew": ("ttl_s", "name", "token", "agent"),
    "release": ("name", "token", "agent"),
}
OF_A_PATH = {  # operation → what the last word of its request's path looks like, beside that
    "join": r"^(agents?|actors?|members?|sessions?)$",
    "send": r"outbox|inbox|^(messages?|mail|notes?|letters?)$",
    "receive": r"^(messages?|mail|unread|pending)$",
    "ack": r"^(read|seen|done)$",
}
OF_AN_AGENT = r"agents?|actors?|users?|members?|(?:in|out|mail)box(?:es)?"  # stands before the name of one in a path
ABOUT = {"send": ("body",), "ack": ("ids", "id"), "claim": ("name",)}  # what it cannot do without
USUAL = ("to", "from", "body", "limit", "id", "ids", "name", "ttl_s")  # are given though they are not required


@dataclass
class Offer:
    """A tool, a subcommand or a request: its name, and its arguments by whether they are required."""

    name: str
    arguments: dict[str, bool]
    options: set[str] = field(default_factory=set)  # of a command line: those that are written with --


@dataclass
class Program:
    """What offers them, and the lines of the door."""

    name: str
    kind: str  # tool, call, or args
    door: list[str]
    offers: list[Offer]


def write(source: str, folder: Path) -> int:
    """Write FOLDER/bus.toml. Refuses to overwrite."""
    path = folder / "bus.toml" if folder.suffix != ".toml" else folder
    if path.exists():
        raise BusSpecError(f"{path} exists already; nothing was written")
    program = read(source, path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines(program)), encoding="utf-8")
    print(f"wrote {path}, from {len(program.offers)} offers of {program.name}. Then:")
    print(f"  busproof doctor --bus toml:{shlex.quote(str(path))}           says what to write where a guess is wrong")
    print(f"  busproof check mailbox --bus toml:{shlex.quote(str(path))}")
    return 0


def read(source: str, here: Path = Path()) -> Program:
    """What a program offers: mcp:CMD, cli:CMD, or openapi:FILE. `here`: the folder of the file that is drafted.

    The program is asked in a home folder of its own, which goes with all that it left there or left running.
    """
    scheme, _, rest = source.partition(":")
    argv = shlex.split(rest) if scheme in ("mcp", "cli") else []
    if argv:
        with _visit() as visit:
            return (_of_mcp if scheme == "mcp" else _of_cli)(argv, here, visit)
    if scheme == "openapi" and rest:
        return _of_openapi(Path(rest))
    raise BusSpecError(f"{source!r}: --from is mcp:CMD…, cli:CMD… or openapi:FILE (JSON)")


def lines(program: Program) -> Iterator[str]:
    """The file."""
    yield f"# Drafted from what {program.name} offers. A guess is marked with ?, and what a guess leaves out with !."
    yield f"name = {_toml(program.name)}"
    yield from program.door
    used = set()
    for operation in OPERATIONS:
        able = [each for each in program.offers if each.name not in used and _looks_like(operation, program.kind, each)]
        able = [offer for offer in able if _is_about(operation, offer)] or able
        able.sort(
            key=lambda offer: (
                operation == "send" and "inbox" in offer.name,
                len(re.findall(r"[_\W]", offer.name)),
                len(offer.name),
            )
        )
        if not able:
            if operation in ("send", "receive"):
                yield from ("", f"# ! nothing that is offered looks like {operation}", f"[{operation}]")
            continue
        used.add(able[0].name)
        yield from _operation(program, operation, able)
    yield from (
        "",
        "[promises]",
        "# What your documents promise: `busproof discover` finds what the bus appears to keep.",
    )
    if left := [offer.name for offer in program.offers if offer.name not in used]:
        yield f"# Not mapped: {', '.join(left)}"


def _looks_like(operation: str, kind: str, offer: Offer) -> bool:
    """Of a request the path says what it does; its verb says no more than whether it only looks."""
    if kind != "call":
        return re.search(OPERATIONS[operation], offer.name, re.I) is not None
    verb, _, path = offer.name.partition(" ")
    if (verb == "GET") != (operation == "receive"):
        return False
    word = next((segment for segment in reversed(path.split("/")) if segment[:1] not in ("", "{")), "")
    patterns = (OPERATIONS[operation], OF_A_PATH.get(operation, "$^"))
    return any(re.search(pattern, word, re.I) for pattern in patterns)


def _whose(operation: str, offer: Offer) -> dict[str, str]:
    """Of a request: the agent that its path names, whatever the argument is called."""
    role = {"send": "to" if re.search("inbox|mailbox", offer.name) else "from"}.get(operation, "agent")
    return dict.fromkeys(re.findall(rf"/(?:{OF_AN_AGENT})/{{(\w+)}}", offer.name), role)


def _is_about(operation: str, offer: Offer) -> bool:
    """Has it an argument for what the operation cannot do without? A server has more requests that post."""
    about = ABOUT.get(operation, ())
    return any(re.search(ARGUMENTS[name], argument, re.I) for name in about for argument in offer.arguments)


def _operation(program: Program, operation: str, able: list[Offer]) -> Iterator[str]:
    offer, known, left = able[0], dict[str, str](), list[str]()
    whose = _whose(operation, offer)
    for argument, is_needed in offer.arguments.items():
        by_name = (name for name in OF[operation] if re.search(ARGUMENTS[name], argument, re.I))
        variable = whose.get(argument) or next(by_name, None)
        if variable and variable not in known.values() and (is_needed or variable in USUAL):
            known[argument] = variable
        elif is_needed:
            left.append(argument)
    others = f"    # ? or {', '.join(other.name for other in able[1:])}" if able[1:] else ""
    yield from ("", "[[session]]" if operation == "join" else f"[{operation}]")
    if program.kind == "args":
        yield f"args = {_toml(_words(offer, known))}{others}"
    else:
        yield f"{program.kind} = {_toml(_called(offer.name, known))}{others}"
        inner = {name: f"${variable}" for name, variable in known.items() if f"{{{name}}}" not in offer.name}
        yield f"args = {_table(inner)}"
    if left:
        yield f"# ! it needs {', '.join(left)}, too: a value, or a variable that a step of [[session]] saves"
    if operation == "receive":
        yield from ('list = "@"    # ?', 'message = { id = "id", body = "body" }    # ?')


def _words(offer: Offer, known: dict[str, str]) -> list[Any]:
    options = [f"--{name}=${variable}" for name, variable in known.items() if name in offer.options]
    plain = [f"${variable}" for name, variable in known.items() if name not in offer.options]
    return [*offer.name.split(), *options, *(["--", *plain] if plain else [])]


def _called(name: str, known: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: f"${known.get(match[1], match[1])}", name)


# -- what programs offer


@dataclass(frozen=True)
class Visit:
    """Where programs are asked: a folder, and the environment that has everything in it."""

    home: str
    environment: dict[str, str]

    def child(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> Child:
        """A program there."""
        return Child(argv, env=env, cwd=self.home)


@contextlib.contextmanager
def _visit() -> Iterator[Visit]:
    household = Household()
    with scratch("init") as folder:
        own = dict.fromkeys(["HOME", "TMPDIR", *(name for name in os.environ if name.startswith("XDG_"))], str(folder))
        try:
            yield Visit(str(folder), {**os.environ, **own, MARK: household.mark})
        finally:
            household.end()


def _from_anywhere(argv: list[str]) -> list[str]:
    """The command with whole paths: it is asked in another folder than the user's."""
    return [os.path.abspath(word) if _is_file(word) else word for word in argv]


def _from_the_file(argv: list[str], here: Path) -> list[str]:
    """The command as the file has it: its programs run in the store's folder, and what is beside the file is $here."""
    folders = [".", *["$here"] * len(argv)]  # of the program itself that is the file's folder anyway
    return [
        f"{folder}/{os.path.relpath(word, here)}" if _is_file(word) else word
        for folder, word in zip(folders, argv, strict=False)
    ]


def _is_file(word: str) -> bool:
    """A path from the current folder; a plain word is a program, or an argument."""
    return not os.path.isabs(word) and re.search(r"[./]", word) is not None and os.path.exists(word)


def _of_mcp(argv: list[str], here: Path, visit: Visit) -> Program:
    settings = _settings(argv)
    env = dict(word.split("=", 1) for word in settings)
    client = McpClient(_from_anywhere(argv), visit.child)
    try:
        client.start(visit.environment)
        tools = client.tools()
    except DoorError as error:
        hint = "a server that needs variables is started with mcp:env NAME=VALUE CMD"
        raise BusSpecError(f"the server does not tell its tools: {error}; {hint}") from error
    finally:
        client.leave(at_once=True)
    name = f"{client.info.get('name', argv[0])} {client.info.get('version', '')}".strip()
    command = [word for word in argv if word not in settings][1:] if env else argv
    door = [f"door = {{ mcp = {_toml(_from_the_file(command, here))} }}"]
    if env:
        paths = {key: f"$store/{Path(value).name}" if "/" in value else value for key, value in env.items()}
        door.append(f"env = {_table(paths)}")
    return Program(name, "tool", door, [_tool(tool) for tool in tools])


def _settings(argv: list[str]) -> list[str]:
    """NAME=VALUE after env."""
    if Path(argv[0]).name != "env":
        return []
    return [word for word in argv[1:] if re.match(r"\w+=", word)]


def _tool(tool: dict[str, Any]) -> Offer:
    schema = as_object(tool.get("inputSchema"))
    needed = schema.get("required", [])
    return Offer(str(tool.get("name")), {name: name in needed for name in as_object(schema.get("properties"))})


def _of_cli(argv: list[str], here: Path, visit: Visit) -> Program:
    command = _from_anywhere(argv)
    text = _help([*command, "--help"], visit)
    names = _subcommands(text)
    if not names:
        raise BusSpecError(f"{shlex.join(argv)} --help names no subcommands: {text[:200]!r}")
    offers = [_command(name, _help([*command, name, "--help"], visit)) for name in names]
    words = [re.sub(r"^/tmp/[^ ]*/", "$store/", word) for word in _from_the_file(argv, here)]
    name = next((Path(word).stem for word in argv if not INTERPRETER.match(Path(word).name)), argv[0])
    return Program(name, "args", [f"door = {{ cli = {_toml(words)} }}"], offers)


def _help(argv: list[str], visit: Visit) -> str:
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            timeout=HELP_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env=visit.environment,
            cwd=visit.home,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BusSpecError(f"{shlex.join(argv)}: {error}") from error
    return done.stdout or done.stderr


def _subcommands(text: str) -> list[str]:
    """As argparse writes them, or in a section of their own."""
    without_choices = re.sub(r"--?[\w-]+[ =]\{[\w,-]+\}", "", text)  # of an option
    if braces := re.search(r"\{([\w,-]+)\}", without_choices):
        return braces[1].split(",")
    section = re.search(r"(?im)^.*commands?:?\s*\W*$\n((?:\s+.*\n?|\s*\n)+)", text)
    names = re.findall(r"(?m)^[\s│|]+([a-z][\w-]*)(?:\s{2,}|\s+[\[<A-Z]|$)", section[1]) if section else []
    return [name for name in dict.fromkeys(names) if name != "help"]


def _command(name: str, text: str) -> Offer:
    """A subcommand's arguments: those of its usage line that stand in no brackets are required."""
    usage = (re.search(r"(?is)usage:(.*?)(\n\s*\n|$)", text) or ["", ""])[1]
    usage = " ".join(usage.split()).partition(f"{name} ")[2]
    optional = "".join(re.findall(r"\[[^\]]*\]+", usage))
    options = {word for word in re.findall(r"--([a-z][\w-]*)", text) if word not in ("help", "version", "json")}
    arguments = {word: f"--{word}" in usage and f"--{word}" not in optional for word in sorted(options)}
    plain = re.sub(r"\[[^\]]*\]+|--?[\w-]+[ =]?[A-Z_<>]*", " ", usage)
    words = [re.sub(r"\W", "", word).lower() for word in plain.split()]
    positional = [word for word in words if word and word not in ("options", "args")]
    return Offer(name, {**dict.fromkeys(positional, True), **arguments}, options)


def _of_openapi(path: Path) -> Program:
    try:
        page = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BusSpecError(f"{path}: {error}") from error
    offers = []
    for place, verbs in as_object(page.get("paths")).items():
        for verb, operation in as_object(verbs).items():
            if verb.upper() in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                offers.append(Offer(f"{verb.upper()} {place}", _parameters(page, as_object(operation))))
    info = as_object(page.get("info"))
    door = ['door = { http = "http://127.0.0.1:$port", server = ["CMD", "$port"] }    # ! the command of the server']
    return Program(f"{info.get('title', path.stem)} {info.get('version', '')}".strip(), "call", door, offers)


def _parameters(page: dict[str, Any], operation: dict[str, Any]) -> dict[str, bool]:
    listed = [as_object(p) for p in operation.get("parameters", [])]
    arguments = {str(p["name"]): bool(p.get("required")) for p in listed if p.get("in") in ("path", "query")}
    content = as_object(as_object(operation.get("requestBody")).get("content"))
    schema = as_object(as_object(content.get("application/json")).get("schema"))
    if reference := schema.get("$ref"):
        schema = page
        for part in str(reference).removeprefix("#/").split("/"):
            schema = as_object(schema.get(part))
    needed = schema.get("required", [])
    return arguments | {name: name in needed for name in as_object(schema.get("properties"))}


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _table(members: dict[str, str]) -> str:
    plain = re.compile("[A-Za-z0-9_-]+")
    pairs = [f"{name if plain.fullmatch(name) else _toml(name)} = {_toml(value)}" for name, value in members.items()]
    return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
