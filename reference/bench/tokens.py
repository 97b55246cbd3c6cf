"""The cost of reading an envelope, in tokens (seed 001: "<200 token overhead per agent", Performance Targets).

    python reference/bench/tokens.py

Sends one message of each standard type, smallest payload and longest names of the seed's examples, with and without a
correlation id; receives them; and counts the JSON of each received message, less the cost of the payload alone.
Beside it stands all the protocol that an agent reads and writes to handle one message: the answer to receive, the claim
and its answer, the completion and its answer.

Two real tokenizers, each with its vocabulary inside a package, so that nothing is fetched: Claude's, as Anthropic last
published it (in the anthropic package up to 0.38; later models count on the server), and OpenAI's o200k_base. The bar
is held against the larger count.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compare import save, verdict

from refbus.comms.bus import CommsBus

BAR = 200
SENDER, READER = "frontend-dev-01", "context-manager"
PAYLOADS: dict[str, dict[str, Any]] = {
    "context.query": {"query": "Frontend development context needed"},
    "context.response": {"context": {}},
    "task.claim": {"task_id": "skills-abc"},
    "task.update": {"task_id": "skills-abc", "status": "working"},
    "vote.initiate": {"topic": "style", "options": ["a", "b"], "deadline": "2099-01-01T00:00:00Z"},
    "vote.cast": {"vote_id": "", "option": "a"},
    "broadcast": {"message": "stop", "severity": "info"},
    "heartbeat": {"status": "active"},
}

Count = Callable[[str], int]


def tokenizers() -> dict[str, Count]:
    """Name → how many tokens a text has."""
    import bpe_openai
    from tokenizers import Tokenizer

    package = importlib.util.find_spec("anthropic")
    assert package is not None and package.origin is not None
    claude = Tokenizer.from_file(str(Path(package.origin).with_name("tokenizer.json")))
    o200k = bpe_openai.get_encoding("o200k_base")
    return {
        "Claude (anthropic 0.38)": lambda text: len(claude.encode(text).ids),
        "o200k_base (bpe-openai)": lambda text: len(o200k.encode(text)),
    }


def exchanges(bus: CommsBus) -> dict[str, tuple[dict[str, Any], list[Any]]]:
    """Type, with or without correlation id → the message as received, and all that is said to handle one message."""
    exchange_of = {}
    vote_id = bus.send_message(SENDER, "voters", "vote.initiate", PAYLOADS["vote.initiate"])["message_id"]
    for type_, payload in PAYLOADS.items():
        if type_ == "vote.cast":
            payload = {**payload, "vote_id": vote_id}
        for correlation_id in (None, str(uuid.uuid4())):
            to_agent = None if type_ == "broadcast" else READER
            bus.send_message(SENDER, to_agent, type_, payload, correlation_id=correlation_id)
            answer = bus.receive_messages(READER, ["general"])
            (message,) = answer["messages"]
            asked = {"agent_id": READER, "message_id": message["id"]}
            claimed = bus.claim_message(**asked)
            completed = bus.complete_message(**asked)
            name = type_ if correlation_id is None else f"{type_} + correlation_id"
            exchange_of[name] = message, [answer, asked, claimed, asked, completed]
    return exchange_of


def main() -> int:
    """Count, print a table, hold the largest against the bar."""
    with tempfile.TemporaryDirectory(prefix="refbus-bench-") as folder, CommsBus(folder) as bus:
        handled = exchanges(bus)
    largest = {"envelope": 0, "exchange": 0}
    figures: dict[str, Any] = {}
    for tokenizer, count in tokenizers().items():
        print(f"{tokenizer:36}{'envelope':>10}{'exchange':>10}   tokens beyond the payload")
        for name, (message, whole) in handled.items():
            payload = count(json.dumps(message["payload"]))
            counts = {
                "envelope": count(json.dumps(message)) - payload,
                "exchange": sum(count(json.dumps(part)) for part in whole) - payload,
            }
            largest = {what: max(largest[what], counts[what]) for what in largest}
            figures[f"{name}, {tokenizer}"] = counts
            print(f"  {name:34}{counts['envelope']:10}{counts['exchange']:10}")
    word = verdict(largest["envelope"], BAR - 1, at_least=False)
    print(f"largest envelope: {largest['envelope']} tokens, bar: under {BAR}: {word}")
    print(f"largest exchange: {largest['exchange']} tokens; the bar is the envelope's")
    save("tokens", {"largest": largest, "bar": BAR, "tokens": figures})
    return 0 if largest["envelope"] < BAR else 1


if __name__ == "__main__":
    sys.exit(main())
