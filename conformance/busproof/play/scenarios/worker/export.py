"""export: bus.jsonl holds every message once, in whole lines, whatever happens to the exporters."""

from __future__ import annotations

from functools import partial
from typing import Any

from busproof.play.scenarios.common import while_doing
from busproof.play.scenarios.worker.common import exported, publish, scenario
from busproof.play.suite import Ctx

TURNS, AT_A_TIME = 30, 100


@scenario("export.blob_references")
def blob_references(ctx: Ctx) -> None:
    """A large payload is exported as its reference."""
    a = ctx.agent("a")
    publish(a, id="large", payload="x" * 9000)
    a.call("export_to_jsonl")
    rows, _ = exported(ctx)
    ref = rows[0].get("payload_ref") if rows else None
    good = isinstance(ref, str) and ref.startswith("sha256-") and rows[0].get("payload") is None
    ctx.expect("worker.export.04", good, f"the line of a payload of 9 KB has payload_ref {ref!r}")


@scenario("export.in_turn")
def in_turn(ctx: Ctx) -> None:
    """Four exporters that start again at once: one comes as another goes, and some wait, always with much to do."""
    publisher, sessions = ctx.agent("p"), [ctx.agent(name) for name in "abcd"]

    def publishes() -> None:
        for turn in range(TURNS):
            many = [{"id": f"{turn}-{n}", "type": "note", "payload": "x" * 200} for n in range(AT_A_TIME)]
            if ctx.has("publish_many"):
                publisher.call("publish_many", messages=many)
            else:
                for message in many:
                    publisher.call("publish", message=message)

    broken = while_doing(publishes, *(partial(session.call, "export_to_jsonl") for session in sessions))
    rows, whole = exported(ctx)
    seqs: list[Any] = [row.get("seq") for row in rows]
    in_order = seqs == sorted(set(seqs)) and len(seqs) == TURNS * AT_A_TIME
    why = (
        f"{broken or 'no errors'}; whole {whole}, {len(seqs)} lines of {len(set(seqs))} messages, in order: {in_order}"
    )
    ctx.expect("worker.export.16", whole and in_order and not broken, why)
