"""search: words find messages, on all topics or one. The words are made up: no other script says them."""

from __future__ import annotations

import sqlite3
import uuid
from typing import Any

from busproof.bus.base import Refused
from busproof.bus.session import Session
from busproof.play.scenarios.common import Row, said
from busproof.play.scenarios.topics.common import bodies, database, join, lane, scenario, sync, topic, unique, warned
from busproof.play.suite import Ctx

BETTER = 30  # matches elsewhere, more than a search shows


def search(session: Session, query: str, **params: Any) -> list[Row]:
    """The results of a search."""
    results: list[Row] = session.call("messages_search", query=query, **params)["results"]
    return results


def find(session: Session, query: str, **params: Any) -> list[str]:
    """The bodies of a search's results."""
    results = search(session, query, include_content=True, **params)
    return [str(result.get("content_markdown")) for result in results]


def send(session: Session, topic_id: str, *bodies: str) -> list[Row]:
    """Send bodies; returns the messages as they are stored."""
    return [record["message"] for record in sync(session, topic_id, *bodies)["sent"]]


@scenario("search.everywhere")
def everywhere(ctx: Ctx) -> None:
    """One search finds messages on any topic, also for an agent that has joined none of them."""
    a, b = ctx.agent("a"), ctx.agent("b")
    word, topics = unique("word"), [topic(a), topic(a)]
    for topic_id in topics:
        join(a, topic_id)
        send(a, topic_id, f"the {word}")
    answers = [b.refusal("messages_search", query=word), b.refusal("messages_search", query=word, topic_id=topics[0])]
    answered = [said(answer) for answer in answers]
    ctx.expect("topics.search.03", answers == [None, None], f"searches of one that has not joined: {answered}")
    topic_ids = [result["topic_id"] for result in search(a, word, mode="fts")]
    ctx.expect("topics.search.01", sorted(topic_ids) == sorted(topics), f"said on {topics}, found on {topic_ids}")


@scenario("search.within")
def within(ctx: Ctx) -> None:
    """With a topic_id, only messages on that topic."""
    a = ctx.agent("a")
    word, topics = unique("word"), [topic(a), topic(a)]
    for topic_id in topics:
        join(a, topic_id)
        send(a, topic_id, f"the {word}")
    where = [[result["topic_id"] for result in search(a, word, topic_id=topic_id)] for topic_id in topics]
    wanted = [[topic_id] for topic_id in topics]
    ctx.expect("topics.search.02", where == wanted, f"searches of {topics} one by one found messages of {where}")
    rare = unique("rare")
    send(a, topics[0], f"{'much else ' * 200}{rare}")
    join(a, topics[1])
    for number in range(BETTER):
        send(a, topics[1], f"{rare} {rare} {number}")
    # By words alone: messages that are near by meaning may be found beside it, and before it.
    counts = [len(search(a, rare, topic_id=topics[0], mode="fts", **params)) for params in ({}, {"limit": 1})]
    why = f"{BETTER} messages of another topic say it more often, one of this one once: it was found {counts} times"
    ctx.expect("topics.search.02", counts == [1, 1], why)
    any_mode = sum(rare in body for body in find(a, rare, topic_id=topics[0]))
    ctx.expect("topics.search.02", any_mode == 1, f"{why}; in the mode of its choice {any_mode} times")
    said_everywhere = f"{unique()} {unique()}"  # what is near by meaning is as near on the other topic
    for topic_id, count in ((topics[1], BETTER), (topics[0], 1), (topics[1], BETTER)):
        send(a, topic_id, *[said_everywhere] * count)
    send(a, topics[0], alone := unique())
    good, answer = by_meaning(a, topics[0], said_everywhere)
    why = f"the same was said on another topic {2 * BETTER} times; by meaning, on this one: {answer}"
    if by_meaning(a, topics[0], alone)[0]:  # or it is search.14's
        ctx.expect("topics.search.02", good, why)


