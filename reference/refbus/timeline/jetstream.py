"""The queue on NATS JetStream: the same bus over a network, by the seed's subjects (T7).

One stream holds every message for good, so the stream is the record. A message is appended by one publish that the
server takes only if the timeline's last message is still the one that it is chained to: compare-and-set on the head of
the chain (T6). `Nats-Msg-Id` is the message's identity; a longer memory than the server's is the subject itself, which
is asked first.

Consumers are durable and pulled (T5). Replies are waited for on their subject; a message heard there is a hint to look.

A participant that knows only the seed's subjects may publish, too: its messages have no chain of their own, and their
readers chain them.
"""

from __future__ import annotations

import binascii
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from refbus.kernel.clock import Clock
from refbus.kernel.errors import Busy, IdConflict, InvalidArgument, Unreachable
from refbus.timeline import token
from refbus.timeline.config import Config
from refbus.timeline.filters import Filter
from refbus.timeline.message import Draft, Node, Place, chained, follow
from refbus.timeline.queue import Branch, Delivery, Origin, Queue, other_content
from refbus.timeline.stream import PATIENCE_S, STREAM, NotThere, Raw, Stream, fault

PULL_S = 5.0  # a pull that a restarted server has forgotten is made again after so long
LAG_S, LOOK_S = 1.0, 0.05  # a consumer hears of a message a moment after its sender is answered
TOGETHER = 250  # timelines whose ends are asked for at once
WRONG_LAST = 10071
GIVEN_BACK = "given-back-"  # in a consumer's metadata: a delivery that another session gave back
_LAST = "Nats-Expected-Last-Subject-Sequence"
# $JS.ACK.[domain.account.]stream.consumer.delivered.stream_seq.consumer_seq.time.pending[.random]
_DELIVERY = re.compile(
    r"\$JS\.ACK\.(?:[^\s*>.]+\.[^\s*>.]+\.)?[^\s*>.]+\.([^\s*>.]+)"
    r"\.(\d{1,18})\.(\d{1,18})\.(\d{1,18})\.\d+\.\d+(?:\.[^\s*>.]+)?",
    re.ASCII,
)


MARKS_MAX = 1_000


