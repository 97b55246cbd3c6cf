"""All timelines as one picture of text, the oldest message first: a column a timeline, a fork leaves its parent's.

    * main:1 1f2e3d4c s1 invoke cli.local.ada
    * main:2 5a6b7c8d s1 req ada.infer.ollama.chat.1
    |-.
    | * side:3 9e8f7a6b s1 fork ada
    * | main:3 0c1d2e3f s1 res infer.ollama.ada.chat.1

Names stand as tokens of subjects: a line is ASCII, whatever an agent is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from refbus.timeline import token
from refbus.timeline.fork import Row
from refbus.timeline.message import Message

HASH_CHARS = 8


class Columns:
    """Which timeline stands in which column now."""

    def __init__(self) -> None:
        self.names: list[str | None] = []

    def open(self, name: str) -> int:
        """A column for the timeline, behind all that are in use."""
        while self.names and self.names[-1] is None:
            self.names.pop()
        self.names.append(name)
        return len(self.names) - 1

    def close(self, name: str) -> None:
        """The last message of the timeline was shown."""
        self.names[self.names.index(name)] = None

    def line(self, at: str | None = None) -> str:
        """The columns' signs: `*` for the timeline whose message this is."""
        return " ".join(" " if name is None else "*" if name == at else "|" for name in self.names).rstrip()


def lines(timelines: Sequence[Row], messages: Iterable[Message]) -> Iterator[str]:
    """The picture. `messages`: of those timelines, each once."""
    own: dict[str, list[Message]] = {row["timeline"]: [] for row in timelines}
    for message in messages:
        own[_name(message)].append(message)
    columns = Columns()
    waiting = {row["timeline"]: row for row in timelines if own[row["timeline"]]}
    starts = [row for row in waiting.values() if row["parent"] is None or row["at"] == 0]
    for row in sorted(starts, key=lambda row: row["parent"] is not None):
        columns.open(row["timeline"])
        del waiting[row["timeline"]]
    while shown := [name for name in columns.names if name is not None]:
        name = min(shown, key=lambda name: (own[name][0]["time_us"], columns.names.index(name)))
        message = own[name].pop(0)
        yield f"{columns.line(name)} {_text(message)}"
        for fork in [fork for fork, row in waiting.items() if (row["parent"], row["at"]) == (name, message["number"])]:
            yield _branching(columns, columns.names.index(name), columns.open(fork))
            del waiting[fork]
        if not own[name]:
            columns.close(name)


def _branching(columns: Columns, parent: int, fork: int) -> str:
    """From the parent's column to the last."""
    signs = list(" ".join(" " if name is None else "|" for name in columns.names[:fork]).ljust(2 * fork))
    for at in range(2 * parent + 1, 2 * fork):
        signs[at] = "+" if signs[at] == "|" else "-"
    return "".join(signs) + "."


def _text(message: Message) -> str:
    _, timeline, submission, kind, *rest = message["subject"].split(".")
    place = f"{timeline}:{message['number']} {message['hash'][:HASH_CHARS]}"
    return f"{place} {submission} {kind} {'.'.join(rest)}".rstrip()


def _name(message: Message) -> str:
    return token.decode(message["subject"].split(".", 2)[1])