@scenario("search.fields")
def fields(ctx: Ctx) -> None:
    """A result says which message it is; its body only where that is asked for, and then all of it."""
    a, name, word = ctx.agent("a"), unique(), unique("word")
    topic_id = topic(a, name=name)
    join(a, topic_id)
    send(a, topic_id, "something before it")
    outbox = [{"content_markdown": f"where is {word}?" + "\n\nso much more" * 500, "message_type": "question"}]
    (message,) = (record["message"] for record in sync(a, topic_id, outbox=outbox)["sent"])
    results = [
        search(a, word, topic_id=topic_id, mode="fts", **params)
        for params in ({}, {"include_content": False}, {"include_content": True})
    ]
    wanted = {key: message[key] for key in ("topic_id", "message_id", "seq", "sender", "message_type", "created_at")}
    wanted["topic_name"] = name
    rows = [{key: result.get(key) for key in (*wanted, "snippet")} for result in results[0]]
    good = len(rows) == 1 and rows[0] == wanted | {"snippet": rows[0]["snippet"]} and rows[0]["snippet"] != ""
    ctx.expect("topics.search.04", good, f"of the message {wanted} the search tells {rows}")
    plain = [result.get("content_markdown") for page in results[:2] for result in page]
    why = f"bodies by default and with include_content=false: {str(plain)[:200]}"
    ctx.expect("topics.search.05", plain == [None, None], why)
    whole = [result.get("content_markdown") for result in results[2]]
    why = f"{len(message['content_markdown'])} characters were sent; include_content=true gave {str(whole)[:200]}"
    ctx.expect("topics.search.06", whole == [message["content_markdown"]], why)


@scenario("search.limit")
def limit(ctx: Ctx) -> None:
    """No more results than asked for, and twenty by default."""
    topic_id, (a,) = lane(ctx, "a")
    word = unique("word")
    for start in (0, 8, 16):
        send(a, topic_id, *(f"{word} number {number}" for number in range(start, start + 8)))
    counts = {number: len(search(a, word, topic_id=topic_id, limit=number)) for number in (1, 3)}
    good = all(0 < count <= number for number, count in counts.items())
    ctx.expect("topics.search.10", good, f"24 messages match; results by limit: {counts}")
    default = len(search(a, word, topic_id=topic_id))
    ctx.expect("topics.search.11", default == 20, f"24 messages match; {default} results without a limit")


@scenario("search.modes")
def modes(ctx: Ctx) -> None:
    """Words are found by fts and by default; a search by meaning answers, or says why it cannot."""
    topic_id, (a,) = lane(ctx, "a")
    word = unique("word")
    send(a, topic_id, f"the {word} is green", "something else")
    by_words = find(a, word, topic_id=topic_id, mode="fts")
    never_said = find(a, unique("word"), topic_id=topic_id, mode="fts")
    good = by_words == [f"the {word} is green"] and not never_said
    ctx.expect("topics.search.12", good, f"fts found {by_words} by a word and {never_said} by one never said")
    rare = unique("word")
    whole = f"{'so much more, ' * 400}and {rare} in the middle{', so much more' * 400}"
    send(a, topic_id, whole, *(f"{rare}n{number}" for number in range(24)))  # which a model may think nearer
    bodies_of = [find(a, rare, topic_id=topic_id, **params) for params in ({}, {"mode": "hybrid"})]
    few = find(a, rare, topic_id=topic_id, mode="hybrid", limit=3)  # by words one; by a model, three nearer ones
    if len(few) > 3:  # the row of another item (decision 0033)
        ctx.expect("topics.search.10", False, f"with limit 3 a hybrid search finds {len(few)}")
    cut = [[body[:40] for body in each] for each in bodies_of]
    ctx.expect("topics.search.13", all(whole in each for each in bodies_of), f"by default and by hybrid: {cut}")
    good, answer = by_meaning(a, topic_id, f"the {word} is green")
    ctx.expect("topics.search.14", good, f"semantic, asked for a message as it was sent: {answer}")


def by_meaning(session: Session, topic_id: str, body: str) -> tuple[bool, str]:
    """Nothing is nearer to a message than itself: a search by meaning finds it, or says what it cannot do."""
    try:
        reply = session.call("messages_search", query=body, topic_id=topic_id, mode="semantic", include_content=True)
    except Refused as refusal:
        return False, said(refusal)
    texts = [result.get("content_markdown") for result in reply["results"]]
    return body in texts or bool(warned(reply)), f"{[str(text)[:40] for text in texts]}, warnings {warned(reply)}"


