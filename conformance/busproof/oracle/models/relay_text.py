"""The meaning of the bytes of a `relay` file (seed 002, 3.2 and 4): a message, or nothing.

Pure functions of bytes. `parsed` is None for malformed bytes: a young file may be half of a message.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

KINDS = ("message", "spawn", "release", "ack", "nack", "status", "continuity")
REQUESTS = ("spawn", "release", "continuity")  # only the orchestrator answers these
ORCHESTRATOR, LEAD, EVERYBODY = "__orchestrator__", "Lead", "*"
RESERVED = ("__orchestrator__", "system", "root", "admin", "lead")  # in any letter case
USUAL_PRIORITY = 5

NAME = re.compile("[a-zA-Z][a-zA-Z0-9_-]{0,62}")
FILE_NAME = re.compile(r"([0-9]{1,19})-([0-9a-f]{8})\.msg")
HEADER = re.compile(r"([A-Z][A-Z0-9_-]*):(.*)", re.DOTALL)
SMALL_HEADER = re.compile(HEADER.pattern, re.DOTALL | re.IGNORECASE | re.ASCII)
ANY_HEADER = re.compile(r"([A-Z0-9_-]+):(.*)", re.DOTALL)
HASH = re.compile(r"sha256:([0-9a-f]{64})")
KNOWN = ("TO", "KIND", "THREAD", "PRIORITY", "CHECKSUM", "ATTACHMENT", "FROM", "ID")
# A program for `clis` that tells, in a file beside the folder, all that it was started with. NUL stands between.
SAYER = (
    "/bin/sh",
    "-c",
    """out="$AGENT_RELAY_DIR/../said-$AGENT_RELAY_NAME"
root="$(cd "$AGENT_RELAY_DIR" && pwd -P)"
printf '%s\\0' "$$" "$AGENT_RELAY_NAME" "$root" "$(pwd -P)" "${COLOUR-no}" "${SIZE-no}" "$@" > "$out.new"
mv "$out.new" "$out"
exec sleep 600""",
    "sayer",
)
FOLDERS = ("/usr", "/usr/share")  # that every system has
SPAWN, RELEASE = ("NAME", "CLI", "PROMPT", "WORKING_DIR", "ENV"), ("NAME", "REASON")


@dataclass(frozen=True)
class Message:
    """A file that can be understood."""

    headers: dict[str, str]
    body: str

    @property
    def to(self) -> str:
        return self.headers["TO"]

    @property
    def kind(self) -> str:
        return self.headers.get("KIND", "message")

    @property
    def priority(self) -> int:
        return int(self.headers.get("PRIORITY", USUAL_PRIORITY))

    @property
    def attachment(self) -> str | None:
        """The hash that it refers to."""
        return self.headers["ATTACHMENT"].removeprefix("sha256:") if "ATTACHMENT" in self.headers else None

    @property
    def is_whole(self) -> bool:
        """Does the body match CHECKSUM?"""
        checksum = self.headers.get("CHECKSUM")
        return checksum is None or self.is_of(self.body.encode())

    def is_of(self, data: bytes) -> bool:
        """Is CHECKSUM the hash of these bytes?"""
        return self.headers.get("CHECKSUM") == f"sha256:{hashlib.sha256(data).hexdigest()}"


Choose = Callable[..., str]  # takes a row and the options, the reference's first


def as_the_reference(_: str, *options: str) -> str:
    """The first option."""
    return options[0]


def parsed(data: bytes, choose: Choose = as_the_reference) -> Message | None:
    """The message of a file's bytes; None if it is malformed."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        if choose("relay.log.44: what is no UTF-8", "is malformed", "is replaced") == "is malformed":
            return None
        text = data.decode(errors="replace")
    head, blank, body = text.partition("\n\n")
    headers: dict[str, str] = {}
    for line in head.split("\n") if blank else ():
        match = HEADER.fullmatch(line) or other_header(line, choose)
        value = match[2].strip(" \t") if match else ""
        if match is None or not value or not (may_hold(value, choose) and may_stand(match[1].upper(), headers, choose)):
            return None
        headers[match[1].upper()] = value
    return Message(headers, body) if is_sound(headers, choose) else None


