"""This tree against another one, side by side: how many times as long an operation takes.

    git worktree add ../before c06235e^ && python reference/bench/before.py ../before [--rounds 21]

Each tree's reference runs in a process of its own. The two take turns within each round, so that a noisy moment hits
both; a ratio above 1 says that this tree is slower.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from comms_rate import UNLIMITED
from compare import interleave, ratio, save, verdict

HERE = Path(__file__).parents[2]
AT_MOST = 1.1  # two runs of one tree differ by as much
CALLS = 200
Work = Callable[[], object]


def works(folder: Path) -> dict[str, Work]:
    """The work that both trees can do: each item does CALLS operations."""
    from refbus.comms.bus import CommsBus  # of the tree on the path
    from refbus.topics.bus import TopicsBus
    from refbus.worker.bus import WorkerBus

    for system in ("worker", "comms"):
        (folder / system).mkdir()
    worker = WorkerBus(folder / "worker")
    comms = CommsBus(folder / "comms", **UNLIMITED)
    topics = TopicsBus(folder / "topics.sqlite")
    topic_id = topics.topic_create("lane")["topic_id"]
    topics.topic_join("alice", topic_id)
    message = {"to": "bob", "type": "task_done", "payload": {"branch": "worker-auth/skills-abc", "files": 12}}
    payload = message["payload"]

    def publish() -> None:
        for _ in range(CALLS):
            worker.publish("alice", message)

    def poll_and_ack() -> None:
        for _ in range(CALLS):
            messages = worker.poll("bob", 1)["messages"]
            worker.ack("bob", messages[-1]["seq"])

    def claim_and_release() -> None:
        for number in range(CALLS):
            token = worker.try_claim_task(f"task {number}", "alice").get("token")
            worker.release_claim(f"task {number}", "alice", token)

    def send() -> None:
        for _ in range(CALLS):
            comms.send_message(from_agent="alice", to_agent="bob", message_type="note", payload=payload)

    def claim_and_complete() -> None:
        for _ in range(CALLS):
            (received,) = comms.receive_messages("bob", ["general"], limit=1)["messages"]
            comms.claim_message(message_id=received["id"], agent_id="bob")
            comms.complete_message(message_id=received["id"], agent_id="bob")

    def sync() -> None:
        for _ in range(CALLS):
            topics.sync(topic_id, outbox=[{"content_markdown": "a part is done"}], wait_seconds=0)

    return {
        work.__name__.replace("_", " "): work
        for work in (publish, poll_and_ack, claim_and_release, send, claim_and_complete, sync)
    }


def serve() -> None:
    """Do the work that each line of standard input names; say how many seconds it took."""
    with tempfile.TemporaryDirectory(prefix="refbus-bench-") as folder:
        known = works(Path(folder))
        print(*known, sep=",", flush=True)
        for line in sys.stdin:
            started = time.perf_counter()
            known[line.strip()]()
            print(time.perf_counter() - started, flush=True)


class Tree:
    """A process with the reference of a tree."""

    def __init__(self, root: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", str(root)],
            env={**os.environ, "PYTHONPATH": str(root.resolve() / "reference")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.works = self._said().split(",")

    def _said(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            sys.exit("the process of a tree ended: its reference lacks what is compared")
        return line

    def do(self, work: str) -> int:
        """Do CALLS operations."""
        assert self.process.stdin is not None
        self.process.stdin.write(work + "\n")
        self.process.stdin.flush()
        self._said()
        return CALLS

    def close(self) -> None:
        """End its input, and thereby the process."""
        self.process.communicate()


def main() -> int:
    """Exits with 0: speed says met or NOT MET."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="a checkout of another commit")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return 0
    now, before = Tree(HERE), Tree(arguments.tree)
    ratios = {}
    for work in now.works:
        seconds = interleave(
            {"now": lambda work=work: now.do(work), "before": lambda work=work: before.do(work)},
            rounds=arguments.rounds,
        )
        ratios[work] = ratio(seconds["before"], seconds["now"])
        print(f"{work:24} {ratios[work]['median']:.2f} ({ratios[work]['low']:.2f} to {ratios[work]['high']:.2f})")
    now.close()
    before.close()
    save("before", ratios)
    worst = max(figure["median"] for figure in ratios.values())
    print(f"no operation takes more than {AT_MOST} x as long as before: {verdict(worst, AT_MOST, at_least=False)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
