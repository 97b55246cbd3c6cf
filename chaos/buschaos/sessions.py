"""The results of cutting recorded sessions, a JSON line for each, so that a long run goes on where it was stopped."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from buschaos.state import Problem

Durability = Literal["process-crash", "power-loss"]
FILE = "power.jsonl"


@dataclass
class PowerResult:
    """The results of the cuts of one session or of several."""

    durability: Durability
    doubt: str = ""
    steps: int = 0
    checked: int = 0
    left_out: int = 0  # images for which there was no time, at most
    seconds: float = 0.0
    sessions: int = 0
    deaths: int = 0  # in the middle of a call that was made again, before the power went
    after_deaths: int = 0  # images of these, beside those that were asked for
    undying: int = 0  # operations for whose deaths there was no time
    spared: int = 0  # images that a sample does without
    spared_deaths: int = 0  # operations in which it has nobody die
    earlier: int = 0  # images that an earlier run checked
    by_model: Counter[str] = field(default_factory=Counter)
    lost: Counter[int] = field(default_factory=Counter)  # how many of the last acknowledged calls → images
    problems: list[tuple[Problem, Path]] = field(default_factory=list)

    def add(self, other: PowerResult) -> None:
        """Take in the results of another session's cuts, or of another share of the sessions."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.doubt = self.doubt or other.doubt
        self.seconds = max(self.seconds, other.seconds)
        self.by_model.update(other.by_model)
        self.lost.update(other.lost)
        self.problems += other.problems


_COUNTS = ("steps", "checked", "left_out", "sessions", "deaths", "after_deaths", "undying", "earlier")


class Sessions:
    """The sessions that were checked to their end. Lines of other runs (`what` differs) are left alone."""

    def __init__(self, path: Path, what: dict[str, Any], *, resumes: bool) -> None:
        self._path, self._what = path, json.loads(json.dumps(what))
        self._done: dict[int, PowerResult] = {}
        if not resumes:
            path.unlink(missing_ok=True)
        elif path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                if entry["what"] == self._what:
                    self._done[entry["session"]] = _result(entry["result"])

    def done(self, number: int) -> PowerResult | None:
        """An earlier run's result for this session."""
        return self._done.get(number)

    def add(self, number: int, result: PowerResult) -> None:
        """Keep it."""
        fields = vars(result) | {"problems": [(asdict(problem), str(path)) for problem, path in result.problems]}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"session": number, "what": self._what, "result": fields}) + "\n")


def _result(fields: dict[str, Any]) -> PowerResult:
    problems = [
        (Problem(**problem | {"events": tuple(problem["events"])}), Path(path)) for problem, path in fields["problems"]
    ]
    lost = Counter({int(calls): images for calls, images in fields["lost"].items()})
    return PowerResult(
        **fields
        | {"problems": problems, "lost": lost, "by_model": Counter(fields["by_model"])}
        | {"earlier": fields["checked"], "sessions": 1}
    )
