"""A fleet of three agents and one service: recorded, replayed and forked.

docs/leaving-one-machine.md shows what it prints.

python -m reference.examples.fleet           on an SQLite file
python -m reference.examples.fleet --nats    on a NATS server that it starts; the agents are the same
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from reference.bench.nats_server import NatsServer

from refbus.kernel.clock import Clock
from refbus.timeline import graph, worker
from refbus.timeline.bus import TimelineBus
from refbus.timeline.message import Message
from refbus.timeline.run import Run, rerun

CLOCK = Clock(1_768_053_600_000)  # it stands still, so that every run has the same hashes

Infer = Callable[[Message], str]


# -- the three agents


def planner(run: Run) -> str:
    """Asks what to look for, has it found, and has it written down."""
    plan = run.call_service("infer", "ollama", "plan", run.payload)
    facts = run.delegate("researcher", plan)
    text: str = run.delegate("writer", facts)
    run.state = {"planned": plan}
    return text


def researcher(run: Run) -> str:
    """Asks twice, the second time about the first answer."""
    first = run.call_service("infer", "ollama", "look", run.payload)
    second: str = run.call_service("infer", "ollama", "look", first)
    return second


def writer(run: Run) -> str:
    """Asks once."""
    text: str = run.call_service("infer", "ollama", "write", run.payload)
    return text


# -- the service


def small(message: Message) -> str:
    """A model, as far as an example needs one."""
    return f"{(message['key'] or {})['operation']}({message['payload']})"


def large(message: Message) -> str:
    """A better one."""
    return f"better-{small(message)}"


@contextlib.contextmanager
def fleet(store: Path, infer: Infer) -> Iterator[None]:
    """Four workers, each with a session of its own, as four processes would have."""
    stop = threading.Event()
    with contextlib.ExitStack() as opened:
        sessions = [opened.enter_context(TimelineBus(store, clock=CLOCK)) for _ in range(4)]
        workers = [
            worker.service(sessions[0], "infer", "ollama", infer),
            worker.runtime(sessions[1], "local", "planner", planner),
            worker.delegate(sessions[2], "researcher", researcher),
            worker.delegate(sessions[3], "writer", writer),
        ]
        threads = [threading.Thread(target=service.run, args=(stop.is_set,)) for service in workers]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def tell(store: Path) -> Iterator[str]:
    """The story, line by line."""
    with TimelineBus(store, clock=CLOCK) as bus:
        with fleet(store, small):
            answer = bus.run_agent("main", "s1", "cli", "local", "planner", "buses")
        yield f"recorded   {answer['payload']}   state {str(answer['state'])[:8]}"

        again = rerun(bus, "main", "s1", planner)
        yield f"replayed   {again['payload']}   the same, with nobody running: {again['same']}"

        bus.fork("better", "s1", "planner", "main", 9)  # the researcher has answered
        with fleet(store, large):
            other = bus.run_agent("better", "s1", "cli", "local", "planner", "buses")
        yield f"forked     {other['payload']}   only the writer asked the better model"

        verified = bus.verify()
        yield f"verified   {verified['checked']} messages, {len(verified['faults'])} faults"
        yield ""
        whole = bus.dump()
        yield from graph.lines(whole["timelines"], whole["messages"])


def main() -> None:
    """Tell it in a folder of its own."""
    parser = argparse.ArgumentParser(description="A fleet of three agents and one service.")
    parser.add_argument("--nats", action="store_true", help="on a NATS server that is started for it")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as opened:
        store = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="refbus-fleet-")))
        if arguments.nats:
            (store / "nats").mkdir()
            server = opened.enter_context(NatsServer(store / "nats"))
            (store / "config.toml").write_text(f'[queue]\nbackend = "nats"\nnats_url = "{server.url}"\n')
        for line in tell(store):
            print(line)


if __name__ == "__main__":
    main()
