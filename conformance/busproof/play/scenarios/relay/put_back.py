"""presence, after a copy of the ledger was put back: running agents are known, whatever the copy says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from busproof.bus.hand_relay import RelayHand
from busproof.bus.session import Session
from busproof.play.scenarios.relay.common import agent_of, scenario
from busproof.play.scenarios.relay.presence import ask, is_alive, said, started, until
from busproof.play.suite import Ctx

Step = Literal["spawn", "release", "backup", "restore"]


@dataclass(frozen=True)
class Place:
    """Where one agent is: does it run, and does the newest copy have nothing of it, this process, or an earlier one?"""

    runs: bool = False
    copy: Literal["none", "idle", "running", "earlier"] = "none"

    def steps(self) -> list[Step]:
        """The steps that can be asked for here."""
        steps: list[Step] = ["release" if self.runs else "spawn", "backup"]
        return steps if self.copy == "none" else [*steps, "restore"]

    def after(self, step: Step) -> Place:
        """The place after a step. A copy of a running process is one of an earlier process when that has ended."""
        match step:
            case "spawn":
                return replace(self, runs=True)
            case "release":
                return Place(runs=False, copy="earlier" if self.copy == "running" else self.copy)
            case "backup":
                return replace(self, copy="running" if self.runs else "idle")
            case "restore":
                return self


@scenario("presence.put_back", needs=("spawn", "backup"))
def put_back(ctx: Ctx) -> None:
    """A copy of the ledger from before a spawn is put back: the orchestrator can still end the agents it started."""
    with started(ctx) as (agents, bus):
        bus.call("backup", path=str(copy := ctx.store.parent / "copy.db"))
        for name in ("ann", "bob"):
            ask(ctx, agents, bus, "spawn", f"NAME: {name}\nCLI: claude\n")
        pids = {name: said(ctx, name)[4] for name in ("ann", "bob")}
        bus.call("restore", path=str(copy))
        bus.call("scan")
        known = {name: agent_of(ctx, name).get("pid") == int(pid) for name, pid in pids.items()}
        ended = ask(ctx, agents, bus, "release", "NAME: ann\n")
        until(lambda: not is_alive(pids["ann"]))
        bus.call("close")
        until(lambda: not is_alive(pids["bob"]))
        left = [name for name, pid in pids.items() if is_alive(pid)]
        why = f"its rows tell their pids: {known}; ann's release ended {ended}, the orchestrator closed; alive: {left}"
        ctx.expect("relay.presence.41", all(known.values()) and not left, why)


@scenario("presence.every_way", needs=("spawn", "backup"))
def every_way(ctx: Ctx) -> None:
    """Each step at each place, one after the other: ledger and processes agree after each, and none is left."""
    with started(ctx) as (agents, bus):
        place, steps, pids = Place(), list[Step](), list[str]()
        taken = set[tuple[Place, Step]]()
        while way := _way(place, taken):
            for step in way:
                taken.add((place, step))
                place, steps = place.after(step), [*steps, step]
                _take(ctx, agents, bus, step, pids)
                if wrong := _difference(ctx, pids, runs=place.runs):
                    ctx.expect("relay.presence.42", False, f"after {', '.join(steps)}: {wrong}")
                    return
        bus.call("close")
        until(lambda: not any(map(is_alive, pids)))
        left = [pid for pid in pids if is_alive(pid)]
        ctx.expect("relay.presence.42", not left, f"{', '.join(steps)}, and a clean end leaves {left} of {pids}")


def _way(place: Place, taken: set[tuple[Place, Step]]) -> list[Step]:
    """The shortest way to a step not yet taken, including that step; empty where none can be reached any more."""
    ways: list[tuple[Place, list[Step]]] = [(place, [])]
    seen = {place}
    for at, way in ways:  # grows as it is read
        for step in at.steps():
            if (at, step) not in taken:
                return [*way, step]
            if (there := at.after(step)) not in seen:
                seen.add(there)
                ways.append((there, [*way, step]))
    return []


def _take(ctx: Ctx, agents: RelayHand, bus: Session, step: Step, pids: list[str]) -> None:
    copies = len(list(ctx.store.parent.glob("copy-*.db")))
    match step:
        case "spawn":
            ask(ctx, agents, bus, "spawn", "NAME: ann\nCLI: claude\n")
            pids.append(said(ctx, "ann")[4])
            pid_file = ctx.store.parent / "said-ann"
            if pid_file.exists():  # kept, so that a process left over can be ended by it
                pid_file.rename(f"{pid_file}.{len(pids)}")
        case "release":
            ask(ctx, agents, bus, "release", "NAME: ann\n")
        case "backup":
            bus.call("backup", path=str(ctx.store.parent / f"copy-{copies}.db"))
        case "restore":
            bus.call("restore", path=str(ctx.store.parent / f"copy-{copies - 1}.db"))
            bus.call("scan")


def _difference(ctx: Ctx, pids: list[str], *, runs: bool) -> str:
    """How the wanted processes, the running ones and the ledger differ."""
    wanted = pids[-1:] if runs else []
    until(lambda: [pid for pid in pids if is_alive(pid)] == wanted)
    alive, row = [pid for pid in pids if is_alive(pid)], agent_of(ctx, "ann")
    says = [str(row["pid"])] if row.get("pid") is not None else []
    if alive == wanted == says:
        return ""
    return f"of the processes {pids} should live {wanted}, live {alive}, and the ledger has {row.get('status')}, {says}"
