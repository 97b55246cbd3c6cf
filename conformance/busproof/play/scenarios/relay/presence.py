"""presence: processes that the orchestrator starts and ends. An agent here is a shell script that says what it is."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from busproof.bus.base import DoorError
from busproof.bus.child import MARK
from busproof.bus.hand_relay import RelayHand
from busproof.bus.session import Session
from busproof.play.explore.relay_texts import NO_LINE_ENDS
from busproof.play.scenarios.relay.common import agent_of, hand, row_of, scenario, write
from busproof.play.suite import Ctx

LINK = "linked"  # a root of config.json, as a person may have it: to the folder that is another one
LONG_S = 20.0  # for a process to come, or to go; no wait is longer than it takes
# $0 is this file. It writes all that it was started with to a file of its name, and the pid of a child. That child has
# forgotten its environment, by which a bus may know its own: it is in the agent's process group all the same.
AGENT = f"""#!/bin/sh
env -i {MARK}="${MARK}" sleep 600 &
out="$(dirname "$0")/said-$AGENT_RELAY_NAME"
{{
  pwd; echo "${{COLOUR-$HOME}}"; echo "$AGENT_RELAY_NAME"
  echo "$AGENT_RELAY_DIR"; echo "$$"; echo "$!"; printf '%s' "$#:$1"
}} > "$out.new"
mv "$out.new" "$out"
wait
"""


# On SIGTERM it starts one more child, tells the child's pid, and goes on until it is killed or has nothing left to do.
LATE = """#!/bin/sh
late() {
  sleep 600 &
  out="$(dirname "$0")/late-$AGENT_RELAY_NAME"
  echo "$!" > "$out.new"
  mv "$out.new" "$out"
}
trap late TERM
"""
# It takes notice of SIGTERM, and goes on.
STAYS = LATE.replace("sleep 600 &\n", "", 1).replace('echo "$!"', 'echo "$$"')
# It finishes its work a moment after SIGTERM, and says so. A busy machine is slow in starting more than that.
TIDIES = """#!/bin/sh
tidied="$(dirname "$0")/tidied-$AGENT_RELAY_NAME"
tidies() {
  sleep 0.1
  : > "$tidied"
  exit
}
trap tidies TERM
"""
GOES_ON = "while :; do sleep 0.1; done\n"
TEXTS = {"claude": AGENT, "late": LATE + AGENT, "stays": STAYS + AGENT + GOES_ON, "tidies": TIDIES + AGENT}
# A process of an agent tells this of itself. However a bus starts it, it knows its folder; its child has forgotten it.
SAYS = {
    "cmdline": re.compile(rb"sleep|/(%s)\.sh\0" % "|".join(TEXTS).encode()),
    "environ": re.compile(rb"(^|\0)AGENT_RELAY_DIR="),
}
OURS = ("AGENT_RELAY_NAME", "AGENT_RELAY_DIR")


@contextmanager
def started(ctx: Ctx) -> Iterator[tuple[RelayHand, Session]]:
    """An orchestrator that may start the scripts, and one agent, the boss, that may ask for them."""
    scripts = {name: ctx.store.parent / f"{name}.sh" for name in TEXTS}
    for name, script in scripts.items():
        script.write_text(TEXTS[name])
        script.chmod(0o700)
    (ctx.store.parent / "work").mkdir()
    (ctx.store.parent / "theirs").mkdir()
    (ctx.store.parent / LINK).symlink_to("theirs")
    with hand(ctx, "boss") as agents:
        agents.config(
            clis={name: [str(script)] for name, script in scripts.items()},
            roots=[str(ctx.store.parent / "work"), str(ctx.store.parent / LINK)],
            env=["COLOUR", "HOME", *OURS],
        )
        bus = ctx.agent("orchestrator")
        bus.call("scan")
        try:
            yield agents, bus
        finally:
            pids = [pid for file in ctx.store.parent.glob("said-*") for pid in file.read_text().split("\n")[4:6]]
            pids += [file.read_text().strip() for file in ctx.store.parent.glob("late-*")]
            for pid in filter(is_alive, pids):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)


def ask(ctx: Ctx, agents: RelayHand, bus: Session, kind: str, body: str, headers: str = "") -> str:
    """A request of the boss; returns how its row ended: a status, or a reason."""
    file = write(ctx, agents, "boss", f"TO: __orchestrator__\nKIND: {kind}\n{headers}\n{body}")
    bus.call("scan")
    row = row_of(ctx, file)
    return str(row.get("last_error")).partition(":")[0] if row.get("status") == "failed" else str(row.get("status"))


def said(ctx: Ctx, name: str) -> list[str]:
    """The start of an agent of this name: folder, COLOUR (or HOME), name, root, two pids, arguments."""
    path = ctx.store.parent / f"said-{name}"
    until(path.exists)
    return path.read_bytes().decode().split("\n", 6) if path.exists() else [""] * 7


def is_done(ended: str) -> bool:
    """Was the request fulfilled?"""
    return ended in ("archived", "completed")


def _was_started(ctx: Ctx, name: str) -> bool:
    """Has an agent of this name said anything?"""
    return (ctx.store.parent / f"said-{name}").exists()


def is_alive(pid: str) -> bool:
    """Does this process of an agent run? A zombie does not, nor does one that only has its number by now."""
    try:
        process = Path(f"/proc/{int(pid)}")
        return any(says.search((process / where).read_bytes()) for where, says in SAYS.items())
    except (OSError, ValueError):
        return False


def until(holds: object) -> None:
    """Wait for it, and no longer than `LONG_S`."""
    end = time.monotonic() + LONG_S
    while time.monotonic() < end and not (callable(holds) and holds()):
        time.sleep(0.01)


@scenario("presence.spawn", needs=("spawn",))
def spawn(ctx: Ctx) -> None:
    """A spawn starts the program that CLI names, with all that the request says."""
    with started(ctx) as (agents, bus):
        work = ctx.store.parent / "work"
        prompt = 'do it; $(touch pwned) `id` "now"' + "".join(f"{sign}NAME: bob" for sign in NO_LINE_ENDS)
        wanted = "deep blue" + "".join(f"{sign}red" for sign in NO_LINE_ENDS)
        ended = ask(
            ctx,
            agents,
            bus,
            "spawn",
            f"NAME: ann\nCLI: claude\nPROMPT: {prompt}\nWORKING_DIR: {work}\nENV: COLOUR={wanted}\n",
        )
        folder, colour, name, root, pid, _, arguments = said(ctx, "ann")
        ctx.expect(
            "relay.presence.12", ended in ("archived", "completed") and name == "ann", f"it ended {ended}; {name!r}"
        )
        ctx.expect("relay.presence.15", arguments == f"1:{prompt}", f"arguments were {arguments!r}")
        ctx.expect("relay.presence.21", not list(ctx.store.parent.rglob("pwned")), "a shell has run the prompt")
        ask(ctx, agents, bus, "spawn", f"NAME: zoe\nCLI: claude\nWORKING_DIR: {ctx.store.parent / LINK}\n")
        linked = said(ctx, "zoe")[0]
        in_both = folder == str(work) and Path(linked or "/").resolve() == (work.parent / "theirs").resolve()
        ctx.expect("relay.presence.16", in_both, f"they work in {folder} and, by a root that is a link, in {linked}")
        ctx.expect("relay.presence.17", colour == wanted, f"COLOUR is {colour!r}")
        ask(ctx, agents, bus, "spawn", f"NAME: fay\nCLI: claude\nENV: HOME={work}\n")  # the orchestrator has one, too
        own = said(ctx, "fay")[1]
        ctx.expect("relay.presence.17", own == str(work), f"HOME is {own!r}, and the request says {str(work)!r}")
        ctx.expect(
            "relay.presence.19", name == "ann" and root == str(ctx.store), f"its environment says {name}, {root}"
        )
        path = ctx.store / "agents" / "ann" / "meta.json"
        meta = json.loads(path.read_text()) if path.exists() else {}
        pids = agent_of(ctx, "ann").get("pid"), meta.get("pid")
        ctx.expect(
            "relay.presence.18", pids == (int(pid), int(pid)) and "started_at" in meta, f"pid {pid}, {pids}, {meta}"
        )
        bad = [ask(ctx, agents, bus, "spawn", body) for body in ("CLI: claude\n", "NAME: bea\n", "")]
        ctx.expect(
            "relay.presence.13",
            not any(map(is_done, bad)) and not _was_started(ctx, "bea"),
            f"requests without a field ended {bad}",
        )
        ask(ctx, agents, bus, "spawn", "", "NAME: cas\nCLI: claude\n")
        ask(ctx, agents, bus, "spawn", "NAME: dee\n", "NAME: eve\nCLI: claude\n")
        both = said(ctx, "cas")[2], said(ctx, "dee")[2]
        ctx.expect("relay.presence.14", both == ("cas", "dee"), f"started were {both}")


@scenario("presence.denied", needs=("spawn",))
def denied(ctx: Ctx) -> None:
    """A program that config.json does not allow is not started."""
    with started(ctx) as (agents, bus):
        (ctx.store.parent / "work" / "out").symlink_to("/")
        work = ctx.store.parent / "work"
        (work.parent / "work-other").mkdir()  # it is there, and its name begins as a root's
        cases = {
            "relay.presence.20": ("CLI: /bin/sh\n", "CLI: sh\n", "CLI: claude -x\n", "CLI: CLAUDE\n"),
            "relay.presence.22": tuple(
                f"CLI: claude\nWORKING_DIR: {path}\n"
                for path in ("/", f"{work}/..", f"{work}/out/tmp", f"{work}-other", "work")
            ),
            "relay.presence.23": ("CLI: claude\nENV: PATH=/tmp\n", "CLI: claude\nENV: COLOUR=1,LD_PRELOAD=x\n"),
        }
        for number, (row, bodies) in enumerate(cases.items()):
            ends = [ask(ctx, agents, bus, "spawn", f"NAME: a{number}{n}\n{body}") for n, body in enumerate(bodies)]
            started_ = [path.name for path in ctx.store.parent.glob(f"said-a{number}*")]
            ctx.expect(row, set(ends) == {"denied"} and not started_, f"requests ended {ends}; started {started_}")


@scenario("presence.release", needs=("spawn",))
def release(ctx: Ctx) -> None:
    """A release ends an agent and all that it started."""
    with started(ctx) as (agents, bus):
        ask(ctx, agents, bus, "spawn", "NAME: ann\nCLI: claude\n")
        pid, child = said(ctx, "ann")[4:6]
        bad = [ask(ctx, agents, bus, "release", body) for body in ("", "REASON: done\n")]
        ctx.expect(
            "relay.presence.27", not any(map(is_done, bad)) and is_alive(pid), f"requests without a name ended {bad}"
        )
        ended = ask(ctx, agents, bus, "release", "NAME: ann\nREASON: done\n")
        until(lambda: not is_alive(pid) and not is_alive(child))
        row = agent_of(ctx, "ann")
        ctx.expect(
            "relay.presence.26",
            ended in ("archived", "completed") and not is_alive(pid) and row.get("status") == "terminated",
            f"the request ended {ended}; its process is alive: {is_alive(pid)}; its row is {row}",
        )
        ctx.expect("relay.presence.28", not is_alive(child), "a process that it had started lives")


def _late(ctx: Ctx, name: str) -> str:
    """The pid that an agent of this name told when it was asked to end; empty where it was not."""
    path = ctx.store.parent / f"late-{name}"
    return path.read_text().strip() if path.exists() else ""


@scenario("presence.late", needs=("spawn",))
def late(ctx: Ctx) -> None:
    """A process that an agent starts while it is being ended ends with it, if those it had started before do."""
    with started(ctx) as (agents, bus):
        for name in ("ann", "bob"):
            ask(ctx, agents, bus, "spawn", f"NAME: {name}\nCLI: late\n")
        children = {name: said(ctx, name)[5] for name in ("ann", "bob")}
        ask(ctx, agents, bus, "release", "NAME: ann\n")
        bus.call("close")
        started_late = {name: _late(ctx, name) for name in children}
        until(lambda: not any(map(is_alive, started_late.values())))
        outlive = [name for name, pid in started_late.items() if is_alive(pid) and not is_alive(children[name])]
        ctx.expect(
            "relay.presence.36",
            not outlive,
            f"ann was released and bob ended with the orchestrator; what they started on SIGTERM lives, of {outlive}",
        )


@scenario("presence.grace", needs=("spawn",))
def grace(ctx: Ctx) -> None:
    """An agent that is ended is told so first, and has a moment to finish its work."""
    with started(ctx) as (agents, bus):
        for name in ("ann", "bob"):
            ask(ctx, agents, bus, "spawn", f"NAME: {name}\nCLI: tidies\n")
        pids = {name: said(ctx, name)[4] for name in ("ann", "bob")}
        ask(ctx, agents, bus, "release", "NAME: ann\n")
        bus.call("close")
        until(lambda: not any(map(is_alive, pids.values())))
        cut_off = [name for name in pids if not is_alive(pids[name]) and not _tidied(ctx, name)]
        why = f"ann was released and bob ended with the orchestrator; without a moment after SIGTERM: {cut_off}"
        ctx.expect("relay.presence.40", not cut_off, why)


def _tidied(ctx: Ctx, name: str) -> bool:
    return (ctx.store.parent / f"tidied-{name}").exists()


@scenario("presence.interrupted", needs=("spawn", "clock"))
def interrupted(ctx: Ctx) -> None:
    """A release in which the orchestrator is killed: the agent is not gone on paper alone."""
    with started(ctx) as (agents, bus):
        ask(ctx, agents, bus, "spawn", "NAME: ann\nCLI: stays\n")
        pid = said(ctx, "ann")[4]
        file = write(ctx, agents, "boss", "TO: __orchestrator__\nKIND: release\n\nNAME: ann\n")
        with ThreadPoolExecutor(1) as pool:
            pool.submit(_undisturbed, bus)
            until(lambda: _late(ctx, "ann") or not is_alive(pid))
            ctx.crash(bus)
        bus = ctx.agent("orchestrator")
        for _ in range(2):
            bus.call("scan")
            ctx.blame()
            ctx.advance(60_000)
        row, state = row_of(ctx, file), agent_of(ctx, "ann").get("status")
        if is_alive(pid) and state != "terminated":
            ask(ctx, agents, bus, "release", "NAME: ann\n")
        ctx.expect(
            "relay.presence.37",
            not is_alive(pid),
            f"after a restart in a release ann is {state}, the release {row.get('status')}, and her process lives",
        )


def _undisturbed(bus: Session) -> None:
    with contextlib.suppress(DoorError):
        bus.call("scan")


@scenario("presence.own_names", needs=("spawn",))
def own_names(ctx: Ctx) -> None:
    """No message can set the variables that tell an agent its name and root, even where config.json allows it."""
    with started(ctx) as (agents, bus):
        ask(ctx, agents, bus, "spawn", "NAME: ann\nCLI: claude\n")
        is_told = said(ctx, "ann")[2:4] == ["ann", str(ctx.store)]
        wrong = {}
        for number, env in enumerate(("AGENT_RELAY_DIR=/tmp", "AGENT_RELAY_NAME=boss", "AGENT_RELAY_NAME=,COLOUR=red")):
            before = _told(ctx)
            if is_done(ask(ctx, agents, bus, "spawn", f"NAME: a{number}\nCLI: claude\nENV: {env}\n")):
                until(lambda before=before: _told(ctx) - before)
                told_names = [path.read_text().split("\n")[2:4] for path in _told(ctx) - before]
                if told_names != [[f"a{number}", str(ctx.store)]]:
                    wrong[env] = told_names
        ctx.expect("relay.presence.38", not (is_told and wrong), f"agents a0, a1, a2 are told {wrong}")


def _told(ctx: Ctx) -> set[Path]:
    """The files of all agents that have spoken, under any name that they were told."""
    return {path for path in ctx.store.parent.glob("said-*") if path.suffix != ".new"}


@scenario("presence.orphans", needs=("spawn",))
def orphans(ctx: Ctx) -> None:
    """Agents outlive an orchestrator that is killed, and not one that ends."""
    with started(ctx) as (agents, bus):
        ask(ctx, agents, bus, "spawn", "NAME: eve\nCLI: claude\n")
        first = said(ctx, "eve")[4]
        ask(ctx, agents, bus, "release", "NAME: eve\n")  # what was done once is not done again to the next one
        until(lambda: not is_alive(first))
        (ctx.store.parent / "said-eve").replace(ctx.store.parent / "said-eve.1")
        for name in ("ann", "bob", "eve"):
            ask(ctx, agents, bus, "spawn", f"NAME: {name}\nCLI: claude\n")
        ann, bob, eve = (said(ctx, name)[4] for name in ("ann", "bob", "eve"))
        ctx.crash(bus)
        for pid in said(ctx, "bob")[4:6]:  # and all that it had started: nobody can say that it lives
            os.kill(int(pid), signal.SIGKILL)
        until(lambda: not is_alive(bob))
        bus = ctx.agent("orchestrator")
        bus.call("scan")
        states = tuple(agent_of(ctx, name).get("status") for name in ("ann", "bob", "eve"))
        stays = is_alive(eve)
        ended = is_alive(ann) and ask(ctx, agents, bus, "release", "NAME: ann\n")
        until(lambda: not is_alive(ann))
        ctx.expect(
            "relay.presence.31",
            states == ("active", "terminated", "active") and stays and is_done(str(ended)) and not is_alive(ann),
            f"after a restart ann, bob and eve are {states}, and eve, who was released and started again before, is "
            f"alive: {stays}; ann's release ended {ended}, alive: {is_alive(ann)}",
        )
        for name in ("cas", "dee"):
            ask(ctx, agents, bus, "spawn", f"NAME: {name}\nCLI: claude\n")
        cas, (dee, child) = said(ctx, "cas")[4], said(ctx, "dee")[4:6]
        os.kill(int(dee), signal.SIGKILL)
        until(lambda: not is_alive(dee))
        bus.call("scan")
        bus.call("close")
        until(lambda: not any(map(is_alive, (cas, eve, child))))
        outlive = [name for name, pid in {"cas": cas, "eve, of the orchestrator before": eve}.items() if is_alive(pid)]
        ctx.expect("relay.presence.32", not outlive, f"an agent outlives a clean end: {outlive}")
        ctx.expect("relay.presence.32", not is_alive(child), "what an agent had started, which was killed, outlives it")
