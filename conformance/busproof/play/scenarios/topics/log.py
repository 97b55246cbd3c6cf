"""log: the messages, their ids, times and numbers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

from busproof.bus.session import Session
from busproof.play.scenarios.common import Row, at_once, definite, said
from busproof.play.scenarios.topics.common import (
    FIRST_OF_A_LONG_LIFE,
    bodies,
    database,
    is_recent,
    join,
    lane,
    live_long,
    scenario,
    server,
    sync,
    topic,
    unique,
    warned,
)
from busproof.play.suite import Ctx

OUTBOX, OUTBOXES = 20, 55  # more messages than anybody would look back over

_TIMES = """SELECT created_at, created_at FROM topics WHERE topic_id = :topic
    UNION ALL SELECT created_at, last_claimed_at FROM agent_name_reservations WHERE topic_id = :topic
    UNION ALL SELECT topic_seq.updated_at, cursors.updated_at FROM topic_seq, cursors
    WHERE topic_seq.topic_id = :topic AND cursors.topic_id = :topic"""
METADATA = {"n": -1.5, "ü": "€ 🚌", "list": [None, True, {}, []], "o": {"": 0}}
BODIES = (
    "one line",
    "# A heading\n\n- a list\n- `code`\n\n```\n\tcode\r\n```\n",
    "  blanks around  \n",
    "quotes ' \" \\ %s {} --;",
    "ü € 🚌 \u2028 \ue000 e\u0301",
    "🚌" * 5_000,
    "x" * 60_000,
)
# Wherever Unicode, a terminal or a model may begin a new line.
LINE_ENDS = ("\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")


def send(session: Session, topic_id: str, body: str = "m", **item: Any) -> Row:
    """Send one message; return its entry in `sent`, which may be empty."""
    reply = sync(session, topic_id, outbox=[{"content_markdown": body, **item}])
    return dict(reply["sent"][0]["message"]) if reply["sent"] else {}


def whole(session: Session, topic_id: str) -> list[Row]:
    """The first twenty messages of the topic, from all senders."""
    session.call("cursor_reset", topic_id=topic_id, last_seq=0)
    return list(sync(session, topic_id, include_self=True, auto_advance=False)["received"])


# ---------- ids, times and numbers


@scenario("log.ids")
def ids(ctx: Ctx) -> None:
    """Ids are short and all different, whichever process gives them."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    other_id = topic(b)
    join(b, other_id)
    topics = [topic_id, other_id, *(topic(session, name="one name") for session in (a, b))]
    messages = [
        send(session, to, "the same words").get("message_id", "")
        for session, to in ((a, topic_id), (b, topic_id), (b, other_id), (a, topic_id), (b, topic_id))
    ]
    may_be_one = {topics.pop()}  # of the same name; another row decides whether that makes another topic
    good = len({*topics}) == 3 and not may_be_one & {topic_id, other_id} and len({*messages}) == 5
    ctx.expect("topics.log.37", good, f"topics are {topics} and {may_be_one}, 5 messages {messages}")
    strange = [name for name in topics + messages if not re.fullmatch("[0-9a-f]{10}", name)]
    ctx.expect("topics.log.36", not strange, f"not ten lower-case hexadecimal digits: {strange}")


