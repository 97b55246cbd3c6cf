"""search: words find messages."""

from __future__ import annotations

from busproof.bus.session import Session
from busproof.play.scenarios.worker.common import database, ids, poll, publish, scenario, stranger_publishes
from busproof.play.suite import Ctx


def finds(session: Session, query: str, **params: int) -> list[str]:
    """Ids that a search gives, sorted."""
    return sorted(ids(session.call("search", query=query, **params)["messages"]))


@scenario("search.stranger", needs=("sqlite",))
def stranger(ctx: Ctx) -> None:
    """A row inserted by another program is found too."""
    a = ctx.agent("a")
    publish(a, id="ours", payload="heron")
    before = finds(a, "heron")
    stranger_publishes(ctx, "theirs", payload='"heron"')
    after = finds(a, "heron")
    ctx.expect("worker.search.05", (before, after) == (["ours"], ["ours", "theirs"]), f"found {before}, then {after}")


@scenario("search.deleted", needs=("sqlite",))
def deleted(ctx: Ctx) -> None:
    """A message that another program deleted is not found, and takes no place within the limit."""
    a = ctx.agent("a")
    for number in range(6):
        publish(a, id=f"m{number}", payload="heron")
    before = finds(a, "heron")
    with database(ctx) as db:
        db.execute("DELETE FROM messages WHERE id < 'm3'")
    after = finds(a, "heron", limit=2)
    why = f"found {before}; m0 to m2 were deleted, and a search for two found {after}"
    ctx.expect("worker.search.09", len(before) == 6 and len(after) == 2 and min(after) >= "m3", why)


@scenario("search.large")
def large(ctx: Ctx) -> None:
    """A payload of many kilobytes is searched from its first word to its last."""
    a = ctx.agent("a")
    publish(a, id="large", payload=["bittern", "x " * 5000, {"last": "dunlin"}])
    publish(a, id="other", payload="x " * 5000)
    hits = finds(a, "bittern"), finds(a, "dunlin"), finds(a, "bittern last")
    ctx.expect("worker.search.07", hits == (["large"],) * 3, f"words of a payload of 10 KB found {hits}")


@scenario("search.archived", needs=("archive",))
def archived(ctx: Ctx) -> None:
    """An archived message is still known: found before and after the archive, and where nobody searched before."""
    a = ctx.agent("a")
    publish(a, id="m0", payload="heron")
    before = finds(a, "heron")
    publish(a, id="m1", payload="heron")
    a.call("ack", seq=poll(a)[-1]["seq"])
    moved = a.call("archive")["archived"]
    after = finds(a, "heron")
    good = (before, moved, after) == (["m0"], 2, ["m0", "m1"])
    ctx.expect("worker.search.08", good, f"found {before}, archived {moved}, found {after}")
