"""limit: permissions, links, and the content of files."""

from __future__ import annotations

import hashlib
import itertools
import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from busproof.bus.session import Session
from busproof.play.scenarios.common import Row, bounded, said
from busproof.play.scenarios.relay.common import MS, bodies, hand, mode, row_of, scenario, tells, write
from busproof.play.suite import Ctx

ODD_CONTENTS = (
    "\x00" * 4096,
    "TO: " + "x" * 100_000,
    "\n" * 10_000,
    "TO:\x85\n\n",
    "A:" * 5_000,
    "\u202e\n\n",
    "TO: \U0001f600\n\n",
)
# Times of files beyond the range of 64 bits of nanoseconds, a good two centuries before and after 1970: any program can
# set one. A file system that cannot keep it keeps the next one that it can.
ODD_TIMES_NS = (2**63, 10_413_792_000 * 1_000 * MS, -(2**63) - 1_000 * MS)


@scenario("limit.permissions")
def permissions(ctx: Ctx) -> None:
    """Only the owner gets in."""
    os.umask(umask := os.umask(0o022))
    (ctx.store / "agents" / "dee").mkdir(parents=True)  # she came before the first orchestrator, by mkdir -p
    for path in (ctx.store, ctx.store / "agents"):
        path.chmod(0o755)
    bus = ctx.agent("orchestrator")
    with hand(ctx, "ann", "bob") as agents:
        (ctx.store / "agents" / "cas").mkdir(mode=0o755)
        bus.call("scan")
        write(ctx, agents, "ann", "TO: bob\n\nprivate")
        bus.call("scan")
        folders = [
            ctx.store,
            ctx.store / "agents",
            *(ctx.store / "agents" / name for name in ("ann", "bob", "cas", "dee")),
        ]
        wrong = {str(path): mode(path) for path in folders if mode(path) != "700"}
        ctx.expect("relay.limit.06", not wrong, f"{wrong} (umask {umask:o})")
        files = [ctx.store / "ledger.db", ctx.store / "config.json"]
        open_ = {path.name: mode(path) for path in files if path.exists() and mode(path) != "600"}
        ctx.expect("relay.limit.07", not open_, f"{open_}")
        modes = [mode(path) for path in (ctx.store / "agents" / "bob" / "inbox").iterdir()]
        ctx.expect("relay.limit.08", modes == ["600"], f"delivered files have {modes}")


@scenario("limit.declared")
def declared(ctx: Ctx) -> None:
    """The size that hello tells is the limit: so many bytes are delivered, and one more are failed unread."""
    limit = ctx.hello.limits.get("message_bytes_max")
    bus, outcomes, head = ctx.agent("orchestrator"), dict[int, Any](), "TO: bob\n\n"
    with hand(ctx, "ann", "bob") as agents:
        bus.call("scan")
        for size in (limit, limit + 1) if limit is not None else ():
            file = write(ctx, agents, "ann", head + "x" * (size - len(head)))
            bus.call("scan")
            reason = str(row_of(ctx, file).get("last_error") or "").partition(":")[0]
            outcomes[size] = len(bodies(agents, "bob")), reason
        wanted = {} if limit is None else {limit: (1, ""), limit + 1: (1, "too_large")}
        ok, why = outcomes == wanted, f"messages of bob, and why one failed, by size: {outcomes}"
        if limit is not None and ok:
            bus.call("close")
            bus = ctx.agent("orchestrator", message_bytes_max=2 * limit)
            file = write(ctx, agents, "ann", head + "x" * (limit + 1 - len(head)))
            bus.call("scan")
            status, count = row_of(ctx, file).get("status"), len(bodies(agents, "bob"))
            # Whether it takes the option or keeps to its limit: the message comes, or fails.
            ok = (status, count) == ("failed", 1) or count == 2
            why = (
                f"twice as much allowed by message_bytes_max, {limit + 1} bytes are {status}, bob has {count} messages"
            )
    ctx.expect("relay.limit.20", ok, why)


SECRET = "1700000000000000000-0000aaaa.msg"  # a message outside, older than any that waits
SECRET_TEXT = "TO: ann\n\nsecret"
BELOW_TEXT = "the whole content of its name, in a folder outside"
HASH = "ab" + "0" * 62
# Folders that an agent, or another program with its rights, may replace by something else.
OF_AN_AGENT = {"home": "", "outbox": "outbox", "pending": "outbox/.pending", "inbox": "inbox"}