@scenario("log.seq")
def seq(ctx: Ctx) -> None:
    """Each topic counts 1, 2, 3 for all senders together, also after sends that are refused or repeated."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    other_id = topic(a)
    join(a, other_id)
    numbers = [send(session, topic_id).get("seq", -1) for session in (a, b, a)]
    other = [send(a, other_id).get("seq", -1)]
    ctx.expect("topics.log.40", numbers[0] == 1, f"the first message of a topic has seq {numbers[0]}")
    numbers += [send(b, topic_id, client_message_id="k").get("seq", -1)]
    refused = a.refusal("sync", topic_id=topic_id, wait_seconds=0, outbox=[{"content_markdown": "m"}, {}])
    send(b, topic_id, client_message_id="k")
    numbers += [send(session, topic_id).get("seq", -1) for session in (b, a)]
    other += [send(a, other_id).get("seq", -1)]
    rising = all(seq_ < next_ for seq_, next_ in itertools.pairwise(numbers))
    ctx.expect("topics.log.41", rising, f"seq of one message after the other: {numbers}")
    dense = sorted(numbers) == list(range(min(numbers), min(numbers) + 6))
    why = f"6 messages, a repeat and a refused outbox ({said(refused)}) took {numbers}"
    ctx.expect("topics.log.42", dense, why)
    good = other == [numbers[0], numbers[0] + 1]
    ctx.expect("topics.log.43", good, f"one topic counts {numbers}, another {other}")
    if ctx.has("sqlite"):
        for first in FIRST_OF_A_LONG_LIFE:
            live_long(ctx, topic_id, first)
            sent = [send(a, topic_id, body).get("seq") for body in ("x", "y", "z")]
            good = sent == [first, first + 1, first + 2]
            ctx.expect("topics.log.40", good, f"next_seq was {first}, and three sent have {sent}")


def next_seq(ctx: Ctx, topic_id: str) -> int | None:
    """The number in the table."""
    with database(ctx) as db:
        row = db.execute("SELECT next_seq FROM topic_seq WHERE topic_id = ?", (topic_id,)).fetchone()
        return None if row is None else row[0]


# ---------- messages


@scenario("log.restart")
def restart(ctx: Ctx) -> None:
    """A sent message is there after its sender's death."""
    topic_id, (a,) = lane(ctx, "a")
    sync(a, topic_id, "1", "2")
    sync(a, topic_id, "3")
    ctx.crash(a)
    b = ctx.agent("b")
    join(b, topic_id)
    came = bodies(sync(b, topic_id))
    ctx.expect("topics.log.47", came == ["1", "2", "3"], f"1, 2 and 3 were sent, the server killed; left: {came}")


@scenario("log.fields")
def fields(ctx: Ctx) -> None:
    """A message is as its sender wrote it; sender and reader are told the same."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    before_s = ctx.now_s
    records = {
        "plain": send(a, topic_id, "plain"),
        "asked": send(a, topic_id, "asked", message_type="question", metadata=METADATA, client_message_id="k 1"),
        "other": send(b, topic_id, "other", message_type="Büro/v2.x", metadata={}),
    }
    asked_id = records["asked"].get("message_id")
    records["reply"] = send(b, topic_id, "reply", message_type="answer", reply_to=asked_id)
    read = {message["content_markdown"]: message for message in whole(b, topic_id)}

    def says(row: str, field: str, **wanted: Any) -> None:
        values = {name: (records[name].get(field), read.get(name, {}).get(field)) for name in wanted}
        good = values == {name: (value, value) for name, value in wanted.items()}
        ctx.expect(row, good, f"{field} as told to its sender and to a reader: {values}; sent: {wanted}")

    says("topics.log.49", "message_type", plain="message")
    says("topics.log.50", "message_type", asked="question", reply="answer", other="Büro/v2.x")
    says("topics.log.51", "reply_to", plain=None, reply=asked_id)
    says("topics.log.53", "metadata", plain=None, asked=METADATA, other={})
    says("topics.log.54", "client_message_id", plain=None, asked="k 1")
    says("topics.log.55", "sender", plain="a", other="b")
    times_s = [message.get("created_at", 0) for message in (*records.values(), *read.values())]
    # A minute is for a clock that is set while this runs; milliseconds and local time are further off.
    good = len(times_s) == 8 and all(before_s - 60 < at < ctx.now_s + 60 for at in times_s)
    if ctx.has("sqlite"):
        with database(ctx) as db:
            stored_s = [at for times in db.execute(_TIMES, {"topic": topic_id}) for at in times]
        good &= all(is_recent(ctx, at) for at in stored_s)
        times_s += stored_s
    ctx.expect("topics.log.38", good, f"sent at {before_s}; the times: {times_s}")


@scenario("log.bodies")
def whole_bodies(ctx: Ctx) -> None:
    """A body arrives to the last character."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    for sender, reader in ((a, b), (b, a)):
        records = [send(sender, topic_id, body).get("content_markdown") for body in BODIES]
        came = bodies(sync(reader, topic_id))
        wrong = [
            f"{body!a:.40} is {record!a:.40} for its sender, {other!a:.40} for a reader"
            for body, record, other in itertools.zip_longest(BODIES, records, came)
            if not body == record == other
        ]
        ctx.expect("topics.log.56", not wrong, "; ".join(wrong))