def other_header(line: str, choose: Choose) -> re.Match[str] | None:
    """A header whose name is not in upper case, or does not begin with a letter, for a bus that takes it."""
    match = SMALL_HEADER.fullmatch(line)
    if match and choose("relay.log.41", "upper case alone", "any case") == "any case":
        return match
    match = ANY_HEADER.fullmatch(line)
    if match and choose("relay.log.41: its first character", "a letter", "any of a name's") == "any of a name's":
        return match
    return None


def may_hold(value: str, choose: Choose) -> bool:
    """A value with control characters is malformed."""
    return (
        not has_control(value) or choose("relay.log.44: a control character", "is malformed", "is taken") == "is taken"
    )


def may_stand(name: str, headers: dict[str, str], choose: Choose) -> bool:
    """A repeated header is malformed; an unknown one is not."""
    if name in headers:
        return choose("relay.log.42", "a header twice is malformed", "the last one counts") == "the last one counts"
    return name in KNOWN or choose("relay.log.43", "is allowed", "is malformed") == "is allowed"


def is_sound(headers: dict[str, str], choose: Choose) -> bool:
    """Are the headers that have a meaning well-formed?"""
    priority = headers.get("PRIORITY", "0")
    if re.fullmatch("[0-9]{2,}", priority) and choose("relay.log.45", "one digit", "any number") == "any number":
        priority = "0"
    return (
        "TO" in headers
        and not headers.keys() & {"FROM", "ID"}
        and headers.get("KIND", "message") in KINDS
        and re.fullmatch("[0-9]", priority) is not None
        and all(HASH.fullmatch(headers[name]) for name in ("CHECKSUM", "ATTACHMENT") if name in headers)
    )


def has_control(text: str) -> bool:
    """Does it hold a control character?"""
    return any(unicodedata.category(char) == "Cc" for char in text)


def is_agent_name(name: str) -> bool:
    """May an agent have this name (5.3, R2)?"""
    return NAME.fullmatch(name) is not None and name.lower() not in RESERVED


def is_channel(word: str) -> bool:
    """# and a name of the form that agents have; none is reserved."""
    return word.startswith("#") and NAME.fullmatch(word[1:]) is not None


def is_address(to: str) -> bool:
    """May TO have this value?"""
    return to in (ORCHESTRATOR, LEAD, EVERYBODY) or is_channel(to) or is_agent_name(to)


def subscriptions(body: str, *, is_strict: bool = True) -> tuple[set[str], set[str]] | None:
    """Channels that a status adds and removes. If one of them is not a channel: None, or (not strict) without it."""
    added: set[str] = set()
    removed: set[str] = set()
    for line in body.split("\n"):
        key, colon, value = line.partition(":")
        if not colon or key not in ("SUBSCRIBE", "UNSUBSCRIBE"):
            continue
        words = {word.strip(" \t") for word in value.split(",")}
        if is_strict and not all(map(is_channel, words)):
            return None
        words = set(filter(is_channel, words))
        added, removed = (added | words, removed - words) if key == "SUBSCRIBE" else (added - words, removed | words)
    return added, removed


def has_twice(body: str, keys: tuple[str, ...]) -> bool:
    """Do two lines begin with the same of these keys?"""
    starts = [line.partition(":")[0] for line in body.split("\n") if ":" in line]
    return any(starts.count(key) > 1 for key in keys)


def request(message: Message, keys: tuple[str, ...], long: str, twice: str = "") -> dict[str, str] | None:
    """The fields of a spawn or release: in the body, or as headers (R6); None where the body is not made of fields.

    Lines below the field `long` belong to it. `twice` says which of two lines with one key counts; else neither does.
    """
    fields: dict[str, str] = {}
    last = ""
    for line in message.body.split("\n"):
        key, colon, value = line.partition(":")
        if colon and key in keys:
            if key in fields and twice not in ("the first counts", "the last counts"):
                return None
            if key not in fields or twice == "the last counts":
                fields[key] = value.strip()
            last = key
        elif last == long:
            fields[long] += f"\n{line}"
        elif line.strip():
            return None
    if long in fields:
        fields[long] = fields[long].strip()
    return {key: message.headers[key] for key in keys if key in message.headers} | fields