@scenario("limit.links", needs=("clock",))
def links(ctx: Ctx) -> None:
    """Links lead nowhere, old or sudden: files outside are not read, not moved, not written."""
    outside = _outside(ctx)
    before = _told(outside)
    home = ctx.store / "agents"
    with hand(ctx, "ann", "bob", *_agents("first"), *_agents("later")) as agents:
        _links(ctx, "first", outside)
        bus = ctx.agent("orchestrator")
        bus.call("scan")
        (home / "bob" / "outbox" / SECRET).symlink_to(outside / SECRET)
        _links(ctx, "later", outside)
        (ctx.store / "attachments" / HASH[:2]).symlink_to(outside)
        (ctx.store / "archive" / f"{date_of(ctx)}").mkdir(exist_ok=True)
        (ctx.store / "archive" / f"{date_of(ctx)}" / "bob").symlink_to(outside)
        for when, what in itertools.product(("first", "later"), ("inbox", "home")):
            write(ctx, agents, "ann", f"TO: {when}-{what}\n\ninto a link")
        write(ctx, agents, "bob", "TO: nowhere at all\n\nto be archived in a link")
        write(ctx, agents, "ann", f"TO: ann\nATTACHMENT: sha256:{HASH}\n\nwith a link")
        right = hashlib.sha256(SECRET_TEXT.encode()).hexdigest()
        (ctx.store / "attachments" / right[:2]).mkdir(exist_ok=True)
        (ctx.store / "attachments" / right[:2] / right).symlink_to(outside / SECRET)
        write(ctx, agents, "ann", f"TO: ann\nATTACHMENT: sha256:{right}\n\nwhich is a link")
        below = hashlib.sha256(BELOW_TEXT.encode()).hexdigest()
        (outside / below).write_text(BELOW_TEXT)
        before = _told(outside)
        (ctx.store / "attachments" / below[:2]).symlink_to(outside)
        write(ctx, agents, "ann", f"TO: ann\nATTACHMENT: sha256:{below}\n\nbelow a link")
        for _ in range(2):
            bus.refusal("scan")  # it may tell that a file cannot be archived
            ctx.advance(40_000)
        (ctx.store / "tmp" / "left-over").symlink_to(outside)
        ctx.crash(bus)
        bus = ctx.agent("orchestrator")
        bus.refusal("scan")
        if ctx.has("audit") and (misnamed := _misnamed(bus)):  # the row of another item (decision 0033)
            ctx.expect("relay.limit.16", False, f"of links where folders should be, the trail says {misnamed}")
        _open_under_a_linked_lock(ctx, bus, outside / SECRET)
        ctx.expect(
            "relay.limit.15",
            _told(outside) == before and bodies(agents, "ann") == [],
            f"outside held {before}, and holds {_told(outside)}; ann received {bodies(agents, 'ann')}",
        )


def _misnamed(bus: Session) -> list[Row]:
    """The audit records that tell of one of the links, but not as a link."""
    links = {
        f"agents/{name}/{place}".rstrip("/")
        for when in ("first", "later")
        for name, place in zip(_agents(when), OF_AN_AGENT.values(), strict=True)
    }
    records = bus.call("audit")["records"]
    return [record for record in records if record["path"] in links and record["event"] != "symlink"]


def _open_under_a_linked_lock(ctx: Ctx, bus: Session, target: Path) -> None:
    """The lock is a link, too. A bus may still open the folder or not, but it may not write outside."""
    bus.call("close")
    lock = ctx.store / ".lock"
    lock.unlink(missing_ok=True)
    lock.symlink_to(target)
    if bus.refusal("open", store=str(ctx.store), options={}) is None:
        bus.refusal("close")


def date_of(ctx: Ctx) -> str:
    """The date of today, as the archive writes it."""
    return f"{datetime.fromtimestamp(ctx.now_ms / 1000, UTC):%Y-%m-%d}"


def _agents(when: str) -> list[str]:
    return [f"{when}-{what}" for what in OF_AN_AGENT]


def _links(ctx: Ctx, when: str, target: Path) -> None:
    """Put a link in the place of each folder, of a different agent for each."""
    for name, place in zip(_agents(when), OF_AN_AGENT.values(), strict=True):
        folder = ctx.store / "agents" / name / place
        if folder.exists():
            folder.rename(ctx.store.parent / f"was-{name}")
        folder.symlink_to(target if place else target / "home")