@scenario("search.degraded")
def degraded(ctx: Ctx) -> None:
    """No bus has this model: a search that asks for it is answered without, and the answer says so (B9)."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    word = unique("word")
    send(a, topic_id, f"the {word}")
    silent = {}
    for mode in ("hybrid", "semantic"):
        try:
            params: dict[str, Any] = {"topic_id": topic_id, "mode": mode, "model": "no-such-model"}
            reply = a.call("messages_search", query=word, **params)
        except Refused as refusal:
            silent[mode] = said(refusal)
        else:
            if not warned(reply) or "None" in warned(reply):
                silent[mode] = f"warnings {reply.get('warnings')}"
    by_meaning(a, topic_id, f"the {word}")
    send(b, topic_id, f"a later {word}")
    good, answer = by_meaning(a, topic_id, f"a later {word}")
    if not good:
        silent["after an index was made"] = answer
    ctx.expect("topics.search.15", not silent, f"searches for what cannot be had: {silent}")


# Each is a message, too: it has all the words, by any bus's notion of "words". ONE and TWO become unique words.
QUERIES = (
    "ONE TWO",
    "ONE NOT TWO",
    "ONE OR TWO",
    "ONE AND",
    "ONE*",
    "^ONE",
    '"ONE',
    'ONE"TWO',
    "(ONE",
    "ONE)",
    "ONE-TWO",
    "ONE -TWO",
    "sender:ONE",
    "nosuch : ONE",
    "NEAR(ONE TWO, 2)",
    "{ONE",
    "ONE'",
    "ONE; DROP",
    "ONE%",
    "ONE\\",
)


@scenario("search.quoted")
def quoted(ctx: Ctx) -> None:
    """Operators, quotes and stars are words or nothing: each query is answered, and finds the message that says it."""
    topic_id, (a,) = lane(ctx, "a")
    first, two = unique("one"), unique("two")
    queries = [query.replace("ONE", first).replace("TWO", two) for query in QUERIES]
    for start in range(0, len(queries), 10):
        send(a, topic_id, *(f"say {query}" for query in queries[start : start + 10]))
    send(a, topic_id, first, f"{first}tail")
    hits: dict[str, list[str]] = {}
    wrong = []
    for query in (first, *queries):
        for mode in ("hybrid", "fts"):
            try:
                hits[query] = find(a, query, topic_id=topic_id, mode=mode, limit=40)
            except Refused as refusal:
                hits[query] = []
                wrong.append(f"{query} by {mode}: {said(refusal)}")
                continue
            if query != first and f"say {query}" not in hits[query]:
                wrong.append(f"{query} by {mode} does not find itself, but {hits[query]}")
    # The results that an operator would add to the words alone, by fts.
    for query, words, extra in ((f"{first}*", first, f"{first}tail"), (f"{first} OR {two}", f"{first} {two}", first)):
        if extra in hits[query] and extra not in hits[words]:
            wrong.append(f"{query} finds {extra}, which {words} does not")
    ctx.expect("topics.search.16", not wrong, f"{len(wrong)} queries were not taken as words: {'; '.join(wrong[:4])}")


# Ends of words that are one under some rule of Unicode: full case folding, or a compatibility form.
ALIKE = (("\u00df", "ss"), ("\u017f", "s"), ("\u0130", "i"), ("\u212a", "k"), ("\ufb01", "fi"), ("\u03c2", "\u03c3"))
UNLIKE = ("a", "b")


@scenario("search.all_words")
def all_words(ctx: Ctx) -> None:
    """Where two words show only messages with both, they do so as well if they look alike."""
    topic_id, (a,) = lane(ctx, "a")
    word = unique("word")
    send(a, topic_id, *(f"{word}{n}{end}" for n, ends in enumerate((UNLIKE, *ALIKE)) for end in ends))
    too_much = {}
    for n, ends in enumerate((UNLIKE, *ALIKE)):
        words = [f"{word}{n}{end}" for end in ends]
        first, second = (set(find(a, text, topic_id=topic_id, mode="fts")) for text in words)
        for query in (" ".join(words), " ".join(reversed(words))):
            if more := set(find(a, query, topic_id=topic_id, mode="fts")) - (first & second):
                too_much[query] = sorted(more)
    shows_any = f"{word}0a {word}0b" in too_much  # of several words one is enough for this bus
    ctx.expect("topics.search.22", shows_any or not too_much, f"not all words are in what is shown: {too_much}")


@scenario("search.snippets")
def snippets(ctx: Ctx) -> None:
    """A snippet is a piece of the body, or several with dots between them, and nothing else (B11)."""
    _, (a,) = lane(ctx, "a")
    faces = "\N{GRINNING FACE}" * 2_000  # cut at an odd or an even place, no half of one is left
    for before, after in (("before it, " * 60, "after it, " * 60), (f"x {faces} ", f" {faces}"), (faces, f"y {faces}")):
        topic_id = topic(a)  # of its own: no message near by meaning is a third hit
        join(a, topic_id)
        word = unique("word")
        body = f"{before}here is the {word} in the middle, {after}end"
        send(a, topic_id, body)
        modes = ("fts", "hybrid")
        texts = [result["snippet"] for mode in modes for result in search(a, word, topic_id=topic_id, mode=mode)]
        strange = [
            piece
            for snippet in texts
            for piece in snippet.replace("...", "…").split("…")
            if " ".join(piece.split()) not in body
        ]
        good = len(texts) == 2 and not strange
        ctx.expect("topics.search.17", good, f"{len(texts)} snippets; in them and not in the body: {strange!a:.500}")


@scenario("search.fresh")
def fresh(ctx: Ctx) -> None:
    """A message is found from the moment that it is sent: another process's, a closed topic's, a stranger's."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    word = unique("word")
    missed = []

    def look(session: Session, wanted: list[str], what: str) -> None:
        hits = sorted(find(session, word, topic_id=topic_id, mode="fts"))
        if hits != wanted:
            missed.append(f"{what}: {hits}, not {wanted}")

    look(b, [], "before anything was said")
    send(a, topic_id, f"{word} 1")
    look(a, [f"{word} 1"], "what the searcher sent")
    look(b, [f"{word} 1"], "what another process sent")
    send(b, topic_id, f"{word} 2")
    a.call("topic_close", topic_id=topic_id)
    look(a, [f"{word} 1", f"{word} 2"], "after one more, and the close")
    look(b, [f"{word} 1", f"{word} 2"], "the same, by the other process")
    if ctx.has("sqlite"):
        with database(ctx) as db:
            insert(ctx, db, topic_id, 3, f"{word} 3")
        look(a, [f"{word} {number}" for number in (1, 2, 3)], "after another program's row")
    ctx.expect("topics.search.19", not missed, "; ".join(missed))


