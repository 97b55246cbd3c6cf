"""The corpus: scripts that the search found, which together reach every branch of the model, every edge, every pair.

They are data in `busproof/corpus/SYSTEM`: a script that somebody wrote is a file, `NAME.jsonl`. Long scripts, and the
numbered scripts that the search drew, stand together in `packed.jsonl.xz`, a script a line; `busproof explore SYSTEM
--unpack NAME` makes one a file again, which then comes before the packed script, and `--pack` puts it back.
`busproof check` replays all scripts on any bus: the same calls each time.

`index.json` says which rows each script reaches on the reference, so that one row can be asked for. It is a hint,
written by `busproof explore SYSTEM --index`: a row that its scripts do not reach is looked for in all others.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import itertools
import json
import lzma
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from busproof.bus.fleet import BudgetSpent, Fleet
from busproof.contract import CONTRACTS
from busproof.contract.catalogue import catalogue
from busproof.oracle.models.spec import Model
from busproof.play.explore.before import led_to
from busproof.play.explore.lanes import events_of
from busproof.play.explore.script import MS_WAITED, SECONDS_WAITED, Step, call, load, of_object, to_line
from busproof.play.explore.search import Program, play
from busproof.play.explore.stage import Form, Mismatch, Specification
from busproof.play.ties import tied

FOLDER = Path(__file__).parents[2] / "corpus"
WAITED = (*MS_WAITED, *SECONDS_WAITED)
PLAYED_AGAIN = 3  # a mismatch in a race counts if it comes again
ENOUGH = 8  # scripts in turn that broke no other row than those before; the rest would say the same


INDEXED = 8  # scripts of a row that the index names: as many are played where the row alone is asked for
EACH_BOUND = "each_bound"  # the script that is made of the contract's bounds
PACKED = "packed.jsonl.xz"
PACKED_FROM = 16_000  # bytes; nobody reads a longer script by eye


def names(system: str, folder: Path = FOLDER) -> list[str]:
    """The names of a system's scripts."""
    made = {EACH_BOUND} if CONTRACTS[system].bounds and folder == FOLDER else set[str]()
    return sorted({path.stem for path in (folder / system).glob("*.jsonl")} | made | _packed(folder / system).keys())


def scripts(system: str, folder: Path = FOLDER, *, only: Iterable[str] | None = None) -> dict[str, list[Step]]:
    """Every script of a system, or only these, by name. All of one system take a third of a second to read.

    Raises:
        OSError: there is no script of that name.
    """
    wanted = names(system, folder) if only is None else only
    packed = _packed(folder / system)

    def script(name: str) -> list[Step]:
        if name == EACH_BOUND:
            return each_bound(system)
        path = folder / system / f"{name}.jsonl"
        is_packed = name in packed and not path.exists()
        return [of_object(step) for step in json.loads(packed[name])["steps"]] if is_packed else load(path)

    return {name: script(name) for name in wanted}


def each_bound(system: str) -> list[Step]:
    """Calls with each parameter at every edge of its bound, the others as `doctor` has them. No call waits long."""
    contract = CONTRACTS[system]
    steps = [Step("open", 0, params={"options": {}})]
    for method, good in contract.trials.items():
        for name, bound in contract.bounds_of(method).items():
            values = bound.refused if name in WAITED else (*bound.taken, *bound.free, *bound.refused)
            steps += [call(0, method, **{**good, name: value}) for value in values]
    steps += [call(0, name) for name in ("dump",) if name in contract.trials]
    for number, step in enumerate(steps):
        step.name = str(number)
    return steps


def pack(system: str, folder: Path = FOLDER) -> list[str]:
    """Put the long and the numbered scripts among a system's files into its packed file. Returns their names."""
    paths = [
        path
        for path in sorted((folder / system).glob("*.jsonl"))
        if path.stem.isdigit() or path.stat().st_size >= PACKED_FROM
    ]
    packed = dict(_packed(folder / system))
    for path in paths:
        steps = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
        packed[path.stem] = json.dumps({"name": path.stem, "steps": steps})
    lines = "".join(f"{packed[name]}\n" for name in sorted(packed))
    (folder / system / PACKED).write_bytes(lzma.compress(lines.encode(), preset=9 | lzma.PRESET_EXTREME))
    for path in paths:
        path.unlink()
    _packed.cache_clear()
    return [path.stem for path in paths]


@functools.cache
def _packed(folder: Path) -> dict[str, str]:
    """The packed scripts by name, each as its line."""
    path = folder / PACKED
    lines = lzma.decompress(path.read_bytes()).decode().splitlines() if path.exists() else []
    return {line.split('"', 4)[3]: line for line in lines}


