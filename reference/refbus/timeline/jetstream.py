"""The queue on NATS JetStream: the same bus over a network, by the seed's subjects (T7).

One stream holds every message for good, so the stream is the record. A message is appended by one publish that the
server takes only if the timeline's last message is still the one that it is chained to: compare-and-set on the head of
the chain (T6). `Nats-Msg-Id` is the message's identity; a longer memory than the server's is the subject itself, which
is asked first.

Consumers are durable and pulled (T5). Replies are waited for on their subject; what is heard there is a hint to look.

A participant that knows only the seed's subjects may publish, too: its messages have no chain of their own, and are
chained by whoever reads them.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import time
from collections.abc import Iterator
from email.parser import BytesHeaderParser
from typing import Any, NamedTuple

from refbus.kernel import iso
from refbus.kernel.clock import Clock
from refbus.kernel.errors import BusError, Busy, DiskFull, IdConflict, Internal, InvalidArgument, Unreachable
from refbus.timeline import token
from refbus.timeline.config import Config
from refbus.timeline.filters import Filter
from refbus.timeline.message import Draft, Node, Place, chained, follow
from refbus.timeline.natsclient import Client
from refbus.timeline.queue import Branch, Delivery, Origin

STREAM = "VLINDER"
PAGE = 500
PATIENCE_S = 8.0  # a server that restarts, or a cluster that elects, is waited for so long
PULL_S = 5.0  # a pull that a restarted server has forgotten is made again after so long

WRONG_LAST, NO_MESSAGE, NO_STREAM, NO_SPACE = 10071, 10037, 10059, (10047, 10077)
_LAST = "Nats-Expected-Last-Subject-Sequence"
_DELIVERY = re.compile(r"\$JS\.ACK\.[^\s*>]{1,900}", re.ASCII)


class Raw(NamedTuple):
    """A message as the stream has it."""

    seq: int
    subject: str
    headers: dict[str, str]
    data: bytes
    time_us: int


class Head(NamedTuple):
    """A timeline's last message: its sequence in the stream, and its place in the chain."""

    seq: int
    place: Place


