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


def marked(ctx: Ctx, requirement: str, rows: dict[str, dict[str, Any]], error: str) -> None:
    """The hurt message alone carries the error and no payload."""
    others = [rows.get(name, {}).get("payload") for name in ("before", "after")]
    hurt = rows.get("hurt", {})
    # The seed leaves the text that it could not decode in place.
    is_withheld = hurt.get("payload") is None or error == "decode_failed"
    good = others == [1, 2] and hurt.get("payload_error") == error and is_withheld
    told = {key: str(value)[:60] for key, value in hurt.items() if key.startswith("payload")}
    ctx.expect(requirement, good, f"wanted payload_error {error} on that message alone; it has {told}, others {others}")


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