class JetStreamQueue(Queue):
    """The stream VLINDER of one JetStream account; it is made if missing."""

    def __init__(self, config: Config, *, clock: Clock, ack_wait_ms: int) -> None:
        self.clock, self.ack_wait_ms = clock, ack_wait_ms
        self.stream = Stream(config)
        self.client = self.stream.client
        self._marks: dict[tuple[str, str | None], tuple[int, int]] = {}  # where reading stopped: number, sequence
        self._consumers: set[str] = set()
        self._mine: dict[str, float] = {}  # deliveries that this session has, oldest first, and until when

    def append(self, draft: Draft, origin: Origin | None = None, start: Place | None = None) -> tuple[Node, bool]:
        """See Queue. Tries again until it is known what happened, or patience is over: then UNREACHABLE."""
        deadline = time.monotonic() + PATIENCE_S
        ours: set[str] = set()  # hashes that may have been stored although no answer came
        while True:
            head, first = self.stream.get(
                {"last_by_subj": f"vlinder.{draft.timeline}.>"}, {"seq": 1, "next_by_subj": draft.subject}
            )
            known = self._first(first, draft.nonce)
            if known is not None:
                if known.content != (draft.nonce, draft.state, draft.payload):
                    raise other_content(draft, origin)
                return known, known.hash not in ours
            if head is not None and origin is not None:
                raise IdConflict(f"timeline {draft.key.timeline!r:.100} exists")
            node = chained(draft, self._placed(head).place if head else start or Place(), self.clock.now_us())
            try:
                if self._publish(draft, node, head.seq if head else 0):
                    return node, False
            except Unreachable:
                ours.add(node.hash)
                if time.monotonic() > deadline:
                    raise
            if time.monotonic() > deadline:
                raise Busy(f"others write to timeline {draft.key.timeline!r:.100} all the time")

    def find(self, subject: str, nonce: str | None = None, wait_s: float = 0) -> Node | None:
        node = self._find(subject, nonce)
        if node is not None or wait_s <= 0:
            return node
        deadline = time.monotonic() + wait_s
        with self.client.hints(subject) as heard:
            pause_s = 0.001
            while True:
                node = self._find(subject, nonce)
                left_s = deadline - time.monotonic()
                if node is not None or left_s <= 0:
                    return node
                if heard.wait(min(left_s, pause_s)):
                    heard.clear()
                    pause_s = 0.001  # it is heard a moment before it is stored
                else:
                    pause_s = min(pause_s * 2, 1.0)

    def read(self, timeline: str, after: int, limit: int, submission: str | None = None) -> list[Node]:
        nodes: list[Node] = []
        number, begin = self._marks.get((timeline, submission), (0, 0))
        for seq, node in self._walk(timeline, begin if number == after else 0, submission):
            if node.number > after:
                nodes.append(node)
                if len(nodes) == limit:
                    if len(self._marks) >= MARKS_MAX:
                        self._marks.clear()  # who reads on begins at the timeline's start once
                    self._marks[timeline, submission] = (node.number, seq)
                    break
        return nodes

    def branch(self, timeline: str) -> Branch | None:
        return next(iter(self._branches([timeline])), None)

    def branches(self) -> list[Branch]:
        """See Queue. The server lists all subjects for it: not for every day."""
        body = {"subjects_filter": "vlinder.>"}
        subjects = self._listed(f"STREAM.INFO.{STREAM}", body, lambda info: info["state"].get("subjects"))
        ordered = sorted({subject.split(".", 2)[1] for subject in subjects})
        some = (ordered[at : at + TOGETHER] for at in range(0, len(ordered), TOGETHER))
        return [branch for part in some for branch in self._branches(part)]

    def _branches(self, names: Sequence[str]) -> Iterator[Branch]:
        """The branches that have a message; their ends are asked for together."""
        ends = [(f"vlinder.{name}.>", name) for name in names]
        asked = [body for wanted, _ in ends for body in ({"seq": 1, "next_by_subj": wanted}, {"last_by_subj": wanted})]
        answers = iter(self.stream.get(*asked))
        for (_, name), first, last in zip(ends, answers, answers, strict=True):
            if first is not None and last is not None:
                yield Branch(name, _origin(first), self._placed(last).place)

    def take(self, wanted: Filter, wait_s: float = 0) -> Delivery | None:
        """See Queue. The server holds the pull and wakes one of those who wait."""
        deadline = time.monotonic() + wait_s
        gives_up_s: float | None = None
        while True:
            if wanted.consumer not in self._consumers:
                self.stream.create_consumer(wanted, self.ack_wait_ms)
                self._consumers.add(wanted.consumer)
            expires_s = min(PULL_S, deadline - time.monotonic())
            body = {"batch": 1, "expires": int(expires_s * 1e9)} if expires_s > 0.001 else {"batch": 1, "no_wait": True}
            subject = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{wanted.consumer}"
            try:
                message = self.client.pull(subject, json.dumps(body).encode(), max(expires_s, 0) + 2.0)
            except Unreachable:
                self._consumers.discard(wanted.consumer)
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.02)
                continue
            if message is not None:
                _, deliveries, seq, _ = _parts(message.reply)
                self._remember(message.reply)
                raw = Raw(seq, message.subject, dict(message.headers or {}), message.data, 0)
                return Delivery(self._placed(raw), message.reply, deliveries)
            if (now_s := time.monotonic()) >= deadline:
                gives_up_s = gives_up_s or now_s + LAG_S
                if now_s >= gives_up_s or not self._lags(wanted):
                    return None
                deadline = now_s + LOOK_S

    def _lags(self, wanted: Filter) -> bool:
        """Is a message stored that its consumer has not heard of? The server tells it a moment after the sender."""
        (newest,) = self.stream.get({"last_by_subj": wanted.subject})
        if newest is None:
            return False
        try:
            info = self.stream.api(f"CONSUMER.INFO.{STREAM}.{wanted.consumer}", {})
        except NotThere:  # somebody deleted it: the next pull makes it anew
            return True
        return bool(newest.seq > info["delivered"]["stream_seq"])

    def ack(self, delivery: str) -> None:
        self._settle(delivery, b"+ACK")

    def nak(self, delivery: str) -> None:
        """See Queue. Does nothing if another may have it by now: then it comes again when its time is over."""
        *_, place = _parts(delivery)
        info = self._consumer_of(delivery)
        if self._is_last(delivery, info):
            if delivery not in self._mine:  # the session that took it takes it for its own
                self.stream.update_consumer(info["config"], {f"{GIVEN_BACK}{place}": ""})
            self._settle(delivery, b"-NAK")

    def extend(self, delivery: str) -> None:
        """See Queue. The server takes it for the delivery that it made last."""
        self._settle(delivery, b"+WPI")
        self._remember(delivery)

    def held(self) -> list[dict[str, object]]:
        """See Queue. The server tells how many, not which."""
        consumers = self._listed(f"CONSUMER.LIST.{STREAM}", {}, lambda info: info.get("consumers"))
        held = sorted((consumer["name"], consumer["num_ack_pending"]) for consumer in consumers)
        return [{"consumer": name, "messages": count} for name, count in held if count]

    def _listed(self, name: str, body: dict[str, Any], part: Callable[[dict[str, Any]], Any]) -> Iterator[Any]:
        """All that an API lists, which answers with a part at a time."""
        offset = total = 0
        while not offset or offset < total:
            answer = self.stream.api(name, {**body, "offset": offset})
            some = part(answer) or ()
            yield from some
            if not some:
                return
            offset, total = offset + len(some), answer.get("total", 0)

    def contradictions(self) -> list[tuple[str, int, str]]:
        """See Queue. The stream says nothing twice."""
        return []

    def integrity(self) -> str:
        """See Queue. The server checks its files when it opens them, and counts what it has lost."""
        lost = self.stream.api(f"STREAM.INFO.{STREAM}", {})["state"].get("lost")
        return "ok" if not lost else f"the server has lost {lost}"

    def close(self) -> None:
        self.client.close()

    def _is_last(self, delivery: str, info: dict[str, Any]) -> bool:
        """Was the message surely not delivered again since? The server would give back what another has.

        It tells only of all deliveries. The newest is the last of its message, and so is a first one while nothing was
        delivered twice. Beyond that: one that this session took, that nobody settled, and that still has time.
        """
        _, deliveries, _, place = _parts(delivery)
        is_first = deliveries == 1 and not info["num_redelivered"]
        is_mine = self._mine.get(delivery, 0.0) > time.monotonic()
        is_given_back = f"{GIVEN_BACK}{place}" in info["config"].get("metadata", {})
        return info["delivered"]["consumer_seq"] == place or is_first or (is_mine and not is_given_back)

    def _remember(self, delivery: str) -> None:
        """Remember that it is this session's for its time; a tenth is left for the way of its nak."""
        now_s = time.monotonic()
        while self._mine and next(iter(self._mine.values())) <= now_s:
            del self._mine[next(iter(self._mine))]
        self._mine[delivery] = now_s + 0.9 * self.ack_wait_ms / 1000

    # -- the chain

    def _publish(self, draft: Draft, node: Node, last_seq: int) -> bool:
        """False: another was appended in between. Raises UNREACHABLE where nobody knows."""
        headers = {
            "Nats-Msg-Id": f"{node.subject}#{node.nonce or ''}",
            _LAST: str(last_seq),
            f"{_LAST}-Subject": f"vlinder.{draft.timeline}.>",
            "Timeline-Number": str(node.number),
            "Timeline-Previous": node.previous,
            "Timeline-Hash": node.hash,
            "Timeline-Time-Us": str(node.time_us),
        }
        if node.nonce is not None:
            headers["Timeline-Nonce"] = node.nonce
        if node.state is not None:
            headers["Timeline-State"] = node.state
        answer = json.loads(self.client.ask(node.subject, node.payload.encode(), headers=headers).data)
        if error := answer.get("error"):
            if error.get("err_code") == WRONG_LAST:
                return False
            raise fault(error)
        return not answer.get("duplicate")

    def _find(self, subject: str, nonce: str | None) -> Node | None:
        (raw,) = self.stream.get({"seq": 1, "next_by_subj": subject})
        return self._first(raw, nonce)

    def _first(self, raw: Raw | None, nonce: str | None) -> Node | None:
        """The node of the first on its subject; for delegations, which share one, of the first with the nonce."""
        while raw is not None and raw.headers.get("Timeline-Nonce") != nonce and nonce is not None:
            (raw,) = self.stream.get({"seq": raw.seq + 1, "next_by_subj": raw.subject})
        return None if raw is None else self._placed(raw)

    def _placed(self, raw: Raw) -> Node:
        """A message as recorded. A stranger's has no place of its own: its timeline is read up to it."""
        node = _recorded(raw)
        if node is not None:
            return node
        return next(node for seq, node in self._walk(raw.subject.split(".", 2)[1], 0) if seq == raw.seq)

    def _walk(self, timeline: str, after: int, submission: str | None = None) -> Iterator[tuple[int, Node]]:
        """A timeline's messages behind a sequence of the stream, or of one submission."""
        wanted = f"vlinder.{timeline}.>" if submission is None else f"vlinder.{timeline}.{submission}.>"
        last: Place | None = Place() if after == 0 and submission is None else None
        while page := self.stream.page(after + 1, wanted):
            for raw in page:
                node = _recorded(raw)
                if node is None:  # a stranger's
                    if last is None:
                        node = self._placed(raw)
                    else:
                        node = follow(last, raw.subject, None, None, _text(raw.data), raw.time_us)
                if submission is None:
                    last = node.place
                yield raw.seq, node
            if page[-1].headers.get("Nats-Num-Pending") == "0":
                break
            after = page[-1].seq

    def _settle(self, delivery: str, how: bytes) -> None:
        _parts(delivery)
        self._mine.pop(delivery, None)

        def ask() -> None:
            try:
                self.client.ask(delivery, how)
            except Unreachable:
                self._consumer_of(delivery)  # nobody answers for one that does not exist
                raise

        self.stream.patiently(ask)

    def _consumer_of(self, delivery: str) -> dict[str, Any]:
        """The server's report of its consumer. Raises INVALID_ARGUMENT where it knows none."""
        consumer, *_ = _parts(delivery)
        try:
            return self.stream.api(f"CONSUMER.INFO.{STREAM}.{consumer}", {})
        except NotThere:
            raise InvalidArgument(f"delivery must be what fetch gave, not {delivery!a:.80}") from None


