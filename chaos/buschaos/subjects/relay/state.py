"""The state of a `relay` folder as a value that can be compared, and all that must be true of it in any case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from buschaos.state import Evidence, Problem, Promise, health, short
from buschaos.subjects.relay.agents import LINKED, NAMES
from busproof.contract.history import Event

# Values that the disk decides, numbers that may be skipped, and a time that the opening takes before it is told one. In
# an image each file has another inode: a message that waits for its next attempt counts as changed, and has it at once.
_NOT_COMPARED = {"id", "file_inode", "file_mtime_ns", "processed_at", "retry_count"}


def comparable(dump: dict[str, Any], _known_ids: set[str], clock: str) -> dict[str, Any]:
    """Messages with their copies, and every file's place.

    The names of copies are free, and a recovery may deliver in `open`, before it is told the time. So copies' rows are
    compared without names and times; other rows with times, on a clock that is set.
    """

    def clean(row: dict[str, Any]) -> dict[str, Any]:
        is_copy = row.get("direction") == "inbox"
        free = _NOT_COMPARED | ({"message_id", "file_path"} if is_copy else set())
        has_times = clock == "manual" and not is_copy
        return {name: value for name, value in row.items() if name not in free and (has_times or name[-3:] != "_at")}

    copies = [
        {name: copy[name] for name in ("agent", "id", "text")}
        for copy in dump.get("copies", [])
        if copy["agent"] != LINKED
    ]
    rows = [row for row in dump["ledger"] if row["agent_name"] != LINKED]
    outboxes, archived = (
        [row for row in dump.get(table, []) if not row["file"].startswith(f"{LINKED}/")]
        for table in ("outboxes", "archived")
    )
    return {
        "messages": sorted(map(clean, rows), key=repr),
        "agents": sorted((clean(row) | {"pid": row["pid"] is not None} for row in dump["agents"]), key=repr),
        "running": [agent["agent"] for agent in dump.get("running", [])],
        "begun": sorted(agent["agent"] for agent in dump.get("begun", [])),
        "copies": sorted(copies, key=repr),
        "outboxes": outboxes,
        "archived": archived,
    }


def promises(_events: Iterable[Event]) -> list[Promise]:
    """An orchestrator acknowledges nothing: a file that is in an outbox is promised."""
    return []


def problems(evidence: Evidence) -> list[Problem]:
    """The problems of a folder, once a pass has gone over it."""
    if "died" in evidence.facts:
        return [Problem("log", evidence.facts["died"])]
    wrong = list(health(evidence))
    if evidence.dump is not None:
        wrong += _rows(evidence.dump)
        wrong += _copies(evidence.dump)
        wrong += _files(evidence.dump)
        wrong += _processes(evidence.dump)
    return wrong


def pieces(evidence: Evidence) -> list[Problem]:
    """The problems of each file by itself: when the power goes, ledger and folders may be of different moments."""
    if "died" in evidence.facts:
        return [Problem("log", evidence.facts["died"])]
    torn = [] if evidence.dump is None else [p for p in _copies(evidence.dump) if p.why.startswith("torn")]
    return [*health(evidence), *torn]


def _rows(dump: dict[str, Any]) -> Iterator[Problem]:
    for row in dump["ledger"]:
        if row["status"] == "processing":
            yield Problem("log", f"stuck: {row['message_id']} is processing, and nobody works on it")
        elif row["status"] == "failed" and not row["last_error"]:
            yield Problem("log", f"unrecorded: {row['message_id']} failed without a reason")
    for operation in dump["pending_operations"]:
        if operation["completed_at"] is None:
            yield Problem("log", f"stuck: operation {operation['id']} ({operation['operation_type']}) is not over")
    for name in _names(dump, "elsewhere"):
        yield Problem("log", f"outside: {name} was written through a link, out of the folder")
    for name in _names(dump, "scratch"):
        yield Problem("log", f"left behind: tmp/{name}")


def _copies(dump: dict[str, Any]) -> Iterator[Problem]:
    """Each done message lies once in each inbox that it was for."""
    copies: Counter[tuple[str, str]] = Counter()
    for copy in dump.get("copies", []):
        copies[copy["agent"], copy["id"]] += 1
        if not copy["is_whole"]:
            yield Problem("log", f"torn: {copy['agent']}/inbox/{copy['name']}")
    for (agent, id_), times in copies.items():
        if times > 1:
            yield Problem("log", f"doubled: {id_} lies {times} times in the inbox of {agent}")
    for row in dump["ledger"]:
        if row["direction"] == "outbox" and row["status"] in ("completed", "archived"):
            for agent in _recipients(row["agent_name"], row["target"]):
                if not copies[agent, row["message_id"]]:
                    yield Problem("log", f"lost: {row['message_id']} is {row['status']}, and {agent} has no copy")
    delivered = [row for row in dump["ledger"] if (row["direction"], row["agent_name"]) == ("inbox", LINKED)]
    delivered = [row for row in delivered if row["status"] == "completed"]
    there = sum(times for (agent, _), times in copies.items() if agent == LINKED)
    if len(delivered) > there:
        yield Problem("log", f"lost: {len(delivered)} copies for {LINKED} are told as delivered, and {there} were")


def _recipients(sender: str, target: str) -> tuple[str, ...]:
    if target == "*":
        return tuple(name for name in NAMES if name != sender)
    return (target,) if target in NAMES else ()


def _files(dump: dict[str, Any]) -> Iterator[Problem]:
    """Each file is in one place; each sent one is in the ledger, and over."""
    places = Counter([*_names(dump, "outboxes"), *_names(dump, "archived")])
    sent = set(_names(dump, "sent"))
    ended = {row["message_id"] for row in dump["ledger"] if row["status"] in ("completed", "failed", "archived")}
    if doubled := [id_ for id_, times in places.items() if times > 1]:
        yield Problem("log", f"doubled: the files of {short(sorted(doubled))} are in two places")
    if lost := sent - ended:
        yield Problem("log", f"lost: {short(sorted(lost))} were put into outboxes, and have not ended")
    checksums = {row["message_id"]: row["checksum"] for row in dump["ledger"]}
    for file in dump.get("archived", []):
        if checksums.get(file["file"]) not in (None, file["sha256"]):
            yield Problem(
                "log", f"lost: {file['file']} went into the archive with other words than those that were read"
            )
    if gone := sent - set(places):
        yield Problem("log", f"lost: the files of {short(sorted(gone))} are nowhere")


def _processes(dump: dict[str, Any]) -> Iterator[Problem]:
    """Each agent that was started lives once, and the ledger knows it."""
    known = {row["pid"]: row["name"] for row in dump["agents"] if row.get("pid") is not None}
    alive = {agent["pid"]: agent["agent"] for agent in dump.get("running", [])}
    for pid, name in alive.items():
        if known.get(pid) != name:
            yield Problem("presence", f"orphan: a process of {name} lives that the ledger does not know")
    for pid, name in known.items():
        if pid not in alive:
            yield Problem("presence", f"gone: {name} has a process in the ledger, and none that lives")


def _names(dump: dict[str, Any], table: str) -> list[str]:
    return [row["file"] for row in dump.get(table, [])]