def insert(ctx: Ctx, db: sqlite3.Connection, topic_id: str, seq: int, body: str) -> None:
    """A message of a program that knows only the seed's tables."""
    now = ctx.now_s
    db.execute("BEGIN IMMEDIATE")
    db.execute(
        "INSERT INTO messages (message_id, topic_id, seq, sender, message_type, content_markdown, created_at)"
        " VALUES (?, ?, ?, 'stranger', 'message', ?, ?)",
        (uuid.uuid4().hex[:10], topic_id, seq, body, now),
    )
    db.execute("UPDATE topic_seq SET next_seq = ?, updated_at = ? WHERE topic_id = ?", (seq + 1, now, topic_id))
    db.execute("COMMIT")


@scenario("search.read_only", needs=("sqlite",))
def read_only(ctx: Ctx) -> None:
    """A search reads: cursors stay as they are, also where there is none yet, and found messages are still unread."""
    topic_id, (a, b, c) = lane(ctx, "a", "b", "c")
    word = unique("word")
    sync(b, topic_id)
    send(a, topic_id, f"{word} 1", f"{word} 2")

    def rows() -> list[list[Any]]:
        with database(ctx) as db:
            select = "SELECT agent_name, last_seq, updated_at FROM cursors WHERE topic_id = ? ORDER BY agent_name"
            return [list(row) for row in db.execute(select, (topic_id,))]

    before = rows()
    for session in (b, c):
        search(session, word)
        search(session, word, topic_id=topic_id, include_content=True)
    after, unread = rows(), bodies(sync(b, topic_id))
    good = before == after and unread == [f"{word} 1", f"{word} 2"]
    why = f"cursors before the searches {before}, after them {after}; then unread: {unread}"
    ctx.expect("topics.search.20", good, why)