class JetStreamQueue:
    """The stream VLINDER of one JetStream account; it is made if missing."""

    def __init__(self, config: Config, *, clock: Clock, ack_wait_ms: int) -> None:
        self.clock, self.ack_wait_ms, self.replicas = clock, ack_wait_ms, config.nats_replicas
        self.client = Client(config.nats_url, config.nats_creds)
        self._heads: dict[str, Head] = {}  # as far as this session knows; the server knows better
        self._marks: dict[tuple[str, str | None], tuple[int, int]] = {}  # where reading stopped: number, sequence
        self._consumers: set[str] = set()
        try:
            self._ensure_stream()
        except BaseException:
            self.close()
            raise

    def append(self, draft: Draft, origin: Origin | None = None, start: Place | None = None) -> tuple[Node, bool]:
        """See Queue. Tries again until it is known what happened, or patience is over: then UNREACHABLE."""
        deadline = time.monotonic() + PATIENCE_S
        ours: set[str] = set()  # hashes that may have been stored although no answer came
        while True:
            head = self._heads.get(draft.timeline) or self._head(draft.timeline)
            known = self.find(draft.subject, draft.nonce)
            if known is not None:
                if known.content != (draft.nonce, draft.state, draft.payload):
                    raise IdConflict(f"{draft.subject:.200} was sent with other content")
                return known, known.hash not in ours
            if head is not None and origin is not None:
                raise IdConflict(f"timeline {draft.key.timeline!r:.100} exists")
            node = chained(draft, head.place if head else start or Place(), self.clock.now_us())
            try:
                seq = self._publish(draft, node, head.seq if head else 0)
            except Unreachable:
                ours.add(node.hash)
                if time.monotonic() > deadline:
                    raise
                seq = None
            if seq is not None:
                self._heads[draft.timeline] = Head(seq, node.place)
                return node, False
            self._heads.pop(draft.timeline, None)
            if time.monotonic() > deadline:
                raise Busy(f"others write to timeline {draft.key.timeline!r:.100} all the time")

    def find(self, subject: str, nonce: str | None = None, wait_s: float = 0) -> Node | None:
        """See Queue."""
        found = self._find(subject, nonce)
        if found is not None or wait_s <= 0:
            return found
        deadline = time.monotonic() + wait_s
        with self.client.hints(subject) as heard:
            pause_s = 0.001
            while True:
                found = self._find(subject, nonce)
                left_s = deadline - time.monotonic()
                if found is not None or left_s <= 0:
                    return found
                if heard.wait(min(left_s, pause_s)):
                    heard.clear()
                    pause_s = 0.001  # it is heard a moment before it is stored
                else:
                    pause_s = min(pause_s * 2, 1.0)

    def read(self, timeline: str, after: int, limit: int, submission: str | None = None) -> list[Node]:
        """See Queue."""
        found: list[Node] = []
        number, begin = self._marks.get((timeline, submission), (0, 0))
        for seq, node in self._walk(timeline, begin if number == after else 0, submission):
            if node.number > after:
                found.append(node)
                if len(found) == limit:
                    self._marks[timeline, submission] = (node.number, seq)
                    break
        return found

    def branch(self, timeline: str) -> Branch | None:
        """See Queue."""
        first = self._get({"seq": 1, "next_by_subj": f"vlinder.{timeline}.>"})
        head = self._head(timeline)
        if first is None or head is None:
            return None
        return Branch(timeline, _origin(first), head.place)

    def branches(self) -> list[Branch]:
        """See Queue. The server lists all subjects for it: not for every day."""
        names: set[str] = set()
        offset = total = 0
        while not offset or offset < total:
            info = self._api(f"STREAM.INFO.{STREAM}", {"subjects_filter": "vlinder.>", "offset": offset})
            subjects = info["state"].get("subjects") or {}
            names |= {subject.split(".", 2)[1] for subject in subjects}
            total = info.get("total", 0)
            if not subjects:
                break
            offset += len(subjects)
        return [branch for name in sorted(names) if (branch := self.branch(name)) is not None]

    def take(self, wanted: Filter, wait_s: float = 0) -> Delivery | None:
        """See Queue. The server holds the pull and wakes one of those who wait."""
        deadline = time.monotonic() + wait_s
        while True:
            self._ensure_consumer(wanted)
            expires_s = min(PULL_S, deadline - time.monotonic())
            body = {"batch": 1, "expires": int(expires_s * 1e9)} if expires_s > 0.001 else {"batch": 1, "no_wait": True}
            subject = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{wanted.consumer}"
            try:
                found = self.client.pull(subject, json.dumps(body).encode(), max(expires_s, 0) + 2.0)
            except Unreachable:
                self._consumers.discard(wanted.consumer)
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.02)
                continue
            if found is not None:
                deliveries, seq = _counts(found.reply)
                raw = Raw(seq, found.subject, dict(found.headers or {}), found.data, 0)
                return Delivery(self._placed(raw), found.reply, deliveries)
            if time.monotonic() >= deadline:
                return None

    def ack(self, delivery: str) -> None:
        """See Queue."""
        self._settle(delivery, b"+ACK")

    def nak(self, delivery: str) -> None:
        """See Queue."""
        self._settle(delivery, b"-NAK")

    def held(self) -> list[dict[str, object]]:
        """See Queue. The server tells how many, not which."""
        rows: list[dict[str, object]] = []
        offset = total = 0
        while not offset or offset < total:
            listed = self._api(f"CONSUMER.LIST.{STREAM}", {"offset": offset})
            found = listed.get("consumers") or []
            rows += [{"consumer": one["name"], "messages": one["num_ack_pending"]} for one in found]
            total = listed.get("total", 0)
            if not found:
                break
            offset += len(found)
        return sorted((row for row in rows if row["messages"]), key=lambda row: str(row["consumer"]))

    def contradictions(self) -> list[tuple[str, int, str]]:
        """See Queue. The stream says nothing twice."""
        return []

    def integrity(self) -> str:
        """See Queue. The server checks its files when it opens them, and counts what it has lost."""
        lost = self._api(f"STREAM.INFO.{STREAM}", {})["state"].get("lost")
        return "ok" if not lost else f"the server has lost {lost}"

    def close(self) -> None:
        """See Queue."""
        self.client.close()

    # -- the chain

    def _publish(self, draft: Draft, node: Node, last_seq: int) -> int | None:
        """The message's sequence; None: another was appended in between. Raises UNREACHABLE where nobody knows."""
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
                return None
            raise _fault(error)
        return None if answer.get("duplicate") else int(answer["seq"])

    def _head(self, timeline: str) -> Head | None:
        raw = self._get({"last_by_subj": f"vlinder.{timeline}.>"})
        if raw is None:
            return None
        return Head(raw.seq, self._placed(raw).place)

    def _find(self, subject: str, nonce: str | None) -> Node | None:
        """The first on its subject; of delegations, which share one, the first with the nonce."""
        raw = self._get({"seq": 1, "next_by_subj": subject})
        while raw is not None and raw.headers.get("Timeline-Nonce") != nonce and nonce is not None:
            raw = self._get({"seq": raw.seq + 1, "next_by_subj": subject})
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
        while page := self._page(after + 1, wanted):
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
            after = page[-1].seq

    # -- the server

    def _ensure_stream(self) -> None:
        if self._stream_exists():
            return
        self._api(
            f"STREAM.CREATE.{STREAM}",
            {
                "name": STREAM,
                "subjects": ["vlinder.>"],
                "retention": "limits",
                "storage": "file",
                "num_replicas": self.replicas,
                "allow_direct": True,
                "deny_delete": True,
            },
        )

    def _stream_exists(self) -> bool:
        try:
            self._api(f"STREAM.INFO.{STREAM}", {})
        except _NotThere:
            return False
        return True

    def _ensure_consumer(self, wanted: Filter) -> None:
        if wanted.consumer in self._consumers:
            return
        self._api(
            f"CONSUMER.DURABLE.CREATE.{STREAM}.{wanted.consumer}",
            {
                "stream_name": STREAM,
                "config": {
                    "durable_name": wanted.consumer,
                    "filter_subject": wanted.subject,
                    "deliver_policy": "all",
                    "ack_policy": "explicit",
                    "ack_wait": self.ack_wait_ms * 1_000_000,
                    "max_ack_pending": -1,
                    "replay_policy": "instant",
                },
            },
        )
        self._consumers.add(wanted.consumer)

    def _settle(self, delivery: str, how: bytes) -> None:
        if not isinstance(delivery, str) or not _DELIVERY.fullmatch(delivery):
            raise InvalidArgument(f"delivery must be what fetch gave, not {delivery!a:.80}")
        self._patiently(lambda: self.client.ask(delivery, how))

    def _get(self, wanted: dict[str, Any]) -> Raw | None:
        """One message, as the stream's leader has it: never an old state of it."""
        try:
            found = self._api(f"STREAM.MSG.GET.{STREAM}", wanted)["message"]
        except _NotThere:
            return None
        headers = base64.b64decode(found.get("hdrs", "")).partition(b"\r\n")[2]
        parsed = {name: str(value) for name, value in BytesHeaderParser().parsebytes(headers).items()}
        data = base64.b64decode(found.get("data", ""))
        return Raw(found["seq"], found["subject"], parsed, data, iso.parse("time", found["time"]))

    def _page(self, seq: int, wanted: str) -> list[Raw]:
        body = json.dumps({"seq": seq, "next_by_subj": wanted, "batch": PAGE}).encode()
        found = self._patiently(lambda: self.client.page(f"$JS.API.DIRECT.GET.{STREAM}", body))
        return [
            Raw(
                int(message.headers["Nats-Sequence"]),
                message.headers["Nats-Subject"],
                dict(message.headers),
                message.data,
                iso.parse("time", message.headers["Nats-Time-Stamp"]),
            )
            for message in found
            if message.headers
        ]

    def _api(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """What JetStream answers. Raises what its error means."""
        data = json.dumps(body).encode()
        answer: dict[str, Any] = json.loads(self._patiently(lambda: self.client.ask(f"$JS.API.{name}", data)).data)
        if error := answer.get("error"):
            raise _fault(error)
        return answer

    def _patiently(self, ask: Any) -> Any:
        """Ask again while nobody answers: only for what may be asked twice."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return ask()
            except Unreachable:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


class _NotThere(Internal):
    """The server knows no such stream or message."""


def _fault(error: dict[str, Any]) -> BusError:
    """What an error of JetStream means. It refused: nothing was stored."""
    says = f"{error.get('description')} ({error.get('err_code')})"
    if error.get("err_code") in (NO_MESSAGE, NO_STREAM):
        return _NotThere(says, definite=True)
    if error.get("err_code") in NO_SPACE:
        return DiskFull(says)
    if error.get("code") == 503:
        return Unreachable(says)
    return Internal(says, definite=True)


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
        said = json.loads(first.data)
        return Origin(token.encode(said["parent"]), int(said["at"]))
    except (ValueError, TypeError, KeyError, binascii.Error):
        return None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _counts(reply: str) -> tuple[int, int]:
    """Of a delivery's name: how often it came, and its sequence. Its last tokens are fixed, whatever stands before."""
    parts = reply.split(".")
    # $JS.ACK.[domain.account.]stream.consumer.delivered.stream_seq.consumer_seq.time.pending[.random]
    first = 4 if len(parts) == 9 else 6
    return int(parts[first]), int(parts[first + 1])
