"""blob: large payloads live in files named by their hash, and are believed only if the hash agrees."""

from __future__ import annotations

from typing import Any

from busproof.bus.base import Refused
from busproof.play.scenarios.worker.common import (
    database,
    definite,
    ids,
    poll,
    publish,
    refuses_conflicts,
    said,
    scenario,
    stranger_publishes,
)
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
    has = {key: str(value)[:60] for key, value in hurt.items() if key.startswith("payload")}
    ctx.expect(requirement, good, f"wanted payload_error {error} on that message alone; it has {has}, others {others}")


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


def stored_large(ctx: Ctx, session: Any, message_id: str) -> str:
    """Publish a payload that lives in a blob and return its ref."""
    publish(session, id=message_id, payload={"id": message_id, "fill": "x" * 5000})
    ref = columns(ctx, message_id)[1]
    assert isinstance(ref, str), "a payload over 4096 bytes has no payload_ref"
    return ref


def damaged(ctx: Ctx, damage: Any) -> dict[str, dict[str, Any]]:
    """Three messages, the middle one's blob damaged; the rows that a poll then delivers, by id."""
    a = ctx.agent("a")
    publish(a, id="before", payload=1)
    ref = stored_large(ctx, a, "hurt")
    publish(a, id="after", payload=2)
    damage(ctx.store / "blobs" / ref, ref)
    rows = poll(ctx.agent("reader"))
    return {row["id"]: row for row in rows}


def _rewrite(path: Any, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)


@scenario("blob.truncated", needs=("sqlite",))
def truncated(ctx: Ctx) -> None:
    """A truncated blob marks its own message and breaks no other."""
    rows = damaged(ctx, lambda path, ref: _rewrite(path, path.read_bytes()[:100]))
    marked(ctx, "worker.blob.12", rows, "blob_corrupt")


@scenario("blob.retry_mends", needs=("sqlite",))
def retry_mends(ctx: Ctx) -> None:
    """A sender that is unsure sends again, and a payload that was lost in between is there again."""
    a, reader = ctx.agent("a"), ctx.agent("reader")
    wrong, has_conflicts = {}, refuses_conflicts(a)
    for how in ("lost", "damaged"):
        message = {"id": how, "type": "note", "payload": [how, "x" * 9000]}
        a.call("publish", message=message)
        ref = columns(ctx, how)[1]
        path = ctx.store / "blobs" / str(ref)
        whole = path.read_bytes()
        if how == "lost":
            path.unlink()
        else:
            path.write_bytes(whole[:100])
        other = a.refusal("publish", message=message | {"payload": [how, "y" * 9000]})
        again = a.refusal("publish", message=message)
        is_whole = path.exists() and path.read_bytes() == whole
        try:
            rows = [row for row in poll(reader) if row["id"] == how]
            good = [row.get("payload") for row in rows] == [message["payload"]]
            why = f"delivered {len(rows)}: {rows!s:.200}"
        except Refused as refusal:  # a poll that one message breaks is blob.12's: here the file says what it holds
            good, why = is_whole, f"a poll: {said(refusal)}"
        is_told = definite(other, "ID_CONFLICT") if has_conflicts else other is None
        if again or not is_told or not good:
            why += f"; its file is {'' if is_whole else 'not '}whole again"
            wrong[how] = f"the retry: {said(again)}; other content: {said(other)}; {why}"
    ctx.expect("worker.blob.17", not wrong, f"retries of a message whose blob is not whole: {wrong}")
