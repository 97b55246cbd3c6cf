"""blob: large payloads live in files named by their hash, and are believed only if the hash agrees."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from functools import partial
from typing import Any

from busproof.bus.base import Refused
from busproof.play.scenarios.common import NOT_JSON_TEXTS
from busproof.play.scenarios.worker.common import (
    at_once,
    blob_files,
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

INLINE_BYTES_MAX = 4096
REF = re.compile(r"sha256-[0-9a-f]{64}")
TIMES_BOTH = 16


def text_of_bytes(count: int) -> str:
    """A string whose JSON text (with its two quotes) has this many bytes."""
    return "x" * (count - 2)


def columns(ctx: Ctx, message_id: str) -> tuple[Any, Any]:
    """payload and payload_ref of a row."""
    with database(ctx) as db:
        row = db.execute("SELECT payload, payload_ref FROM messages WHERE id = ?", (message_id,)).fetchone()
    return row["payload"], row["payload_ref"]


def stored_large(ctx: Ctx, session: Any, message_id: str) -> str:
    """Publish a payload that lives in a blob and return its ref."""
    publish(session, id=message_id, payload={"id": message_id, "fill": "x" * 5000})
    ref = columns(ctx, message_id)[1]
    assert isinstance(ref, str), "a payload over 4096 bytes has no payload_ref"
    return ref


@scenario("blob.boundary", needs=("sqlite",))
def boundary(ctx: Ctx) -> None:
    """4096 bytes of JSON text stay in the row, 4097 go to a blob, regardless of the number of characters."""
    a = ctx.agent("a")
    publish(a, id="inline", payload=text_of_bytes(INLINE_BYTES_MAX))
    publish(a, id="blob", payload=text_of_bytes(INLINE_BYTES_MAX + 1))
    publish(a, id="huge", payload=["x" * 100_000])
    payload, ref = columns(ctx, "huge")
    good = payload is None and isinstance(ref, str) and REF.fullmatch(ref) is not None
    ctx.expect(
        "worker.blob.01", good, f"the row of a payload of 100 KB has ref {ref!r} and payload {str(payload)[:40]!r}"
    )
    sides = {name: columns(ctx, name)[1] is not None for name in ("inline", "blob")}
    # Text beyond ASCII: the bytes of the stored text decide, whichever escaping the bus uses.
    for count in (600, 700, 1100, 1400, 2100):
        publish(a, id=f"wide{count}", payload="é" * count)
    wrong = {name: in_blob for name, in_blob in sides.items() if in_blob != (name == "blob")}
    for count in (600, 700, 1100, 1400, 2100):
        inline, wide_ref = columns(ctx, f"wide{count}")
        if inline is not None:
            size = len(inline.encode())
        else:
            size = (ctx.store / "blobs" / wide_ref).stat().st_size
        if (size > INLINE_BYTES_MAX) != (inline is None):
            wrong[f"{size} bytes for {count} letters é"] = inline is None
    ctx.expect("worker.blob.02", not wrong, f"on the wrong side of 4096 bytes (true: in a blob): {wrong}")


@scenario("blob.large_payload_survives")
def large_payload_survives(ctx: Ctx) -> None:
    """A payload of any allowed size comes back whole."""
    a = ctx.agent("a")
    values: list[Any] = [["ü" * 4000], "y" * 4097, {"k" * 5000: 1}, list(range(20_000))]
    for number, value in enumerate(values):
        publish(a, id=f"m{number}", payload=value)
    rows = poll(a)
    wrong = [row["id"] for row, value in zip(rows, values, strict=False) if row.get("payload") != value]
    good = len(rows) == len(values) and not wrong
    ctx.expect("worker.blob.03", good, f"{len(rows)} of {len(values)} came, with another payload: {wrong}")


@scenario("blob.content_addressed")
def content_addressed(ctx: Ctx) -> None:
    """A blob's name is the hash of its content: the same content is the same blob, and comes back."""
    a, b = ctx.agent("a"), ctx.agent("b")
    content = {"n": [1, 2, 3], "text": "z" * 10}
    refs = [session.call("save_blob", content=content)["ref"] for session in (a, b, a)]
    other = a.call("save_blob", content={"n": [1, 2]})["ref"]
    shaped = all(REF.fullmatch(ref) for ref in [*refs, other])
    hashed = True
    if ctx.has("sqlite") and shaped:
        file = ctx.store / "blobs" / refs[0]
        hashed = file.is_file() and f"sha256-{hashlib.sha256(file.read_bytes()).hexdigest()}" == refs[0]
    ctx.expect("worker.blob.04", shaped and hashed, f"refs {refs} and {other}; named by their content: {hashed}")
    same = len(set(refs)) == 1 and other not in refs
    ctx.expect("worker.blob.05", same, f"the same content saved three times: {refs}; other content: {other}")
    back = b.call("load_blob", ref=refs[0])["content"], b.call("load_blob", ref=other)["content"]
    ctx.expect("worker.blob.06", back == (content, {"n": [1, 2]}), f"loaded: {back}")


