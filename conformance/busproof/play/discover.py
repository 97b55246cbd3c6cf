"""`busproof discover`: which promises does a bus appear to keep?

Each probe plays a few calls and counts how often the promise was kept. Beside them stands a control, the same without
the cause; a probe whose premise does not hold says nothing. What is always kept is proposed, what is kept sometimes is
told as that, and what is never kept is left out. The author confirms, tightens or strikes: a probe is no proof, and the
documents of the bus count more. `check` judges the file.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from busproof.bus.base import Door, DoorError, Lost, Refused
from busproof.bus.child import Household
from busproof.bus.doors import BusSpecError, open_door
from busproof.contract.mailbox import CONTRACT

BUDGET_S = 60.0
TIMES, TIMES_FAST, FAST_S = 3, 10, 0.05  # how often a thing is tried; on a bus that is fast to let an agent in
DOORS = 3
BURST = 120  # more than any usual page
HEADING_LINES = 2  # of the file, before a probe tells anything
SIZES = (1_000, 4_000, 16_000, 64_000, 120_000, 500_000, 1_100_000)
# The probes, the cheap ones first, and the promises that each is about.
ABOUT = {
    "reading": ("consumes", "sender"),
    "acks": ("ack", "cumulative_ack"),
    "numbers": ("arrival", "number"),
    "keys": ("key",),
    "threads": ("threads",),
    "priorities": ("priority",),
    "pages": ("page",),
    "claims": ("renew", "fencing"),
    "jobs": ("fifo", "redelivery", "attempts"),
    "restart": (),
    "waits": ("wait",),
    "burst": (),
    "self_delivery": ("self_delivery",),
    "broadcasts": ("broadcast", "late_readers"),
    "sizes": (),
}
# promise → the methods that it is about
NEEDED = {"ack": ("ack",), "cumulative_ack": ("ack",), "fencing": ("claim",), "renew": ("claim", "renew")}
NEEDED |= dict.fromkeys(("fifo", "redelivery", "attempts"), ("put",))
NO_ANSWER = ("NO_ANSWER", "LOST", "ADAPTER")
KNOWN = {*CONTRACT.features, *CONTRACT.limits, "durability"}


class NoAnswer(Exception):
    """The bus did not answer: nothing more is asked."""


class TimeIsOver(Exception):
    """Nothing more is asked."""


@dataclass(frozen=True)
class Told:
    """What a probe says of a promise: kept so many times of so many; of no times it says nothing."""

    promise: str
    kept: int
    times: int
    evidence: str
    value: Any = True

    def lines(self) -> Iterator[str]:
        """As lines of the file: proposed, or told."""
        result = f"{self.kept} of {self.times}: {self.evidence}" if self.times else f"says nothing: {self.evidence}"
        setting = f"{self.promise} = {json.dumps(self.value)}" if self.promise in KNOWN else self.promise
        yield f"{setting:<28} # {result}" if self.times and self.kept == self.times else f"# {setting:<26} # {result}"


def main(argv: Sequence[str]) -> int:
    """The command. Exit 0: the file is written; 2: it is not."""
    args = parser().parse_args(argv)
    if args.out.exists():
        raise BusSpecError(f"{args.out} exists already; nothing was written")
    household = Household()
    lines: list[str] = []
    with tempfile.TemporaryDirectory(prefix="busproof-") as store:
        probes = Probes(args.bus, Path(store), household, time.monotonic() + args.seconds)
        try:
            for line in page(args.bus, probes):
                lines.append(line)
                print(line, flush=True)
        finally:  # what a user breaks off has its lines so far
            household.end()
            if len(lines) > HEADING_LINES:
                args.out.write_text("\n".join([*lines, ""]), encoding="utf-8")
                then = "confirm, tighten or strike each line, and put what stays into bus.toml"
                print(f"wrote {args.out}: {then}", file=sys.stderr)
    return 0


def parser() -> argparse.ArgumentParser:
    """Of the command."""
    made = argparse.ArgumentParser(prog="busproof discover", description=(__doc__ or "").split("\n\n")[1])
    made.add_argument("system", nargs="?", choices=(CONTRACT.system,), help="that of every bus that is discovered")
    made.add_argument("--bus", required=True, metavar="SPEC", help="a mailbox, such as toml:bus.toml")
    made.add_argument("--out", type=Path, default=Path("promises.toml"), help="default: %(default)s")
    made.add_argument("--seconds", type=float, default=BUDGET_S, help="at most (default %(default)g)")
    return made


def page(bus: str, probes: Probes) -> Iterator[str]:
    """The file, line by line as the probes tell. It ends with the promises of which none told, and why."""
    yield f"# What {bus} appears to keep. A line without # was kept each time that it was tried."
    yield "[promises]"
    told_of = set(CONTRACT.usual)
    for answer in probes.run():
        told_of.add(answer.promise)
        yield from answer.lines()
    silent = [name for name in CONTRACT.features if name not in told_of]
    for why, names in probes.silence(silent):
        yield f"# {why}: {', '.join(names)}"


class Probes:
    """A crew on one store, and what it tries."""

    def __init__(self, bus: str, store: Path, household: Household, ends_at: float) -> None:
        self._bus, self._store, self._household, self._ends_at = bus, store, household, ends_at
        self._doors: dict[int, Door] = {}
        self._seats: dict[str, int] = {}  # agent → its door
        self._times = TIMES
        self._bodies = (f"probe {number}" for number in itertools.count(1))
        self._agents = (f"prober{number}" for number in itertools.count(1))
        self._consumes = False
        self._pages = False
        self._tried: set[str] = set()  # probes that came to their end
        self._missing: set[str] = set()  # methods
        self._why_not = ""  # were the other probes not tried

    def run(self) -> Iterator[Told]:
        """All probes, the cheap ones first; the first that is not answered, or the end of the time, is the last."""
        try:
            for name in ABOUT:
                try:
                    yield from getattr(self, name)()
                except Refused as error:
                    yield Told(name, 0, 0, f"a call that it rests on was refused: {error}")
                self._tried.add(name)
        except TimeIsOver:
            self._why_not = "the time was over (--seconds)"
        except NoAnswer as error:
            self._why_not = "the bus did not answer"
            yield Told("the rest", 0, 0, f"the bus did not answer, and nothing more was asked: {error}")
        finally:
            for door in self._doors.values():
                door.close()

    def silence(self, promises: list[str]) -> Iterator[tuple[str, list[str]]]:
        """These promises, of which no probe told, by the reason."""
        probe_of = {name: probe for probe, names in ABOUT.items() for name in names}
        reasons: dict[str, list[str]] = {}
        for name in promises:
            missing = self._missing.intersection(NEEDED.get(name, ()))
            if name not in probe_of:
                why = "No probe tries"
            elif probe_of[name] not in self._tried:
                why = f"Not tried, as {self._why_not}"
            elif missing:
                why = f"Not tried, as the bus has no `{min(missing)}` (in bus.toml: no [{min(missing)}])"
            else:
                why = "Tried, and not kept once"
            reasons.setdefault(why, []).append(name)
        yield from reasons.items()

    # -- calls

    def ask(self, agent: str, method: str, **params: Any) -> dict[str, Any]:
        """A call by an agent, in one of three processes. Raises Refused, NoAnswer, or TimeIsOver."""
        if time.monotonic() > self._ends_at:
            raise TimeIsOver
        try:
            seat = self._seats.setdefault(agent, len(self._seats) % DOORS)
            if seat not in self._doors:
                door = self._doors[seat] = open_door(self._bus, self._household.spawn)
                door.get_ready(CONTRACT.system)
                door.call("open", {"store": str(self._store), "options": {}})
            return self._doors[seat].call(method, {"agent_id": agent, **params})
        except Refused as error:
            if error.code in NO_ANSWER:
                raise NoAnswer(f"{method}: {error}") from error
            raise
        except (Lost, DoorError) as error:
            raise NoAnswer(f"{method}: {error}") from error

    def agent(self) -> str:
        """A new agent, which has received once."""
        name = next(self._agents)
        self.read(name)
        return name

    def send(self, agent: str, to: str | None, **params: Any) -> dict[str, Any]:
        """A message with a body of its own, which is in the answer here."""
        body = params.pop("body", None) or next(self._bodies)
        given = {"to": to} if to else {}
        return {"body": body, **self.ask(agent, "send", **given, body=body, **params)}

    def read(self, agent: str, **params: Any) -> list[dict[str, Any]]:
        """What receive shows."""
        return list(self.ask(agent, "receive", **{"limit": 100, **params})["messages"])

    def has(self, method: str) -> bool:
        """Is the method there?"""
        params = {name: value for name, value in CONTRACT.trials.get(method, {}).items() if name != "agent_id"}
        try:
            self.ask(next(iter(self._seats)), method, **params)
        except Refused as error:
            if error.rpc == -32601:
                self._missing.add(method)
                return False
        return True

    # -- probes

    def reading(self) -> Iterator[Told]:
        """Does the first receive take, and does it tell the sender?"""
        ann = self.agent()
        shown = again = sender = 0
        began = time.monotonic()
        bob = self.agent()  # most probes make new ones: a bus may start a process for each
        self._times = TIMES_FAST if time.monotonic() - began < FAST_S else TIMES
        for _ in range(self._times):
            sent = self.send(ann, bob)
            first = [row for row in self.read(bob) if row["body"] == sent["body"]]
            shown += len(first)
            sender += bool(first) and first[0].get("from_agent") == ann
            again += sent["body"] in bodies(self.read(bob))
        if shown != self._times:
            yield Told("consumes", 0, 0, f"{shown} of {self._times} messages were shown at all")
            return
        self._consumes = not again
        yield Told("consumes", self._times - again, self._times, "a second receive does not show what the first showed")
        if sender:
            yield Told("sender", sender, self._times, "from_agent is who sent")

    def acks(self) -> Iterator[Told]:
        """Control: the message that is not acked stays."""
        if not self.has("ack"):
            return
        view = "unacked" if self.has("unacked") else "receive"
        if self._consumes and view == "receive":
            yield Told("ack", 0, 0, "reading takes, and no view shows what is not acked")
            return
        gone = stayed = earlier = 0
        for _ in range(self._times):
            ann, bob = self.agent(), self.agent()
            sent = [self.send(ann, bob) for _ in range(3)]
            self.read(bob)
            self.ask(bob, "ack", ids=[sent[1]["id"]])
            left = bodies(self.read(bob) if view == "receive" else self.ask(bob, view)["messages"])
            gone += sent[1]["body"] not in left
            stayed += sent[2]["body"] in left
            earlier += sent[0]["body"] not in left
        if stayed != self._times:
            yield Told("ack", 0, 0, f"{self._times - stayed} of {self._times} times a later message was gone, too")
            return
        yield Told("ack", gone, self._times, f"{view} does not show an acked message, and shows the one after it")
        if earlier:
            yield Told("cumulative_ack", earlier, self._times, "nor the one before it")

    def numbers(self) -> Iterator[Told]:
        """Three senders, one reader."""
        bob, senders = self.agent(), [self.agent() for _ in range(3)]
        sent = [self.send(sender, bob) for _ in range(2) for sender in senders]
        rows = [row for row in self.read(bob) if row["body"] in bodies(sent)]
        if len(rows) != len(sent):
            yield Told("arrival", 0, 0, f"{len(rows)} of {len(sent)} messages were shown")
            return
        yield Told("arrival", int(bodies(rows) == bodies(sent)), 1, "six messages of three senders came in their order")
        numbers = {row["body"]: int(row["n"]) for row in rows if row.get("n") is not None}
        if len(numbers) == len(sent):
            order = [numbers[message["body"]] for message in sent]
            yield Told("number", int(order == sorted(set(order))), 1, f"numbers in the order sent: {order}")

    def keys(self) -> Iterator[Told]:
        """Control: another key is another message."""
        same = 0
        for number in range(self._times):
            ann, bob = self.agent(), self.agent()
            body = next(self._bodies)
            ids = [self.send(ann, bob, body=body, key=f"k{number}{part}")["id"] for part in ("", "", "b")]
            if ids[0] == ids[2]:
                yield Told("key", 0, 0, "a send with another key is the same message, too")
                return
            same += ids[0] == ids[1] and len(self.read(bob)) == 2
        if same:
            yield Told("key", same, self._times, "a send again with its key is the same message, shown once")

    def broadcasts(self) -> Iterator[Told]:
        """Control: what is addressed to one is not shown to the other."""
        ann, bob, cy = self.agent(), self.agent(), self.agent()
        direct = self.send(ann, bob)
        if direct["body"] in bodies(self.read(cy)):
            yield Told("broadcast", 0, 0, "a message to one is shown to another, too")
            return
        try:
            sent = self.send(ann, None)
        except Refused:
            return
        reached = sum(sent["body"] in bodies(self.read(agent)) for agent in (bob, cy))
        if not reached:
            return
        yield Told("broadcast", reached, 2, "a send without `to` reached the others")
        yield Told(
            "late_readers", int(sent["body"] in bodies(self.read(next(self._agents)))), 1, "and one that came later"
        )

    def self_delivery(self) -> Iterator[Told]:
        """To itself."""
        ann = self.agent()
        try:
            sent = self.send(ann, ann)
        except Refused as error:
            yield Told("self_delivery", 0, 1, f"refused: {error.message[:80]}")
            return
        yield Told("self_delivery", int(sent["body"] in bodies(self.read(ann))), 1, "a message to itself is shown")

    def threads(self) -> Iterator[Told]:
        """Both members, as sent."""
        ann, bob = self.agent(), self.agent()
        first = self.send(ann, bob)
        sent = self.send(ann, bob, thread="a thread", reply_to=first["id"])
        row = next((row for row in self.read(bob) if row["body"] == sent["body"]), {})
        kept = (row.get("thread") == "a thread") + (row.get("reply_to") == first["id"])
        if kept:
            yield Told("threads", kept, 2, "thread and reply_to arrived as sent")

    def priorities(self) -> Iterator[Told]:
        """Control: of equals the first sent is first."""
        first = 0
        for _ in range(self._times):
            ann, bob = self.agent(), self.agent()
            sent = [self.send(ann, bob, priority=priority) for priority in (0, 0, 9)]
            shown = [body for body in bodies(self.read(bob)) if body in bodies(sent)]
            if len(shown) != 3 or shown.index(sent[0]["body"]) > shown.index(sent[1]["body"]):
                yield Told("priority", 0, 0, "of two with one priority the later came first")
                return
            first += shown[0] == sent[2]["body"]
        if first:
            yield Told("priority", first, self._times, "what was sent last, with a higher priority, came first")

    def pages(self) -> Iterator[Told]:
        """Control: without the position everything is shown again."""
        ann, bob = self.agent(), self.agent()
        sent = bodies([self.send(ann, bob) for _ in range(4)])
        shown = self.ask(bob, "receive", limit=2)
        if shown.get("position") is None or self._consumes:
            return
        rest = bodies(self.ask(bob, "receive", limit=10, after=shown["position"])["messages"])
        if bodies(self.read(bob)) != sent:
            yield Told("page", 0, 0, "without a position not everything is shown again")
            return
        self._pages = True
        yield Told(
            "page", int(bodies(shown["messages"]) + rest == sent), 1, "after the position of a page comes the rest"
        )

    def claims(self) -> Iterator[Told]:
        """Control: another may not."""
        if not self.has("claim"):
            return
        ann, bob = self.agent(), self.agent()
        claim = {"ttl_ms": 60_000}
        first = self.ask(ann, "claim", name="a name", **claim)
        other = self.ask(bob, "claim", name="a name", **claim)
        if not first["granted"] or other["granted"]:
            yield Told(
                "renew", 0, 0, f"a free name is granted: {first['granted']}; one that is held: {other['granted']}"
            )
            return
        if self.has("renew"):
            may = [self.ask(agent, "renew", name="a name", **claim)["granted"] for agent in (ann, bob)]
            yield Told("renew", int(may == [True, False]), 1, f"renewed by the holder {may[0]}, by another {may[1]}")
        self.ask(ann, "release", name="a name", **({"token": first["token"]} if "token" in first else {}))
        second = self.ask(ann, "claim", name="a name", **claim)
        if "token" in first and "token" in second:
            with contextlib.suppress(Refused):
                self.ask(ann, "release", name="a name", token=first["token"])
            is_free = self.ask(bob, "claim", name="a name", **claim)["granted"]
            rises = second["token"] > first["token"]
            does = "releases" if is_free else "does not release"
            evidence = f"the next token is {'' if rises else 'not '}higher, and the one before it {does} the name"
            yield Told("fencing", int(rises and not is_free), 1, evidence)

    def jobs(self) -> Iterator[Told]:
        """Control: before the time nobody gets it."""
        if not self.has("put"):
            return
        ann, bob, queue = self.agent(), self.agent(), "probe"
        put = [self.ask(ann, "put", queue=queue, body=next(self._bodies))["id"] for _ in range(2)]
        first = self.ask(ann, "take", queue=queue, visible_ms=1000)["job"]
        second = self.ask(ann, "take", queue=queue, visible_ms=60_000)["job"]
        if not first or not second or self.ask(bob, "take", queue=queue, visible_ms=1000)["job"]:
            yield Told("redelivery", 0, 0, "two jobs are not taken once each")
            return
        yield Told("fifo", int([first["id"], second["id"]] == put), 1, "two jobs were taken in their order")
        time.sleep(1.5)
        again = self.ask(bob, "take", queue=queue, visible_ms=60_000)["job"]
        is_again = bool(again) and again["id"] == first["id"]
        yield Told("redelivery", int(is_again), 1, "a job can be taken again when its time is over, and not before")
        if is_again and "attempt" in again:
            attempts = (first.get("attempt"), again["attempt"])
            yield Told("attempts", int(attempts == (1, 2)), 1, f"attempts were {attempts[0]} and {attempts[1]}")

    def restart(self) -> Iterator[Told]:
        """All processes are killed; control: the message waits for another agent, who has not read it."""
        ann, bob = self.agent(), self.agent()
        sent = self.send(ann, bob)
        for door in self._doors.values():
            door.kill()
        self._doors.clear()
        kept = sent["body"] in bodies(self.read(bob))
        yield Told("durability", int(kept), 1, "a message outlived a kill of all processes", "process-crash")
        if not kept:
            yield Told("durability", 1, 1, "a kill of all processes loses what was sent", "none")

    def waits(self) -> Iterator[Told]:
        """Control: without wait_ms an empty inbox answers at once."""
        ann = self.agent()
        took_s = []
        for wait_ms in (0, 2000):
            began = time.monotonic()
            self.read(ann, wait_ms=wait_ms)
            took_s.append(time.monotonic() - began)
        if took_s[1] > 1.5 and took_s[1] > took_s[0] + 1.0:
            yield Told(
                "wait", 1, 1, f"an empty inbox answered after {took_s[1]:.1f} s, and {took_s[0]:.1f} s without wait"
            )

    def burst(self) -> Iterator[Told]:
        """More than any page, as many as the time allows."""
        ann, bob = self.agent(), self.agent()
        sent: list[dict[str, Any]] = []
        for _ in range(BURST):
            if time.monotonic() > self._ends_at - 5:
                break
            try:
                sent.append(self.send(ann, bob))
            except Refused as error:
                yield Told("unread_max", 1, 1, f"then: {error}", len(sent))
                break
        page = self.ask(bob, "receive", limit=1000)
        shown = set(bodies(page["messages"])) & set(bodies(sent))
        rest = set(bodies(sent)) - shown
        if not rest:
            return
        waited = f"{len(sent)} messages waited, {len(shown)} were shown"
        onward = {"after": page["position"]} if self._pages else {}
        if not (self._pages or self._consumes or self.has("ack")):
            yield Told("page_max", 0, 0, f"{waited}, and no call asks for the rest")
            return
        if not (self._pages or self._consumes):
            self.ask(bob, "ack", ids=[row["id"] for row in page["messages"]])
        if rest & set(bodies(self.read(bob, limit=1000, **onward))):
            yield Told("page_max", 1, 1, f"{waited}, and the next answer goes on", len(shown))
        else:
            yield Told("all that waits is shown", 0, 1, f"{waited}, and the next answer shows none of the rest")

    def sizes(self) -> Iterator[Told]:
        """Ever larger bodies; the bound lies between the last that came and the first that did not."""
        ann, bob, last = self.agent(), self.agent(), 0
        for size in SIZES:
            body = "z" * size
            try:
                self.send(ann, bob, body=body)
                why = "it came otherwise" if body not in bodies(self.read(bob)) else ""
            except Refused as error:
                why = str(error)[:100]
            if why:
                yield Told("body_chars_max", 0, 1, f"{size} characters: {why}; the bound is yours to write", last)
                return
            last = size


def bodies(rows: list[dict[str, Any]]) -> list[str]:
    """The bodies."""
    return [row["body"] for row in rows]