def _recorded(raw: Raw) -> Node | None:
    """The node that its sender recorded; None: it knows only the seed's subjects."""
    try:
        return Node(
            int(raw.headers["Timeline-Number"]),
            raw.subject,
            raw.headers.get("Timeline-Nonce"),
            raw.headers.get("Timeline-State"),
            _text(raw.data),
            int(raw.headers["Timeline-Time-Us"]),
            raw.headers["Timeline-Previous"],
            raw.headers["Timeline-Hash"],
        )
    except (KeyError, ValueError):
        return None


def _origin(first: Raw) -> Origin | None:
    """Where a timeline began, by its first message."""
    if "Timeline-Hash" not in first.headers or first.subject.split(".")[3:4] != ["fork"]:
        return None
    try:
        origin = json.loads(first.data)
        return Origin(token.encode(origin["parent"]), int(origin["at"]))
    except (ValueError, TypeError, KeyError, binascii.Error):
        return None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _parts(delivery: object) -> tuple[str, int, int, int]:
    """From a delivery's name: consumer, how often it came, sequence in the stream, place among the deliveries."""
    parts = _DELIVERY.fullmatch(delivery) if isinstance(delivery, str) else None
    if parts is None:
        raise InvalidArgument(f"delivery must be what fetch gave, not {delivery!a:.80}")
    return parts[1], int(parts[2]), int(parts[3]), int(parts[4])