@scenario("blob.files", needs=("sqlite",))
def files(ctx: Ctx) -> None:
    """blobs/ holds whole files under their refs, and nothing is left of the writing."""
    a = ctx.agent("a")
    refs = {a.call("save_blob", content=["blob", number, "x" * 9000])["ref"] for number in range(5)}
    refs.add(stored_large(ctx, a, "m1"))
    late, failed = ctx.agent("late"), []
    for number in range(TIMES_BOTH):
        content = [number, "both" * 250_000]  # so large that one still writes when the other begins
        both = at_once(*(partial(session.call, "save_blob", content=content) for session in (a, late)))
        failed += [str(result) for result in both if isinstance(result, Exception)]
        refs.update(result["ref"] for result in both if isinstance(result, dict))
    found = blob_files(ctx)
    good = refs <= set(found) and all(REF.fullmatch(ref) for ref in refs)
    told = f"refs {sorted(refs)}, files {sorted(found)}"
    torn = [
        name
        for name, path in found.items()
        if name not in refs or f"sha256-{hashlib.sha256(path.read_bytes()).hexdigest()}" != name
    ]
    told_of_two = f"two processes that save the same at once: {failed}; files that are not the whole content of a ref:"
    ctx.expect("worker.blob.08", not torn and not failed, f"{told_of_two} {torn}")
    for session in (a, late):  # the seed's listing makes the folder at every save
        shutil.rmtree(ctx.store / "blobs", ignore_errors=True)  # somebody tidied up
        saved = session.refusal("save_blob", content=["after that", session.agent])
        sent = session.refusal("publish", message={"type": "note", "payload": [session.agent, "x" * 9000]})
        if saved or sent or len(blob_files(ctx)) != 2:
            good = False
            told = f"without the folder a save: {said(saved)}; a publish: {said(sent)}; files {sorted(blob_files(ctx))}"
            break
    ctx.expect("worker.blob.07", good, told)


def damaged(ctx: Ctx, damage: Any) -> dict[str, dict[str, Any]]:
    """Three messages, the middle one's blob damaged; the rows that a poll then delivers, by id."""
    a = ctx.agent("a")
    publish(a, id="before", payload=1)
    ref = stored_large(ctx, a, "hurt")
    publish(a, id="after", payload=2)
    damage(ctx.store / "blobs" / ref, ref)
    rows = poll(ctx.agent("reader"))
    return {row["id"]: row for row in rows}


def marked(ctx: Ctx, requirement: str, rows: dict[str, dict[str, Any]], error: str) -> None:
    """The hurt message alone carries the error and no payload."""
    others = [rows.get(name, {}).get("payload") for name in ("before", "after")]
    hurt = rows.get("hurt", {})
    # The seed leaves the text that it could not decode in place.
    is_withheld = hurt.get("payload") is None or error == "decode_failed"
    good = others == [1, 2] and hurt.get("payload_error") == error and is_withheld
    told = {key: str(value)[:60] for key, value in hurt.items() if key.startswith("payload")}
    ctx.expect(requirement, good, f"wanted payload_error {error} on that message alone; it has {told}, others {others}")


@scenario("blob.missing", needs=("sqlite",))
def missing(ctx: Ctx) -> None:
    """A message whose blob is gone is delivered, marked blob_missing."""
    marked(ctx, "worker.blob.09", damaged(ctx, lambda path, ref: path.unlink()), "blob_missing")


@scenario("blob.tampered", needs=("sqlite",))
def tampered(ctx: Ctx) -> None:
    """A blob that is valid JSON but other content is not believed."""
    rows = damaged(ctx, lambda path, ref: _rewrite(path, json.dumps({"id": "forged"}).encode()))
    marked(ctx, "worker.blob.11", rows, "blob_corrupt")


@scenario("blob.truncated", needs=("sqlite",))
def truncated(ctx: Ctx) -> None:
    """A truncated blob marks its own message and breaks no other."""
    rows = damaged(ctx, lambda path, ref: _rewrite(path, path.read_bytes()[:100]))
    marked(ctx, "worker.blob.12", rows, "blob_corrupt")


def _rewrite(path: Any, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)


@scenario("blob.decode_failed", needs=("sqlite",))
def decode_failed(ctx: Ctx) -> None:
    """A payload column that is not JSON marks its own message."""
    a = ctx.agent("a")
    publish(a, id="before", payload=1)
    for number, text in enumerate(NOT_JSON_TEXTS):
        stranger_publishes(ctx, f"hurt {number}", payload=text)
    publish(a, id="after", payload=2)
    rows = {row["id"]: row for row in poll(a)}
    for number in range(len(NOT_JSON_TEXTS)):
        marked(ctx, "worker.blob.10", rows | {"hurt": rows.get(f"hurt {number}", {})}, "decode_failed")


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


@scenario("blob.bad_refs")
def bad_refs(ctx: Ctx) -> None:
    """load_blob refuses a text that is no ref, and a ref without a blob."""
    a = ctx.agent("a")
    a.call("save_blob", content=1)
    (ctx.store / "outside.json").write_text('"outside"')
    hexes = ["g" * 64, "A" * 64, "0" * 63, "0" * 65, ""]
    shapes = ["", "x", "../outside.json", str(ctx.store / "outside.json"), *(f"sha256-{digits}" for digits in hexes)]
    taken = [ref for ref in shapes if a.refusal("load_blob", ref=ref) is None]
    ctx.expect("worker.blob.14", not taken, f"load_blob gave content for what is no ref: {taken}")
    unknown = a.refusal("load_blob", ref="sha256-" + "0" * 64)
    ctx.expect("worker.blob.15", unknown is not None, f"load_blob of an unknown ref: {said(unknown)}")


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
            told = f"delivered {len(rows)}: {rows!s:.200}"
        except Refused as refusal:  # a poll that one message breaks is blob.12's: here the file says what it holds
            good, told = is_whole, f"a poll: {said(refusal)}"
        is_told = definite(other, "ID_CONFLICT") if has_conflicts else other is None
        if again or not is_told or not good:
            told += f"; its file is {'' if is_whole else 'not '}whole again"
            wrong[how] = f"the retry: {said(again)}; other content: {said(other)}; {told}"
    ctx.expect("worker.blob.17", not wrong, f"retries of a message whose blob is not whole: {wrong}")
