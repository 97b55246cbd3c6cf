"""search: words find messages."""

from __future__ import annotations

from busproof.bus.session import Session
from busproof.play.scenarios.worker.common import database, ids, poll, publish, said, scenario, stranger_publishes
from busproof.play.suite import Ctx


def finds(session: Session, query: str, **params: int) -> list[str]:
    """Ids that a search gives, sorted."""
    return sorted(ids(session.call("search", query=query, **params)["messages"]))


@scenario("search.finds_words")
def finds_words(ctx: Ctx) -> None:
    """A word in the payload or the type finds its messages and no others, as soon as they are published."""
    a = ctx.agent("a")
    publish(a, id="m1", type="task_done", payload={"note": "the parser is green"})
    publish(a, id="m2", type="task_failed", payload=["parser", "red"])
    publish(a, id="m3", type="review_request", payload=None)
    first = finds(a, "parser"), finds(a, "green")
    publish(a, id="m4", type="note", payload={"deep": [{"er": "Parser"}]})
    both = finds(a, "parser green")
    later = finds(a, "parser")
    good = first == (["m1", "m2"], ["m1"]) and later == ["m1", "m2", "m4"] and both == ["m1"]
    ctx.expect("worker.search.01", good, f"parser and green found {first}, with one more {later}, both words {both}")
    kinds = finds(a, "review_request"), finds(a, "task_failed")
    ctx.expect("worker.search.02", kinds == (["m3"], ["m2"]), f"two types found {kinds}")
    none = finds(a, "zebra"), finds(a, "parser zebra")
    ctx.expect("worker.search.03", none == ([], []), f"a word that no message has found {none}")


@scenario("search.syntax_is_words")
def syntax_is_words(ctx: Ctx) -> None:
    """Operators, quotes and stars of a query language are searched for, not obeyed."""
    a = ctx.agent("a")
    publish(a, id="m1", payload="alpha OR beta")
    publish(a, id="m2", payload="alpha")
    publish(a, id="m3", payload='say "hi" NEAR me')
    wrong = {}
    for query, wanted in {
        "alpha OR beta": ["m1"],
        "alp*": [],
        "alpha NOT beta": [],
        '"hi"': ["m3"],
        "payload : alpha": [],
        "NEAR me": ["m3"],
        "alpha AND": [],
        "(alpha": ["m1", "m2"],
        "alpha^": ["m1", "m2"],
        "-": None,
        "'": None,
    }.items():
        refusal = a.refusal("search", query=query)
        if refusal is not None:
            if not refusal.definite or wanted is not None:
                wrong[query] = said(refusal)
        elif wanted is not None and (got := finds(a, query)) != wanted:
            wrong[query] = str(got)
    ctx.expect("worker.search.04", not wrong, f"queries that were not taken as words: {wrong}")


@scenario("search.stranger", needs=("sqlite",))
def stranger(ctx: Ctx) -> None:
    """A row inserted by another program is found too."""
    a = ctx.agent("a")
    publish(a, id="ours", payload="heron")
    before = finds(a, "heron")
    stranger_publishes(ctx, "theirs", payload='"heron"')
    after = finds(a, "heron")
    ctx.expect("worker.search.05", (before, after) == (["ours"], ["ours", "theirs"]), f"found {before}, then {after}")


@scenario("search.limit")
def limit(ctx: Ctx) -> None:
    """At most `limit` messages are given, and they are messages as poll gives them."""
    a = ctx.agent("a")
    for number in range(5):
        publish(a, id=f"m{number}", to="a", payload={"word": "heron"})
    found = a.call("search", query="heron", limit=2)["messages"]
    same = [row for row in poll(a) if row["id"] in ids(found)]
    fields = [(row["id"], row["seq"], row.get("payload")) for row in sorted(found, key=lambda row: row["seq"])]
    good = len(found) == 2 and fields == [(row["id"], row["seq"], row.get("payload")) for row in same]
    ctx.expect("worker.search.06", good, f"limit 2 of 5 gave {found}")


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
    found = finds(a, "bittern"), finds(a, "dunlin"), finds(a, "bittern last")
    ctx.expect("worker.search.07", found == (["large"],) * 3, f"words of a payload of 10 KB found {found}")


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