@scenario("log.text")
def text(ctx: Ctx) -> None:
    """A client that sees only text can read the messages."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    words = [unique("word"), unique("word")]
    sync(b, topic_id, *words)
    sync(a, topic_id)
    shown = server(a).text
    ctx.expect("topics.log.68", all(word in shown for word in words), f"{words} were sent; the text: {shown!r}")
    words = [unique("word") for _ in range(20)]
    sync(b, topic_id, *words)
    sync(a, topic_id, *(unique("mine") for _ in range(50)))  # the most that one sync says
    missing = [word for word in words if word not in server(a).text]
    ctx.expect("topics.log.68", not missing, f"20 messages came beside 50 that were sent; the text lacks {missing}")
    for odd in ("", "x"):  # wherever it is cut, no sign beyond 16 bits is cut in two
        long = odd + "\N{GRINNING FACE}" * 30_000
        if b.refusal("sync", topic_id=topic_id, wait_seconds=0, outbox=[{"content_markdown": long}]):
            sync(b, topic_id, long[:15_000])  # for a bus that counts in bytes
        sync(a, topic_id)
        cut = [char for char in server(a).text if "\ud800" <= char <= "\udfff"]
        ctx.expect("topics.log.68", not cut, f"the text for people of a long body holds half a character: {cut}")


@scenario("log.forged_header")
def forged_header(ctx: Ctx) -> None:
    """A body that repeats what the bus itself wrote above a message is no second message."""
    author = unique("author")
    topic_id, (a, b) = lane(ctx, "a", author)
    seen: list[list[str]] = []
    for _ in range(2):
        sync(b, topic_id, "m")
        sync(a, topic_id)
        seen.append([line for line in server(a).text.splitlines() if author in line])
    headers = seen[1]
    long = "so it went on. " * 4_268  # 64,020 characters: a bus that shortens a body quotes the remainder, too
    for end, before in (*((end, "") for end in LINE_ENDS), ("\n", long)):
        sync(b, topic_id, end.join(("so it began:", before[:1_000], *headers, "m", before, *headers, "m")))
        sync(a, topic_id)
        lines = server(a).text.splitlines()
        # A header without a number or an id is there once, above this message itself.
        forged = [header for header in headers if lines.count(header) > seen[0].count(header)]
        why = f"in the text, a line of a body that ends with {end!r} stands as the header of a message: {forged}"
        ctx.expect("topics.log.82", not forged, why)
    shown: list[list[str]] = []
    for end in ("", "", "\n", "\u2028"):  # a search shows whole bodies, too, if it is asked for them
        word = unique("word")
        sync(b, topic_id, end.join((word, *shown[1], "m")) if end else word)
        if a.refusal("messages_search", query=word, topic_id=topic_id, mode="fts", include_content=True):
            return  # a local SQLite build may limit it
        lines = server(a).text.splitlines()
        shown.append([line for line in lines if author in line])
        forged = [header for header in shown[1] if lines.count(header) > shown[0].count(header)] if end else []
        why = f"in the text of what a search found, a line that ends with {end!r} stands as a header: {forged}"
        ctx.expect("topics.log.82", not forged, why)
    header = headers[0] if headers else ""
    if not header or header in seen[0]:
        return  # without a sender there is none; without a number or an id it is every message's
    sync(b, topic_id, header)  # the whole of a short body may be the snippet that a search shows
    a.call("messages_search", query=author, topic_id=topic_id, mode="fts", limit=50)
    forged = [line for line in server(a).text.splitlines() if line == header]
    ctx.expect("topics.log.82", not forged, f"in a snippet, a line stands as a header: {forged}")


# ---------- what is refused


@scenario("log.all_or_none")
def all_or_none(ctx: Ctx) -> None:
    """After one bad item, or a bad argument beside the items, no item is stored."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    good = {"content_markdown": "good", "client_message_id": "k"}
    bad: tuple[tuple[list[Any], Row], ...] = (
        ([good, {}], {}),
        ([good, {"content_markdown": "m", "metadata": [1]}, good], {}),
        ([good], {"max_items": 0}),
        ([good], {"wait_seconds": -1}),
    )
    for outbox, params in bad:
        refused = a.refusal("sync", **{"topic_id": topic_id, "wait_seconds": 0, "outbox": outbox, **params})
        seen = bodies(sync(b, topic_id))
        why = f"{outbox} with {params}: {said(refused)}; a reader sees {seen}"
        ctx.expect("topics.log.60", refused is not None and seen == [], why)
    send(a, topic_id, "good", client_message_id="k")
    seen = bodies(sync(b, topic_id))
    ctx.expect("topics.log.60", seen == ["good"], f"then it was sent alone; a reader sees {seen}")