@functools.cache
def index(system: str, folder: Path = FOLDER) -> dict[str, list[str]]:
    """The shortest scripts that reach each row on the reference, the shortest first; empty if there is no index."""
    path = folder / system / "index.json"
    known: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else {}
    return known


def write_index(system: str, programs: dict[str, Program], folder: Path = FOLDER) -> Path:
    """Write down the shortest scripts that reach each row, and what one script alone reaches. Returns the file."""
    shortest_first = sorted(programs, key=lambda name: (programs[name].seen.calls, name))
    items = {name: items_of(programs[name]) for name in shortest_first}
    reached_by = Counter(itertools.chain.from_iterable(items.values()))
    rows = sorted({item[1] for item in reached_by if item[0] == "row"})
    about = {
        "rows": {row: [name for name in shortest_first if ("row", row) in items[name]][:INDEXED] for row in rows},
        "alone": {
            name: sorted(" ".join(item) for item in items[name] if item[0] in _ALONE and reached_by[item] == 1)
            for name in sorted(items)
        },
    }
    path = folder / system / "index.json"
    parts = [f"{json.dumps(part)}: {{\n{_a_line_each(entries)}\n}}" for part, entries in about.items()]
    path.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")
    return path


def _a_line_each(entries: dict[str, list[str]]) -> str:
    """The members of a JSON object, one a line: a change of one script is a change of few lines."""
    return ",\n".join(f"{json.dumps(name)}: {json.dumps(values)}" for name, values in entries.items())


_ALONE = ("row", "edge", "pair")  # kinds of items that the index tells of a script


@dataclass
class Replay:
    """The findings of the corpus on a bus."""

    broken: dict[str, Program] = field(default_factory=dict)  # script → the program that ended in a mismatch
    dialects: dict[str, str] = field(default_factory=dict)
    learnt: dict[str, tuple[str, Program]] = field(default_factory=dict)  # a choice → the script that taught it
    rows: Counter[str] = field(default_factory=Counter)  # reached, and held: in how many scripts
    calls: int = 0
    left_out: Counter[str] = field(default_factory=Counter)  # calls that were not sent, by method
    not_played: int = 0  # scripts, as enough had broken
    undecided: int = 0  # races that could not be judged
    is_cut: bool = False  # the user's time was over


def replay(
    fleet: Fleet, specification: Specification, corpus: dict[str, list[Step]], dialects: dict[str, str] | None = None
) -> Replay:
    """Play every script, the shortest first: they tell soonest, and teach the bus's choices where the seed is silent.

    The choices are learnt on the way (or known), and followed.
    """
    tally = Replay(dialects=dict(dialects or {}))
    rows: set[str] = set()
    unexplained: set[Form] = set()
    in_vain = 0
    for number, (name, steps) in enumerate(sorted(corpus.items(), key=_length), 1):
        try:
            program = play(fleet, specification, steps, tally.dialects, unexplained=unexplained)
            if program.mismatch is not None and not fleet.tied and tied(fleet):
                program = play(fleet, specification, steps, tally.dialects, unexplained=unexplained)
            program = certain(fleet, specification, program, tally.dialects)
            if program.mismatch is not None and tally.learnt:
                program = _revised(fleet, specification, program, steps, tally)
        except BudgetSpent:
            tally.is_cut = True
            break
        tally.learnt |= dict.fromkeys(program.learnt, (name, program))
        tally.calls += program.seen.calls
        tally.left_out += program.seen.left_out
        tally.undecided += program.seen.undecided
        tally.rows.update(program.seen.rows)
        if program.mismatch is not None:
            tally.broken[name] = program
            in_vain = in_vain + 1 if rows.issuperset(program.mismatch.rows) else 0
            rows.update(program.mismatch.rows)
            if not program.mismatch.contradicts:
                unexplained.add(program.mismatch.form)
        if in_vain >= ENOUGH:
            tally.not_played = len(corpus) - number
            break
    return tally


def _length(script: tuple[str, list[Step]]) -> int:
    return sum(1 + step.times * len(step.calls) for step in script[1])