def _outside(ctx: Ctx) -> Path:
    """A folder with a file for every bus that follows a link: a message, an attachment, an old half file; in `home`
    likewise for one that opens a whole path and guards its last part alone."""
    outside = ctx.store.parent / "outside"
    folders = [outside / ".pending", *(outside / "home" / place for place in ("outbox/.pending", "inbox"))]
    for folder in folders:
        folder.mkdir(parents=True)
    files = (outside / HASH, outside / "1-0000aaab.msg.tmp", *(folder / SECRET for folder in (outside, *folders)))
    for path in (*files, outside / "home" / "outbox" / SECRET):
        path.write_text(SECRET_TEXT)
        os.utime(path, (1, 1))
    return outside


def _told(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file, its content, and when it was written."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.read_text(), path.stat().st_mtime_ns) for path in files}


SOCKET = "1700000000000000000-0000bbbb.msg"
MORE_FILES, PASSES = (
    40,
    60,
)  # so many may a process have open beside those that it has; in each pass one of a kind comes


@scenario("limit.descriptors", needs=("clock",))
def descriptors(ctx: Ctx) -> None:
    """More files are refused, for any reason, than a process may have open; then a message comes.

    A few in each pass: a bus may have all files of a pass open at once.
    """
    bus = ctx.agent("orchestrator", message_bytes_max=200)
    with hand(ctx, "ann", "bob", "cas") as agents:
        bus.call("scan")
        agents.block("cas", "not_regular")
        agents.attach(HASH, "another content")
        with bounded(bus, MORE_FILES):
            for number in range(PASSES):
                write(ctx, agents, "ann", f"TO: bob\n\n{'too large ' * 30}")
                write(ctx, agents, "ann", f"TO: nobody{number}\n\nto nobody")
                for attached in (f"{number:064x}", HASH):
                    write(ctx, agents, "ann", f"TO: bob\nATTACHMENT: sha256:{attached}\n\nof nothing")
                write(ctx, agents, "ann", "TO: cas\n\ninto no inbox")
                if ctx.has("backup"):
                    bus.refusal("backup", path=str(ctx.store.parent / "missing" / "copy.db"))
                for odd in ("symlink", "not_regular", "hard_link"):
                    write(ctx, agents, "ann", "TO: bob\n\nodd", odd=odd)
                write(ctx, agents, "ann", "no header at all")
                bus.refusal("scan")
                ctx.advance(1_000)
            ctx.advance(60_000)
            write(ctx, agents, "ann", "TO: bob\n\nat last")
            why = said(bus.refusal("scan"))
        came = [body for body in bodies(agents, "bob") if "at last" in body]
        ctx.expect("relay.limit.18", len(came) == 1, f"{9 * PASSES} files were refused, and one comes: {came}, {why}")


@scenario("limit.odd_content", needs=("clock",))
def odd_content(ctx: Ctx) -> None:
    """The orchestrator survives any content, any entry that is no file, and any time, and delivers the next message."""
    bus = ctx.agent("orchestrator")
    with hand(ctx, "ann", "bob") as agents:
        bus.call("scan")
        odd = [write(ctx, agents, "ann", data) for data in ODD_CONTENTS]
        odd += [write(ctx, agents, "ann", "TO: bob\n\n", end=end) for end in ("ff", "c080", "eda080", "f4908080")]
        with socket.socket(socket.AF_UNIX) as made:
            place = os.getcwd()
            os.chdir(ctx.store / "agents" / "ann" / "outbox")
            try:
                made.bind(SOCKET)
            finally:
                os.chdir(place)
        for number, time_ns in enumerate(ODD_TIMES_NS):
            agents.write("ann", file := f"17{number}-0000cccc.msg", "TO: bob\n\nof another time", time_ns)
            odd.append(file)
        folder = ctx.store / "attachments" / HASH[:2]
        folder.mkdir(parents=True, exist_ok=True)
        os.mkfifo(folder / HASH)  # a bus that opens it as a file waits for a writer
        odd += [write(ctx, agents, "ann", f"TO: bob\nATTACHMENT: sha256:{HASH}\n\nwith a fifo")]
        write(ctx, agents, "ann", "TO: bob\n\nbehind")
        bus.call("scan")  # from now on a time that lies ahead settles
        ctx.advance(10_000)
        bus.call("scan")
        states = {row_of(ctx, file).get("status") for file in odd} if tells(ctx) else set()
        if ctx.has("audit"):
            events = {record["path"]: record["event"] for record in bus.call("audit")["records"]}
            event = events.get(f"agents/ann/outbox/{SOCKET}")
            if event != "not_regular":  # the row of another item (decision 0033)
                ctx.expect("relay.limit.11", False, f"a socket in an outbox is told as {event}; told were {events}")
        ctx.expect(
            "relay.limit.19",
            "behind" in bodies(agents, "bob") and None not in states,
            f"bob has {bodies(agents, 'bob')}, odd files are {states}",
        )