@scenario("log.errors")
def errors(ctx: Ctx) -> None:
    """An error is for programs and for people."""
    a = ctx.agent("a")
    cases: tuple[tuple[str, str, Row], ...] = (
        ("AGENT_NOT_JOINED", "sync", {"topic_id": topic(a), "wait_seconds": 0}),
        ("TOPIC_NOT_FOUND", "topic_resolve", {"name": unique()}),
        ("INVALID_ARGUMENT", "topic_presence", {"topic_id": topic(a), "limit": 0}),
    )
    for code, tool, params in cases:
        refused = a.refusal(tool, **params)
        shown = server(a).text
        good = definite(refused, code) and refused is not None and refused.message != ""
        good = good and refused is not None and refused.message in shown and server(a).is_structured
        ctx.expect("topics.log.69", good, f"{tool}({params}): {said(refused)}; the text: {shown!r:.300}")


# ---------- once


@scenario("log.idempotent")
def idempotent(ctx: Ctx) -> None:
    """A retry with the same client_message_id gives the message that is there."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    item = {"content_markdown": "m", "message_type": "note", "metadata": {"n": 1}, "client_message_id": "k"}
    first, again = (sync(a, topic_id, outbox=[item]) for _ in range(2))
    twice = {"content_markdown": "twice", "client_message_id": "k2"}
    within = a.refusal("sync", topic_id=topic_id, wait_seconds=0, outbox=[twice, twice])
    seen = bodies(sync(b, topic_id))
    # Whether one outbox may hold a key twice is not said; that it is stored once is.
    good = seen.count("m") == 1 and seen.count("twice") <= 1
    why = f"m was sent twice, then twice in one outbox ({said(within)}); a reader sees {seen}"
    ctx.expect("topics.log.61", good, why)
    good = [record.get("duplicate", False) for record in first["sent"] + again["sent"]] == [False, True]
    good = good and first["sent"][0]["message"] == again["sent"][0]["message"] and warned(again) == []
    ctx.expect("topics.log.62", good, f"sent: {first['sent']}; again: {again}")
    other = sync(a, topic_id, outbox=[{**item, "content_markdown": "other"}])
    good = [record.get("duplicate") for record in other["sent"]] == [True]
    good = good and other["sent"][0]["message"]["content_markdown"] == "m"
    good = good and "CONTENT_MISMATCH" in warned(other) and bodies(sync(b, topic_id)) == []
    ctx.expect("topics.log.63", good, f"m was sent; its key with other content: {other}")
    if ctx.has("sqlite"):
        with database(ctx) as db:  # another program uses up the last number of the topic
            row = ("lastnumber", topic_id, 2**63 - 2, "s", "message", "last", 1.5)
            columns = "message_id, topic_id, seq, sender, message_type, content_markdown, created_at"
            db.execute(f"INSERT INTO messages ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            db.execute("UPDATE topic_seq SET next_seq = ? WHERE topic_id = ?", (2**63 - 1, topic_id))
        outbox = [item]
        refused = a.refusal("sync", topic_id=topic_id, wait_seconds=0, outbox=outbox)
        why = f"m was sent, and sent again where the topic had no number left for what is new: {said(refused)}"
        ctx.expect("topics.log.62", refused is None, why)


@scenario("log.retry_much_later")
def retry_much_later(ctx: Ctx) -> None:
    """An agent that was away for long does not know what was stored, and asks by sending again."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    item = {"content_markdown": "m", "client_message_id": "k"}
    sync(a, topic_id, outbox=[item])
    refused = [a.refusal("sync", topic_id=topic_id, wait_seconds=0, outbox=[item])]
    for _ in range(OUTBOXES):
        sync(b, topic_id, *["another's"] * OUTBOX, max_items=1)
    refused.append(a.refusal("sync", topic_id=topic_id, wait_seconds=0, outbox=[item]))
    answers = [said(answer) for answer in refused]
    why = f"m, sent again under its key at once, and after {OUTBOXES * OUTBOX} messages of another: {answers}"
    ctx.expect("topics.log.88", refused == [None, None], why)