def _revised(fleet: Fleet, specification: Specification, program: Program, steps: list[Step], tally: Replay) -> Program:
    """Does it contradict a choice that another script taught?

    Then other choices may explain both, and are followed from now on. Or the bus has no dialect, but two minds, and the
    excused mismatch counts. One that does not come again was only a stumble, and says nothing of its choices.
    """
    assert program.mismatch is not None
    name, learnt = program.mismatch.contradicts, tally.learnt
    if name not in learnt or _far(play(fleet, specification, steps, dict(tally.dialects))) > _far(program):
        return program
    script, excused = learnt.pop(name)
    others = {other: option for other, option in tally.dialects.items() if other != name}
    again = play(fleet, specification, steps, others)
    is_farther = _far(again) > _far(program)
    once_more = play(fleet, specification, excused.steps, others)
    if is_farther and _far(once_more) >= _far(excused):
        tally.dialects = others
        learnt |= dict.fromkeys(once_more.learnt, (script, once_more))  # perhaps the same choice
        return again
    del tally.dialects[name]
    excused.mismatch = excused.learnt.pop(name).belied_by(program.mismatch, specification.model.ISOLATED)
    tally.broken[script] = excused
    return again if is_farther else program


def _far(program: Program) -> tuple[int, bool]:
    """How far a program came: its steps, and whether the last one went well."""
    return len(program.steps), program.mismatch is None


def certain(
    fleet: Fleet, specification: Specification, program: Program, dialects: dict[str, str] | None = None
) -> Program:
    """The program; if a race of it went wrong, it is played again, until it goes wrong again or always went well."""
    if program.mismatch is None or not program.mismatch.is_of_a_race:
        return program
    steps = program.steps
    for _ in range(PLAYED_AGAIN):
        program = play(fleet, specification, steps, dialects)
        if program.mismatch is not None:
            break
    return program


@dataclass(frozen=True)
class Broken:
    """Why a row is broken: both answers, and how to see them again."""

    why: str
    cause: str = ""  # the difference without its values
    steps: int = 0  # of the script
    held: int = 0  # in how many scripts the row held, before or without the difference
    events: tuple[dict[str, Any], ...] = ()  # the last calls, to be drawn


def broken_rows(system: str, tally: Replay, bus: str = "") -> dict[str, Broken]:
    """Each row that a script broke, by the shortest that did, or that is a dialect."""
    rows = catalogue(system)
    broken: dict[str, Broken] = {}
    for name, option in tally.dialects.items():
        if (row := name.partition(":")[0]) in rows:
            why, events = f"the bus chose otherwise: {name}: {option}", tuple[dict[str, Any], ...]()
            if name in tally.learnt:
                script, program = tally.learnt[name]
                why += f"\n{_seen_again(system, script, program, program.learnt[name], bus)}"
                events = events_of(program, program.learnt[name])
            broken[row] = Broken(why, events=events)
    for script, program in sorted(tally.broken.items(), key=lambda pair: len(pair[1].steps)):
        mismatch = program.mismatch
        assert mismatch is not None
        why, events = _seen_again(system, script, program, mismatch, bus), events_of(program, mismatch)
        for row in mismatch.rows:
            if row in rows and row not in broken:
                broken[row] = Broken(why, mismatch.cause, len(program.steps), tally.rows[row], events)
    return broken


def _seen_again(system: str, script: str, program: Program, mismatch: Mismatch, bus: str) -> str:
    """Both answers, the steps before, and how to see them again."""
    again = f"busproof explore {system} --script {shlex.quote(script)}" + (f" --bus {shlex.quote(bus)}" if bus else "")
    lines = [mismatch.told(), *led_to(program, mismatch)]
    # It contradicts the answers to other scripts of the corpus, so it is no choice of the bus; alone it would be one.
    where = f"script {script}, beside others," if mismatch.contradicts else f"script {script}"
    return "\n".join([*lines, f"{where} of the corpus; play it again: {again}"])


# -- coverage


@dataclass
class Reached:
    """The reach of scripts in a specification: branches of the model, edges, pairs of calls on one thing, rows."""

    arcs: dict[str, set[tuple[Any, ...]]]  # script → branches: file, from line, to line
    missing: list[str]
    arcs_all: int
    edges: set[str]
    pairs: set[tuple[str, ...]]
    meetings: set[tuple[str, ...]]
    recalls: set[tuple[str, ...]]
    rows: set[str]
    tags: dict[str, set[tuple[str, ...]]]  # script → edges, pairs and rows as one
    undecided: int = 0  # races of more orders than can be tried


