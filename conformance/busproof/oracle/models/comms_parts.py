"""Parts of `comms` answers with a comparison of their own: messages that depend on jitter, letters, the audit trail."""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from busproof.oracle.models.comms_state import Delivery, Due, Event, Message
from busproof.oracle.models.parts import bare, text_of, us_of
from busproof.oracle.models.spec import Difference, Part, differs, plain, same_json
from busproof.words import as_json

if TYPE_CHECKING:
    from busproof.oracle.models.comms import CommsModel

EVENT_ROWS = ("comms.export.01", "comms.export.02")
OTHERS_ROWS = ("comms.export.08",)


class Shown(Part):
    """The answer of `receive_messages`: all that is there, none that is not; where only the jitter knows, as seen."""

    def __init__(
        self, model: CommsModel, agent: str, channels: list[str], listed: list[tuple[Message, bool | None]], limit: int
    ) -> None:
        self.model, self.agent, self.channels, self.listed, self.limit = model, agent, channels, listed, limit

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """The first difference, under the row that it breaks."""
        names = [row.get("id") for row in actual if isinstance(row, dict)] if isinstance(actual, list) else []
        sure = [m for m, there in self.listed if there or plain(m.id) in names][: self.limit]
        wrong = self._row_of(names, sure)
        wanted = [self.model.envelope(m) for m in sure]
        first = differs(wanted, actual, path, (wrong,) if wrong else rows)
        if first is not None:
            return Difference(first.path, first.expected, first.actual, (wrong,)) if wrong else first
        for message, there in self.listed:
            if there is None and (message in sure or len(sure) < self.limit):
                message.of(self.agent).shows(message in sure, self.model.now_us)
        return None

    def _row_of(self, names: list[Any], sure: list[Message]) -> str | None:
        """The sentence that another set, or another order, breaks."""
        wanted = [plain(m.id) for m in sure]
        if None in wanted or names == wanted:
            return None
        if len(names) > self.limit:
            return "comms.route.11"
        for name in names:
            if name not in wanted:
                return self._row_of_extra(name)
        for message in sure:
            if plain(message.id) not in names:
                return self._row_of_missing(message)
        ranks = {plain(m.id): (-m.priority, m.at_us) for m in sure}
        tied = [ranks[name] for name in names] == [ranks[name] for name in wanted]
        return "comms.route.10" if tied else "comms.route.07"

    def _row_of_extra(self, name: Any) -> str:
        message = self.model.by_id(name)
        if message is None:
            return "comms.log.16"
        if not message.is_for(self.agent):
            return "comms.route.05"
        if message.channel not in self.channels:
            return "comms.route.01"
        if message.is_expired(self.model.now_us):
            return "comms.log.37"
        rows = {"processing": "comms.lease.03", "failed": "comms.retry.03", "done": "comms.lease.06"}
        return rows.get(message.of(self.agent).status, "comms.route.09")

    def _row_of_missing(self, message: Message) -> str:
        rows = {"processing": "comms.lease.13", "failed": "comms.retry.02"}
        there = "comms.route.06" if message.to is None else "comms.route.04"
        return rows.get(message.deliveries.get(self.agent, Delivery()).status, there)

    def __repr__(self) -> str:
        return as_json([plain(m.id) for m, there in self.listed if there][: self.limit])


class Either(Part):
    """A claim while only the jitter knows whether the message is due: the model follows the answer from then on."""

    def __init__(self, model: CommsModel, message: Message, agent: str) -> None:
        self.model, self.message, self.agent = model, message, agent

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """Follow it."""
        if type(actual) is not bool:
            return Difference(path, "true or false", as_json(actual), rows)
        self.message.of(self.agent).shows(actual, self.model.now_us)
        if actual:
            self.model.grant(self.message, self.agent)
        return None


