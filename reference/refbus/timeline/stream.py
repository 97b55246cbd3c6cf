"""The stream VLINDER and its consumers, as JetStream's API tells them: the requests, and the meaning of its errors."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from email.parser import BytesHeaderParser
from typing import Any, NamedTuple, TypeVar

from refbus.kernel import iso
from refbus.kernel.errors import BusError, DiskFull, Internal, Unreachable
from refbus.timeline.config import Config
from refbus.timeline.filters import Filter
from refbus.timeline.natsclient import Client

Answer = TypeVar("Answer")

STREAM = "VLINDER"
PAGE = 500
METADATA_MAX = 100  # some four of them are the server's own
# Since 2.15 a server gives a stream 1,000 consumers unless it names a number, and each filter of a fleet is one.
CONSUMERS_MAX = 1_000_000
# We wait so long for a server that restarts, or a cluster that elects. NATS misses a leader after 4 to 9 s, and may
# have to vote again.
PATIENCE_S = 20.0

NO_MESSAGE, NO_STREAM, NO_CONSUMER, NO_SPACE = 10037, 10059, 10014, (10047, 10077)
TOO_MANY_CONSUMERS = 10026


class Raw(NamedTuple):
    """A message as the stream has it."""

    seq: int
    subject: str
    headers: dict[str, str]
    data: bytes
    time_us: int


class Stream:
    """One account's stream; it is made if missing, and holds every message for good."""

    def __init__(self, config: Config) -> None:
        self.replicas = config.nats_replicas
        self.client = Client(config.nats_url, config.nats_creds)
        try:
            if not self.exists():
                self.create()
        except BaseException:
            self.client.close()
            raise

    def exists(self) -> bool:
        """Is it there?"""
        try:
            self.api(f"STREAM.INFO.{STREAM}", {})
        except NotThere:
            return False
        return True

    def create(self) -> None:
        """Make it. Nothing is ever deleted from it: the stream is the record."""
        wanted = {
            "name": STREAM,
            "subjects": ["vlinder.>"],
            "retention": "limits",
            "storage": "file",
            "num_replicas": self.replicas,
            "allow_direct": True,
            "deny_delete": True,
        }
        try:
            self.api(f"STREAM.CREATE.{STREAM}", wanted | {"max_consumers": CONSUMERS_MAX})
        except TooManyConsumers:  # more than this account may have: then as many as it may
            self.api(f"STREAM.CREATE.{STREAM}", wanted)

    def create_consumer(self, wanted: Filter, ack_wait_ms: int) -> None:
        """Durable, pulled, acknowledged one by one; one that is there takes the new ack_wait."""
        try:
            there = self.api(f"CONSUMER.INFO.{STREAM}.{wanted.consumer}", {})["config"].get("metadata", {})
        except NotThere:
            there = {}
        config = {
            "durable_name": wanted.consumer,
            "filter_subject": wanted.subject,
            "deliver_policy": "all",
            "ack_policy": "explicit",
            "ack_wait": ack_wait_ms * 1_000_000,
            "max_ack_pending": -1,
            "replay_policy": "instant",
        }
        self.update_consumer(config, there)

    def update_consumer(self, config: dict[str, Any], metadata: dict[str, str]) -> None:
        """Add to the metadata of a consumer, which every session sees; the last so many stay."""
        kept = dict(list((config.get("metadata", {}) | metadata).items())[-METADATA_MAX:])
        body = {"stream_name": STREAM, "config": config | {"metadata": kept}}
        self.api(f"CONSUMER.DURABLE.CREATE.{STREAM}.{config['durable_name']}", body)

    def get(self, *wanted: dict[str, Any]) -> list[Raw | None]:
        """Messages, asked for together, as the stream's leader has them: never an old state of it."""
        questions = [(f"$JS.API.STREAM.MSG.GET.{STREAM}", json.dumps(request).encode()) for request in wanted]
        return self.patiently(lambda: [_raw(answer.data) for answer in self.client.ask_all(questions)])

    def page(self, seq: int, subject: str) -> list[Raw]:
        """The messages of a subject from a sequence on, at most PAGE of them."""
        body = json.dumps({"seq": seq, "next_by_subj": subject, "batch": PAGE}).encode()
        messages = self.patiently(lambda: self.client.page(f"$JS.API.DIRECT.GET.{STREAM}", body))
        return [
            Raw(
                int(message.headers["Nats-Sequence"]),
                message.headers["Nats-Subject"],
                dict(message.headers),
                message.data,
                iso.parse("time", message.headers["Nats-Time-Stamp"]),
            )
            for message in messages
            if message.headers
        ]

    def api(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """JetStream's answer. Raises the bus's error for one of its errors."""

        def ask() -> dict[str, Any]:
            answer: dict[str, Any] = json.loads(self.client.ask(f"$JS.API.{name}", json.dumps(body).encode()).data)
            if error := answer.get("error"):
                raise fault(error)
            return answer

        return self.patiently(ask)

    def patiently(self, ask: Callable[[], Answer]) -> Answer:
        """Ask again while nobody answers: only for questions that may be asked twice."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return ask()
            except Unreachable:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


class NotThere(Internal):
    """The server knows no such stream, consumer or message."""


class TooManyConsumers(Internal):
    """The stream has as many consumers as it, or its account, may have."""


def fault(error: dict[str, Any]) -> BusError:
    """The bus's error for one of JetStream's. It refused: nothing was stored."""
    says = f"{error.get('description')} ({error.get('err_code')})"
    if error.get("err_code") == TOO_MANY_CONSUMERS:
        return TooManyConsumers(f"{says}: raise max_consumers of stream {STREAM}, or of its account", definite=True)
    if error.get("err_code") in (NO_MESSAGE, NO_STREAM, NO_CONSUMER):
        return NotThere(says, definite=True)
    if error.get("err_code") in NO_SPACE:
        return DiskFull(says)
    if error.get("code") == 503:
        return Unreachable(says)
    return Internal(says, definite=True)


def _raw(answer: bytes) -> Raw | None:
    reply = json.loads(answer)
    if error := reply.get("error"):
        meant = fault(error)
        if isinstance(meant, NotThere):
            return None
        raise meant
    message = reply["message"]
    headers = base64.b64decode(message.get("hdrs", "")).partition(b"\r\n")[2]
    parsed = {name: str(value) for name, value in BytesHeaderParser().parsebytes(headers).items()}
    data = base64.b64decode(message.get("data", ""))
    return Raw(message["seq"], message["subject"], parsed, data, iso.parse("time", message["time"]))
