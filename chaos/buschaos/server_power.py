"""Power loss under a server: what a bus on NATS answered is there when the power goes under the server.

The server runs under the supervisor, which records all that it does to its files, while a client plays all operations.
A cut of that tape is a disk; a new server takes it over, and a process of the bus that was not there reads it. The
server syncs before it acknowledges (`SYNCS`), so the level is power-loss: all that was answered is there.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from buschaos import reading
from buschaos.inspector import Inspector
from buschaos.limits import Time
from buschaos.nemeses.syscalls import Continue, Watch, WatchedChild
from buschaos.operations import LATER_MS, of_one_session, tell_time
from buschaos.recording import Mark, Played
from buschaos.sessions import PowerResult
from buschaos.state import Evidence, Problem
from buschaos.subjects import SUBJECTS
from buschaos.tape import image
from buschaos.tape.cuts import BLOCKS, Cut, Model, PowerCuts
from buschaos.tape.image import Image
from busproof.bus.base import DoorError, Refused
from busproof.bus.fleet import Fleet
from busproof.bus.nats import NatsServer
from busproof.bus.scratch import ROOM_OF_FEW_BYTES, scratch
from busproof.bus.session import Session
from busproof.contract.common import T0_MS
from busproof.contract.history import Recorder, read

IMAGES = 60  # to start a server and a bus costs a second
SYNCS = "jetstream { sync_interval: always }\n"  # the default syncs every two minutes, and acknowledges before
# A NATS server syncs no folder: where a file system promises POSIX and no more, whole streams may be missing.
MODELS: tuple[Model, ...] = ("lazy", "ext4")
JETSTREAM = "jetstream"  # the folder of the streams; beside it are a log, and the number of the port


class WatchedServer(NatsServer):
    """A server whose every change to its files is seen."""

    def _launch(self, command: list[str]) -> None:
        self.child = WatchedChild(command)

    def _end(self, word: bytes) -> None:
        self.child.kill()


class ServerPower:
    """Records one session of a fleet's first bus, and checks cuts of its server's disk."""

    def __init__(
        self,
        fleet: Fleet,
        out: Path,
        *,
        images: int = 0,
        seed: int = 0,
        limit: Time | None = None,
        tell: Callable[[list[tuple[Problem, Path]]], None] = lambda _: None,
        config: str = SYNCS,
    ) -> None:
        self._fleet, self._out, self._seed, self._tell, self._config = fleet, out, seed, tell, config
        self._images = images or IMAGES
        self._subject, self._limit = SUBJECTS[fleet.system], limit or Time()
        self.result = PowerResult("power-loss", sessions=1)
        self.result.spared = max(0, IMAGES - self._images) if self._limit.is_sample else 0

    def run(self) -> PowerResult:
        """Record, cut, judge."""
        result, began = self.result, time.monotonic()
        with (
            scratch("power", room_bytes=ROOM_OF_FEW_BYTES) as work,
            contextlib.closing(Inspector(self._fleet.system)) as inspector,
        ):
            played = self._recorded(work)
            result.doubt, result.steps = played.doubt, len(played.tape)
            cutter = PowerCuts(played.base, played.tape, BLOCKS[0])
            for cut, disk in itertools.islice([] if result.doubt else self._disks(cutter, played), self._images):
                if self._limit.is_over:
                    result.left_out = self._images - result.checked
                    break
                problems = self._look(cut, disk, played, work / f"cut-{result.checked}", inspector)
                kept = self._out / "power" / f"cut-{result.checked}"
                result.checked += 1
                result.by_model[cut.model] += 1
                result.seconds = time.monotonic() - began
                if problems:
                    kept.mkdir(parents=True)
                    (kept / "history.jsonl").write_bytes((work / "session.jsonl").read_bytes())
                shown = [(problem, kept / "history.jsonl") for problem in problems]
                result.problems += shown
                self._tell(shown)
        result.seconds = time.monotonic() - began
        return result

    def _recorded(self, work: Path) -> Played:
        store, prepared_by, part = work / "store", work / "prepared.jsonl", work / "session.jsonl"
        store.mkdir()
        with contextlib.closing(WatchedServer(self._config)) as server:
            server.put_under(store)
            folder = server.folder / JETSTREAM
            folder.mkdir(exist_ok=True)
            base = image.of(folder)
            with server.child.watched(folder, lambda _: Continue(), records=True) as watch:
                prepared = self._subject.fill_store(self._fleet, store, prepared_by)
                marks = list(self._marks(store, prepared, watch, (prepared_by, part)))
                mapped = server.child.mapped(folder)
                server.child.kill()
            missed = image.difference(image.replay(base, watch.tape), image.of(folder))
        doubt = f"{', '.join(mapped or missed)}: changed by something that was not seen" if mapped or missed else ""
        return Played(base, watch.tape, marks, doubt)

    def _marks(self, store: Path, prepared: object, watch: Watch, parts: tuple[Path, Path]) -> Iterator[Mark]:
        """One call of each operation, each with the place in the tape at which its answer was there."""
        door = self._fleet.door(0, store, {})
        with contextlib.closing(Recorder(parts[1], run="points", system=self._fleet.system)) as recorder:
            session = Session(door, recorder, process=2, agent="alice")
            tell_time(session, self._fleet.hello, T0_MS + LATER_MS)
            for operation in (None, *of_one_session(self._subject.repertoire.operations, self._fleet.hello)):
                if operation is not None:
                    with contextlib.suppress(Refused):  # another operation may have taken its place away
                        session.call(operation.method, **operation.params(prepared))
                events = (event for path in parts for event in read(path))
                promises = self._subject.truth.promises(events)
                name, noun = ("prepare", "log") if operation is None else (operation.name, operation.noun)
                yield Mark(name, noun, len(watch.tape), promises)
        self._fleet.give_back(door, retired=True)

    def _disks(self, cutter: PowerCuts, played: Played) -> Iterator[tuple[Cut, Image]]:
        """Each disk once: those that lack most where an answer was there, then all others as the seed draws them."""
        answers = {mark.answered_at for mark in played.marks}
        cuts = [
            cut
            for at in range(min(answers), len(played.tape) + 1)
            for model in MODELS
            for tier in (1, 2)
            for cut in cutter.cuts(at, model, tier)
        ]
        random.Random(f"server power {self._seed}").shuffle(cuts)
        cuts.sort(key=lambda cut: not (cut.at in answers and (cut.model, cut.how) == ("lazy", "none")))
        seen: set[tuple[bytes, int]] = set()
        for cut in cuts:
            disk = cutter.image(cut)
            known = disk.digest(), sum(mark.answered_at <= cut.at for mark in played.marks)
            if known not in seen:
                seen.add(known)
                yield cut, disk

    def _look(self, cut: Cut, left: Image, played: Played, work: Path, inspector: Inspector) -> list[Problem]:
        store, disk = work / "store", work / "server"
        store.mkdir(parents=True)
        disk.mkdir()
        left.put(disk / JETSTREAM)
        promises = [mark.promises for mark in played.marks if mark.answered_at <= cut.at][-1]
        again = f"--power {self._images} --seed {self._seed}"
        try:
            with contextlib.closing(NatsServer(self._config, disk)) as server:
                server.put_under(store)
                dump = self._dump(store, work / "look.jsonl")
            problems = self._subject.truth.problems(Evidence(dump, inspector.look(store), promises))
        except DoorError as error:
            problems = [Problem("log", f"after a power cut of the server the store cannot be used: {error}")]
        return [Problem(problem.noun, problem.why, point=str(cut), again=again) for problem in problems]

    def _dump(self, store: Path, part: Path) -> dict[str, object]:
        door = self._fleet.door(0, store, {})
        try:
            with contextlib.closing(Recorder(part, run="points", system=self._fleet.system)) as recorder:
                session = Session(door, recorder, process=3, agent="kit")
                tell_time(session, self._fleet.hello, T0_MS + LATER_MS)
                return reading.dump(session, store, self._fleet, self._subject)
        finally:
            self._fleet.give_back(door, retired=True)