class Kept(Part):
    """A dead letter's message: an object, or its text as in the table."""

    def __init__(self, envelope: dict[str, Any]) -> None:
        self.envelope = envelope

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """Member by member."""
        try:
            content = json.loads(actual) if isinstance(actual, str) else actual
        except ValueError:
            content = actual
        difference = differs(self.envelope, content, path, rows)
        return difference and Difference(difference.path, difference.expected, difference.actual, rows)


class Trail(Part):
    """Lines of the audit trail, of any format: every event has its own, which names its time, its thing and its agent,
    and lines of different kinds can be told apart."""

    def __init__(self, events: list[Event], later: list[Event], strangers: list[dict[str, Any] | str]) -> None:
        self.events, self.later, self.strangers = events, later, strangers

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """Each event finds a line; no line about a message is left over; every line of others is there."""
        gone = next((theirs for theirs in self.strangers if not _is_there(theirs, actual)), None)
        if gone is not None:
            return Difference(
                path, f"the line of another program {as_json(gone):.200}", f"{len(actual)} others", OTHERS_ROWS
            )
        about = self._lines_by_thing(_repeats_last([line for line in actual if isinstance(line, dict)]))
        kinds: dict[str, list[dict[str, str]]] = {}
        used: set[int] = set()
        waiting = self.events + self.later
        for event in self.events + self.later:
            lines = about[str(plain(event.about))]
            waiting.remove(event)
            own_line = _line_of(event, [line for line in lines if id(line) not in used], waiting)
            if own_line is not None:
                used.add(id(own_line))
                kinds.setdefault(event.kind, []).append(_words(own_line, event))
            elif event not in self.later and event.kind != "dead_letter":  # it may stand in the line of the failure
                return Difference(path, f"a line for {self._of_that_moment(event)}", _first(lines, event), EVENT_ROWS)
        for kind, other in itertools.combinations(kinds, 2):
            if not _are_apart(kinds[kind], kinds[other]):
                return Difference(path, f"lines that tell {kind} from {other}", f"{kinds[kind][0]}", EVENT_ROWS)
        for event in self.events:
            lines = about[str(plain(event.about))]
            extra = [line for line in lines if id(line) not in used and line not in self.strangers]
            if extra:
                of_it = [e for e in self.events + self.later if plain(e.about) == plain(event.about)]
                wanted = f"each event once: {'; '.join(map(_in_words, of_it))}"
                return Difference(path, wanted, f"also {extra}", ("comms.export.03",))
        return None

    def _of_that_moment(self, event: Event) -> str:
        """No line tells which of two events of one agent and moment lacks one, so all of them are named."""
        moment = (plain(event.about), event.at_us)
        same = [e for e in self.events + self.later if (plain(e.about), e.at_us) == moment]
        others = f", one of {len(same)} of that moment: {'; '.join(map(_in_words, same))}" if len(same) > 1 else ""
        return f"{_in_words(event)} ({plain(event.about)}){others}"

    def _lines_by_thing(self, lines: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        """A line may name two things: an answer's line, the request. It is about the one in the usual column."""
        things = {str(plain(event.about)) for event in self.events + self.later}
        named = [
            (key, value, line)
            for line in lines
            for key, value in line.items()
            if isinstance(value, str) and value in things
        ]
        usual = Counter(key for key, _, _ in named)
        about: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for _, value, line in sorted(named, key=lambda naming: -usual[naming[0]]):
            if all(line is not known for known in about[value]):
                about[value].append(line)
        return about

    def __repr__(self) -> str:
        return as_json(self.events)


def _is_there(theirs: dict[str, Any] | str, lines: list[Any]) -> bool:
    """A line of others stays; what stood behind one that had no end may stand in the same line now."""
    text = json.dumps(theirs) if isinstance(theirs, dict) else theirs.rstrip("\n")
    return (
        theirs in lines
        or not text.strip()
        or any(text in line if isinstance(line, str) else as_json(line) == text for line in lines)
    )


def _repeats_last(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line that occurs a second time belongs to no other event, as long as that event has its own."""
    firsts = {json.dumps(line, sort_keys=True): line for line in reversed(lines)}
    ids = {id(line) for line in firsts.values()}
    return sorted(lines, key=lambda line: id(line) not in ids)


def _line_of(event: Event, free: list[dict[str, Any]], waiting: list[Event]) -> dict[str, Any] | None:
    """An event without an agent takes no line that an agent's event of that moment needs."""
    fit = [line for line in free if _tells(line, event)]
    if event.agent is not None:
        return fit[0] if fit else None
    needs = [
        other
        for other in waiting
        if other.agent is not None
        and other.kind != "dead_letter"
        and (plain(other.about), other.at_us) == (plain(event.about), event.at_us)
    ]
    spare = [line for line in fit if not any(_tells(line, need) for need in needs)]
    if len(fit) > len(needs):
        spare += fit
    return spare[0] if spare else None


def _in_words(event: Event) -> str:
    return f"{event.kind} by {event.agent or 'nobody'} at {text_of(event.at_us)}"


def _first(lines: list[dict[str, Any]], event: Event) -> str:
    """All the lines of that moment; of the others, their number."""
    there = [line for line in lines if any(us_of(value) == event.at_us for value in line.values())]
    return f"of that moment {there}; of other moments {len(lines) - len(there)} lines"


def _tells(line: dict[str, Any], event: Event) -> bool:
    values = list(line.values())
    named = event.agent is None or event.agent in values
    return named and any(us_of(value) == event.at_us for value in values)


def _words(line: dict[str, Any], event: Event) -> dict[str, str]:
    """The line's texts that are neither a time nor a name of its subject."""
    about = {event.agent, str(plain(event.about))}
    texts = {key: value for key, value in line.items() if isinstance(value, str) and value not in about}
    return {key: value for key, value in texts.items() if us_of(value) is None}


def _are_apart(first: list[dict[str, str]], other: list[dict[str, str]]) -> bool:
    """Is there a member by which every line of one kind differs from every line of the other?"""
    keys = set().union(*first, *other)
    return any(not {line.get(key) for line in first} & {line.get(key) for line in other} for key in keys)


def letter_key(row: dict[str, Any]) -> Any:
    """The message, the error and the count tell letters apart: the bus chooses the id of a broadcast's letter."""
    original = row.get("original_message")
    if isinstance(original, Kept):
        name = bare(original.envelope["id"])
    else:
        name = (json.loads(original) if isinstance(original, str) else original or {}).get("id")
    return name, row.get("error"), row.get("retry_count")


def delivery_key(row: dict[str, Any]) -> Any:
    return bare(row.get("message_id")), bare(row.get("agent_id"))


def is_kept_as(seen: Any, value: Any) -> bool:
    """The value, or the JSON text of a column that holds it?"""
    try:
        return same_json(json.loads(seen) if isinstance(seen, str) else seen, value)
    except ValueError:
        return False


def in_words(model: CommsModel) -> str:
    """The state, for a reader of a failure."""
    lines = [f"now {text_of(model.now_us)}"]
    for message in model.messages:
        until = "" if message.expires_us is None else f" until {text_of(message.expires_us)}"
        lines.append(f"{plain(message.id)}: {message.sender} to {message.to or 'all'} on {message.channel}{until}")
        for agent, delivery in message.deliveries.items():
            due = delivery.due.low_us if isinstance(delivery.due, Due) else delivery.due
            state = f"{delivery.status}, claimed {delivery.count} times, failed {delivery.failures}"
            lines.append(f"  {agent}: {state}, due {text_of(due)}")
    lines += [f"dead letter {plain(letter.id)} of {letter.agent}: {letter.error:.60}" for letter in model.letters]
    lines += [f"{agent}: {float(held):.2f} tokens" for agent, (held, _) in model.buckets.items() if held < 2]
    return "\n".join(lines)


def is_text_of_both(first: Any, other: Any) -> bool:
    """Are they written alike, except for the order of members?"""
    return json.dumps(first, sort_keys=True) == json.dumps(other, sort_keys=True)
