"""`python -m busspark.generate.truth FILE`: are the faults planted in a generated history found, and nothing else?"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path

from busproof.oracle.checks import Verdict
from busspark import twin
from busspark.compact import Run, compact
from busspark.generate.stage import Fault


def unexplained(verdicts: list[Verdict], truth: list[Fault]) -> list[str]:
    """Violations that nobody planted.

    All that the final state shows is of one event: there a fault that has a number explains violations of that number.
    """
    in_time = [fault for fault in truth if not (fault.is_of_the_end and fault.seq)]
    events = {(kind, fault.event) for fault in in_time for kind in (fault.kind, *fault.also)}
    seqs = {(kind, fault.seq) for fault in truth for kind in (fault.kind, *fault.also) if fault.seq}
    return [
        f"{witness.kind} {witness.events} {witness.a} {witness.b}"
        for verdict in verdicts
        for witness in verdict.witnesses
        if not any((witness.kind, event) in events for event in witness.events)
        and not any((witness.kind, number) in seqs for number in (witness.a, witness.b, witness.a + 1))
    ]


def missed(verdicts: list[Verdict], truth: list[Fault]) -> list[Fault]:
    """Planted faults that nobody found."""
    witnesses = [witness for verdict in verdicts for witness in verdict.witnesses]
    shown = {(witness.kind, event) for witness in witnesses for event in witness.events}
    numbers = {(witness.kind, number) for witness in witnesses for number in (witness.a, witness.b, witness.a + 1)}
    return [f for f in truth if (f.kind, f.event) not in shown and not (f.seq and (f.kind, f.seq) in numbers)]


def planted(path: Path) -> list[Fault]:
    """The faults that the generator wrote beside the history."""
    return [Fault(**json.loads(line)) for line in path.with_suffix(".truth").read_text().splitlines()]


def main() -> int:
    """Exit 1 if a fault was missed, or a violation found that nobody planted."""
    parser = argparse.ArgumentParser(prog="python -m busspark.generate.truth", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--engine", choices=("python", "spark"), default="python")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="busproof-streams-") as scratch:
        compact([args.file], Path(scratch))
        (verdicts,) = (_in_spark(scratch) if args.engine == "spark" else dict(twin.judge(Path(scratch)))).values()
    truth = planted(args.file)
    lost, extra = missed(verdicts, truth), unexplained(verdicts, truth)
    witnesses = sum(len(verdict.witnesses) for verdict in verdicts)
    print(f"{verdicts[0].counted:,} lines, {len(truth)} faults of {len(Counter(f.kind for f in truth))} kinds planted")
    print(f"recall {1 - len(lost) / max(len(truth), 1):.4f}, precision {1 - len(extra) / max(witnesses, 1):.4f}")
    for line in [*map(str, lost), *extra][:20]:
        print(f"  {line}")
    return 1 if lost or extra else 0


def _in_spark(streams: str) -> dict[Run, list[Verdict]]:
    from busspark.judge import judge
    from busspark.session import spark_session, stopped

    with stopped(spark_session()) as spark:
        return judge(spark, streams)


if __name__ == "__main__":
    raise SystemExit(main())
