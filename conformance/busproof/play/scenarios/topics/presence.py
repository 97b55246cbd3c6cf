"""presence: the agents that synced lately. Where the seed speaks of time, rows are put back in time; no sleeps."""

from __future__ import annotations

from busproof.bus.session import Session
from busproof.play.scenarios.common import Row, definite, said
from busproof.play.scenarios.topics.common import database, join, lane, scenario, sync, topic
from busproof.play.suite import Ctx

SLACK_S = 1.0  # for a bus that keeps whole seconds


def peers(session: Session, topic_id: str, **params: int) -> dict[str, Row]:
    """The peers that are present, in the order of the answer, by name."""
    rows = session.call("topic_presence", topic_id=topic_id, **params)["peers"]
    return {peer["agent_name"]: peer for peer in rows}


def put_back(ctx: Ctx, topic_id: str, agent_name: str, age_s: float) -> None:
    """Let a peer's last sync be so long ago."""
    with database(ctx) as db:
        db.execute(
            "UPDATE cursors SET updated_at = ? WHERE topic_id = ? AND agent_name = ?",
            (ctx.now_s - age_s, topic_id, agent_name),
        )


def age_in_file_s(ctx: Ctx, topic_id: str, agent_name: str) -> float:
    """How long ago the file says that a peer's last sync was."""
    with database(ctx) as db:
        row = db.execute(
            "SELECT updated_at FROM cursors WHERE topic_id = ? AND agent_name = ?", (topic_id, agent_name)
        ).fetchone()
    return ctx.now_s - float(row[0])


@scenario("presence.peers")
def peers_of_a_topic(ctx: Ctx) -> None:
    """Each sees the other once it has synced on this topic, how far it has read, and when."""
    a, b = ctx.agent("a"), ctx.agent("b")
    topic_id, elsewhere = topic(a), topic(a)
    stranger = a.refusal("topic_presence", topic_id=topic_id)
    ctx.expect("topics.presence.12", stranger is None, f"one that has not joined asks: {said(stranger)}")
    for session in (a, b):
        join(session, topic_id)
        join(session, elsewhere, agent_name="somebody-else" if session is a else "another")
    sync(a, elsewhere)
    nobody = list(peers(a, topic_id))
    ctx.expect("topics.presence.11", not nobody, f"both have joined, none has synced; present are {nobody}")
    before = ctx.now_s
    cursors = {"a": sync(a, topic_id, "one", "two")["cursor"], "b": sync(b, topic_id)["cursor"]}
    synced = ctx.now_s
    by_a, by_b = peers(a, topic_id), peers(b, topic_id)
    # The seed does not say whether an agent that asks is a peer of itself.
    good = "b" in by_a and "a" in by_b and {*by_a, *by_b} <= {"a", "b"}
    ctx.expect("topics.presence.01", good, f"a and b have synced; a sees {[*by_a]} and b sees {[*by_b]}")
    wrong = [
        peer
        for name, peer in (by_b | by_a).items()
        if name in cursors  # 01 is about those who should not be here
        and not (
            peer["last_seq"] == cursors[name]["last_seq"] and before - SLACK_S <= peer["updated_at"] <= synced + SLACK_S
        )
    ]
    if ctx.has("sqlite"):
        put_back(ctx, topic_id, "b", 100)
    asked = ctx.now_s
    wrong += [
        peer
        for peer in peers(a, topic_id).values()
        if not asked - SLACK_S <= peer["updated_at"] + peer["age_seconds"] <= ctx.now_s + SLACK_S
    ]
    why = f"synced between {before} and {synced}, cursors {cursors}; asked at {asked}; not so: {wrong}"
    ctx.expect("topics.presence.02", not wrong, why)


@scenario("presence.window", needs=("sqlite",))
def window(ctx: Ctx) -> None:
    """The age of a peer is that of its row in cursors; 300 seconds are recent unless asked otherwise."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    sync(b, topic_id)
    seen = []
    for age_s in (1_000, 0):
        put_back(ctx, topic_id, "b", age_s)
        seen.append("b" in peers(a, topic_id, window_seconds=500))
    why = f"b's updated_at was put 1,000 s back, then to now; present in the last 500 s: {seen}"
    ctx.expect("topics.presence.03", seen == [False, True], why)
    with database(ctx) as db:
        db.execute(
            "INSERT INTO cursors (topic_id, agent_name, last_seq, updated_at) VALUES (?, 'older', 0, ?)",
            (topic_id, ctx.now_s),
        )
    present = list(peers(a, topic_id))
    why = f"a reader from before names were reserved has a row in cursors, of now; present are {present}"
    ctx.expect("topics.presence.03", "older" in present, why)
    seen = []
    for age_s, other_window_s in ((270, 200), (330, 400)):
        put_back(ctx, topic_id, "b", age_s)
        seen += ["b" in peers(a, topic_id), "b" in peers(a, topic_id, window_seconds=other_window_s)]
    why = f"present 270 s after a sync by default and in 200 s, 330 s after it by default and in 400 s: {seen}"
    ctx.expect("topics.presence.04", seen == [True, False, False, True], why)


@scenario("presence.touched", needs=("sqlite",))
def touched(ctx: Ctx) -> None:
    """Every sync is a sign of life: one without news, one that only looks, one that sends, one that waits in vain."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    sync(a, topic_id)
    untouched = []
    for what, said_by_b, bodies, params in (
        ("that has no news", (), (), {}),
        ("that only looks", ("one",), (), {"auto_advance": False}),
        ("that acknowledges", (), (), {"auto_advance": False, "ack_through": 1}),
        ("that receives", ("two",), (), {}),
        ("that sends", (), ("three",), {}),
        ("that waits in vain", (), (), {"wait_seconds": 1}),
    ):
        sync(b, topic_id, *said_by_b)
        put_back(ctx, topic_id, "a", 1_000_000)
        sync(a, topic_id, *bodies, **params)
        if age_in_file_s(ctx, topic_id, "a") > 900_000:
            untouched.append(what)
    ctx.expect("topics.presence.05", not untouched, f"syncs that left updated_at: one {', '.join(untouched)}")


@scenario("presence.bad_arguments")
def bad_arguments(ctx: Ctx) -> None:
    """A window and a limit must be more than nothing, and the topic must exist."""
    a = ctx.agent("a")
    topic_id = topic(a)
    join(a, topic_id)
    for row, name in (("topics.presence.06", "window_seconds"), ("topics.presence.07", "limit")):
        answers = {value: a.refusal("topic_presence", topic_id=topic_id, **{name: value}) for value in (0, -1)}
        answered = {value: said(answer) for value, answer in answers.items()}
        good = all(definite(answer, "INVALID_ARGUMENT") for answer in answers.values())
        ctx.expect(row, good, f"{name}: {answered}")
    unknown = a.refusal("topic_presence", topic_id="0123456789")
    ctx.expect("topics.presence.10", definite(unknown, "TOPIC_NOT_FOUND"), f"no such topic: {said(unknown)}")