def cited(specification: Specification | None) -> set[str]:
    """The rows that a system's model names, or a bound: the corpus may fail them, no matter what else decides them."""
    if specification is None:
        return set()
    own = (Path(__file__).parents[2] / "oracle" / "models").glob(f"{specification.system}*.py")  # their parts, too
    texts = [path.read_text(encoding="utf-8") for path in own]
    bounds = CONTRACTS[specification.system].bounds
    texts += [f'"{row}"' for bound in bounds for row in (bound.row, bound.cap, bound.row_of_true)]
    return {row for text in texts for row in re.findall(rf'"({specification.system}\.\w+\.\d+)"', text)}


def files_of(specification: Specification) -> list[str]:
    """The model's own files, without the base of all models."""
    classes = [base for base in specification.model.__mro__ if base.__module__.startswith("busproof.oracle.models.")]
    return [str(inspect.getsourcefile(base)) for base in classes if base is not Model]


def digest(specification: Specification, folder: Path = FOLDER) -> str:
    """A digest of the model's files and the scripts: figures with another digest are out of date."""
    hasher = hashlib.sha256()
    for name in sorted(files_of(specification)):
        hasher.update(Path(name).read_bytes())
    for name, steps in scripts(specification.system, folder).items():
        hasher.update("\n".join([name, *map(to_line, steps)]).encode())
    return hasher.hexdigest()[:16]


@contextlib.contextmanager
def _measured(specification: Specification) -> Iterator[Any]:
    from coverage import Coverage

    cover = Coverage(data_file=None, branch=True, include=files_of(specification), config_file=False)
    # Only a bus that chose otherwise than the reference reaches the other side of these.
    cover.exclude(r"self\.choice\(|# .*on another bus", which="partial")
    cover.start()
    try:
        yield cover
    finally:
        cover.stop()


Play = Callable[[], Program]


def reached(specification: Specification, programs: Iterable[tuple[str, Play]]) -> Reached:
    """Play scripts (programs are taken as they were played) under a coverage tool, and say what they reach."""
    reach = Reached({}, [], 0, set(), set(), set(), set(), set(), {})
    with _measured(specification) as cover:
        for name, playing in programs:
            cover.switch_context(name)
            program = playing()
            reach.tags[name] = items_of(program)
            reach.edges |= program.seen.tags
            reach.pairs |= program.seen.pairs
            reach.meetings |= program.seen.meetings
            reach.recalls |= program.seen.recalls
            reach.undecided += program.seen.undecided
            reach.rows |= program.seen.rows
        cover.switch_context("")
    data = cover.get_data()
    for name in reach.tags:
        data.set_query_context(name)
        reach.arcs[name] = {(file, *arc) for file in files_of(specification) for arc in data.arcs(file) or ()}
    data.set_query_contexts(None)
    with tempfile.TemporaryDirectory() as folder:
        cover.json_report(outfile=f"{folder}/coverage.json")
        files = json.loads(Path(folder, "coverage.json").read_text(encoding="utf-8"))["files"]
    for name, summary in files.items():
        reach.missing += [f"{Path(name).name}:{start}→{end}" for start, end in summary["missing_branches"]]
        reach.arcs_all += summary["summary"]["num_branches"]
    return reach


def items_of(program: Program) -> set[tuple[str, ...]]:
    """The items that a program reached, except branches."""
    seen = program.seen
    return (
        {("edge", tag) for tag in seen.tags}
        | {("row", row) for row in seen.rows}
        | {("pair", *pair) for pair in seen.pairs}
        | {("meeting", *meeting) for meeting in seen.meetings}
        | {("recall", *recall) for recall in seen.recalls}
    )


def pairs_possible(specification: Specification) -> set[tuple[str, str]]:
    """Every method after every other, on one store."""
    methods = specification.methods
    return set(itertools.product(methods, methods))


def pairs_reached(pairs: Iterable[tuple[str, ...]]) -> set[tuple[str, str]]:
    """Pairs of methods, with any tally."""
    return {(before.partition(":")[0], after.partition(":")[0]) for kind, before, after in pairs if kind == "store"}


def chosen(reach: Reached, kept: Collection[str] = (), at_most: int | None = None) -> list[str]:
    """A small set of scripts that, with those kept, reaches as much as all: each covers the most of the rest."""
    wants = {name: {("arc", *map(str, arc)) for arc in reach.arcs[name]} | reach.tags[name] for name in reach.arcs}
    picked: list[str] = []
    left = set().union(*wants.values()) - set().union(*(wants.pop(name) for name in kept))
    while left and wants and (at_most is None or len(picked) < at_most):
        name = max(wants, key=lambda script: len(wants[script] & left))
        if not wants[name] & left:
            break
        picked.append(name)
        left -= wants.pop(name)
    return picked
