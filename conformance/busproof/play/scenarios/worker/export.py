"""export: bus.jsonl holds every message once, in whole lines, whatever happens to the exporters."""

from __future__ import annotations

from functools import partial
from typing import Any

from busproof.contract.worker import COLUMNS
from busproof.play.scenarios.common import while_doing
from busproof.play.scenarios.worker.common import exported, publish, raced, scenario
from busproof.play.suite import Ctx

TURNS, AT_A_TIME = 30, 100


def exported_ids(ctx: Ctx) -> list[Any]:
    """Ids in the file, in order."""
    return [row.get("id") for row in exported(ctx)[0]]


@scenario("export.lines")
def lines(ctx: Ctx) -> None:
    """Every message becomes one line with the row's fields, in seq order."""
    a = ctx.agent("a")
    publish(a, id="m1", to="b", correlation_id="c", payload={"text": "line\nbreak ü"})
    publish(a, id="m2")
    a.call("export_to_jsonl")
    publish(a, id="m3", in_reply_to="m1", payload=[1])
    a.call("export_to_jsonl")
    rows, whole = exported(ctx)
    names = [row.get("id") for row in rows]
    ctx.expect("worker.export.01", sorted(map(str, names)) == ["m1", "m2", "m3"], f"three messages, exported: {names}")
    shaped = whole and all(row.keys() >= {*COLUMNS} for row in rows)
    first_row = [
        (row.get("from_agent"), row.get("to_agent"), row.get("type"), row.get("correlation_id")) for row in rows[:1]
    ]
    good = shaped and first_row == [("a", "b", "note", "c")]
    ctx.expect("worker.export.02", good, f"whole lines: {whole}; the first row: {rows[:1]}")
    seqs: list[Any] = [row.get("seq") for row in rows]
    ctx.expect("worker.export.03", seqs == sorted(set(seqs)) and len(seqs) == 3, f"seq in the file: {seqs}")


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


@scenario("export.two_exporters")
def two_exporters(ctx: Ctx) -> None:
    """Exporters that run at once write each message once."""
    sessions = [ctx.agent(name) for name in "abc"]
    wanted = []
    for number in range(15):
        publish(sessions[0], id=f"m{number}", payload="x" * 300)
        wanted.append(f"m{number}")
        if number % 3 == 2:
            raced(ctx, *(lambda s=s: s.call("export_to_jsonl") for s in sessions))
    rows, whole = exported(ctx)
    names = [row.get("id") for row in rows]
    ctx.expect(
        "worker.export.10", whole and names == wanted, f"three exporters at once; whole {whole}, the file: {names}"
    )


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


@scenario("export.rotated")
def rotated(ctx: Ctx) -> None:
    """The database says which messages were exported: a new file begins with the new ones."""
    a = ctx.agent("a")
    path = ctx.store / "bus.jsonl"
    publish(a, id="m0")
    a.call("export_to_jsonl")
    path.rename(ctx.store / "bus.jsonl.1")
    a.call("export_to_jsonl")
    empty = exported_ids(ctx)
    publish(a, id="m1")
    ctx.agent("b").call("export_to_jsonl")
    names = exported_ids(ctx)
    good = empty == [] and names == ["m1"]
    ctx.expect("worker.export.14", good, f"the new file held {empty}, and after one more message {names}")