@scenario("log.idempotent_json")
def idempotent_json(ctx: Ctx) -> None:
    """JSON decides whether two objects are the same, not a language where true is 1."""
    topic_id, (a,) = lane(ctx, "a")
    item = {"content_markdown": "m", "client_message_id": "k"}
    deep = [1, {"x": 2, "y": [{"p": 3, "q": 4}]}]
    turned = [1, {"y": [{"q": 4, "p": 3}], "x": 2}]
    sync(a, topic_id, outbox=[{**item, "metadata": {"n": True, "m": deep}}])
    same = warned(sync(a, topic_id, outbox=[{**item, "metadata": {"m": turned, "n": True}}]))
    other = warned(sync(a, topic_id, outbox=[{**item, "metadata": {"n": 1, "m": deep}}]))
    good = "CONTENT_MISMATCH" not in same and "CONTENT_MISMATCH" in other
    why = f"stored with n true; sent again in another order: {same}; sent with n 1: {other}"
    ctx.expect("topics.log.80", good, why)


@scenario("log.idempotent_key")
def idempotent_key(ctx: Ctx) -> None:
    """Uses of the key by other agents, or on other topics, do not matter."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    other_id = topic(a)
    join(a, other_id)
    sync(a, topic_id, outbox=[{"content_markdown": "a's", "client_message_id": "k"}])
    sync(b, topic_id, outbox=[{"content_markdown": "b's", "client_message_id": "k"}])
    sync(a, other_id, outbox=[{"content_markdown": "elsewhere", "client_message_id": "k"}])
    here, there = ([m["content_markdown"] for m in whole(a, where)] for where in (topic_id, other_id))
    ctx.expect("topics.log.64", here == ["a's", "b's"], f"two senders, one key: {here}")
    ctx.expect("topics.log.65", there == ["elsewhere"], f"two topics, one key; the second has {there}")


@scenario("log.idempotent_race")
def idempotent_race(ctx: Ctx) -> None:
    """One agent's two processes, before and after a restart or both at once, store a message once."""
    a, b = ctx.agent("twin"), ctx.agent("twin")
    topic_id = topic(a)
    token = join(b, topic_id)["reclaim_token"]
    send(b, topic_id, "k0", client_message_id="k0")
    join(a, topic_id, reclaim_token=token)
    send(a, topic_id, "k0", client_message_id="k0")
    keys = [f"k{number}" for number in range(1, 7)]
    for key in keys:
        at_once(*(sender(session, topic_id, key) for session in (a, a, b)))
    seen = sorted(message["content_markdown"] for message in whole(a, topic_id))
    # Some calls of the process that lost the name are refused (B10), rightly.
    ctx.expect("topics.log.67", seen == ["k0", *keys], f"sent several times each: k0 to k6; stored: {seen}")


def sender(session: Session, topic_id: str, key: str) -> Callable[[], Row]:
    """A send to be run in a thread."""
    return lambda: send(session, topic_id, key, client_message_id=key)
