"""The acts that were played to their end, a JSON line for each: a run that was stopped goes on with the others."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from buschaos.acts.base import Findings, Shared
from buschaos.bus import RunFailed
from buschaos.state import Problem
from busproof.words import reason

FILE = "acts.jsonl"


class Finished:
    """Of one run: the same bus, seed and settings. `own` are the settings of each act that is asked for."""

    def __init__(self, shared: Shared, own: dict[str, Any]) -> None:
        self._path = shared.out / FILE
        operations = None if shared.operations is None else [operation.name for operation in shared.operations]
        run = [shared.specs, shared.system, shared.seed, operations, str(shared.at), shared.time.is_sample]
        settings = {name: asdict(words) | {"resumes": None} for name, words in own.items()}
        self._seed = shared.seed
        self._what = {name: json.loads(json.dumps([run, words], default=_named)) for name, words in settings.items()}

    def begin(self, *, resumes: bool) -> dict[str, Findings]:
        """The findings of the acts that need not be played again. Raises RunFailed on a file that nobody can read."""
        if not (resumes and self._path.exists()):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps({"seed": self._seed}) + "\n", encoding="utf-8")
            return {}
        # A last line without its end is of an act whose run was killed just then: it is played again.
        whole, end, _ = self._path.read_text(encoding="utf-8").rpartition("\n")
        self._path.write_text(whole + end, encoding="utf-8")
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            return {
                name: _findings(line["findings"])
                for line in lines[1:]
                if (name := line["findings"]["name"]) in self._what and line["what"] == self._what[name]
            }
        except (ValueError, TypeError, KeyError) as error:
            raise RunFailed(f"{self._path} is not what a run wrote: {reason(error)}") from error

    def add(self, findings: Findings) -> None:
        """Keep an act that was played to its end."""
        if findings.cut_short or findings.could_not_run:
            return
        members = {name: value for name, value in vars(findings).items() if name != "progress"}
        members["problems"] = [(asdict(problem), str(path)) for problem, path in findings.problems]
        members["nouns"] = None if findings.nouns is None else sorted(findings.nouns)
        line = json.dumps({"what": self._what[findings.name], "findings": members})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def seed_of(out: Path) -> int | None:
    """The seed of the run in this folder; None: no run told it."""
    try:
        first, *_ = (out / FILE).read_text(encoding="utf-8").splitlines()
        return int(json.loads(first)["seed"])
    except (OSError, ValueError, TypeError, LookupError):
        return None


def _named(value: Any) -> str:
    return str(getattr(value, "__qualname__", value))


def _findings(members: dict[str, Any]) -> Findings:
    shown = [
        (Problem(**problem | {"events": tuple(problem["events"])}), Path(path)) for problem, path in members["problems"]
    ]
    counts = {name: Counter(members[name]) for name in ("counts", "left_out", "spared")}
    nouns = None if members["nouns"] is None else frozenset(members["nouns"])
    return Findings(**members | counts | {"problems": shown, "nouns": nouns})
