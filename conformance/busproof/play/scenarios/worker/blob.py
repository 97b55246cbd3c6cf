"""blob: large payloads live in files named by their hash, and are believed only if the hash agrees."""

from __future__ import annotations

from typing import Any

from busproof.play.scenarios.worker.common import database, ids, poll, publish, scenario, stranger_publishes
from busproof.play.suite import Ctx


def text_of_bytes(count: int) -> str:
    """A string whose JSON text (with its two quotes) has this many bytes."""
    return "x" * (count - 2)


def columns(ctx: Ctx, message_id: str) -> tuple[Any, Any]:
    """payload and payload_ref of a row."""
    with database(ctx) as db:
        row = db.execute("SELECT payload, payload_ref FROM messages WHERE id = ?", (message_id,)).fetchone()
    return row["payload"], row["payload_ref"]


@scenario("blob.ref_as_path", needs=("sqlite",))
def ref_as_path(ctx: Ctx) -> None:
    """A ref from a row is never followed out of the blob folder."""
    a = ctx.agent("a")
    publish(a, id="first")
    (ctx.store / "secret.json").write_text('"the secret"')
    (ctx.store / "blobs").mkdir(exist_ok=True)
    (ctx.store / "blobs" / "plain.json").write_text('"the secret"')
    bad = ["../secret.json", str(ctx.store / "secret.json"), "plain.json", "sha256-../../secret.json", "sha256-00"]
    for number, ref in enumerate(bad):
        stranger_publishes(ctx, f"bad{number}", payload_ref=ref)
    publish(a, id="last", payload="fine")
    rows = {row["id"]: row for row in poll(a)}
    wrong = {}
    for number, ref in enumerate(bad):
        row = rows.get(f"bad{number}", {})
        if row.get("payload_error") != "blob_invalid" or row.get("payload") is not None:
            wrong[ref] = row.get("payload_error") or row.get("payload")
    good = not wrong and rows.get("last", {}).get("payload") == "fine"
    ctx.expect(
        "worker.blob.13",
        good,
        f"refs that are no refs, wanted blob_invalid: {wrong}; delivered {ids(list(rows.values()))}",
    )
