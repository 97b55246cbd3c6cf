"""Power cuts: every disk that may be left when the power goes at some step of a tape.

A tape is split into atoms: a name that appears or goes, a size, one block of data. All that was synced before the cut
is there; a model says how much of the rest may be there:

    lazy   nothing of the data that was not synced, all names (as LazyFS does)
    ext4   names and sizes in the order of the journal, up to some point; any subset of the blocks of data
    weak   POSIX: any subset of everything. Only this one misses a folder that was not synced

A write reaches the disk in blocks of 512 or of 4,096 bytes, so torn writes are among the images. Real ext4 and XFS,
cut while a process was held, left images of these sets in 652 of 652 cases (facts of the prototypes).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from buschaos.tape.image import Disk, Image, Tree, change, is_derived
from buschaos.tape.step import EVERYTHING, Step

Model = Literal["lazy", "ext4", "weak"]
How = Literal["none", "all", "without file", "without", "prefix", "only", "random"]
MODELS: tuple[Model, ...] = ("lazy", "ext4", "weak")
BLOCKS = (4096, 512)
TIERS = (1, 2, 3, 4, 5)
RANDOM_SUBSETS = 6
CONTENTS = 256  # contents of files that are remembered: most images differ from the last one in a single file


@dataclass(frozen=True)
class Atom:
    """A change that reaches the disk whole or not at all. `file`: its number; names of folders and links have none."""

    at: int  # the place of its step in the tape
    kind: Literal["name", "size", "data"]
    step: Step
    file: int | None


class Cut(NamedTuple):
    """One image: the tape up to `at`, and which of its unsynced atoms are there, as a recipe that is cheap to keep."""

    at: int
    model: Model
    block: int
    names: int  # how many of the unsynced names and sizes are there: ext4's journal
    how: How
    which: int = 0

    def __str__(self) -> str:
        which = f" {self.which}" if self.how not in ("none", "all") else ""
        return f"power cut after step {self.at}, {self.model} {self.block}, {self.names} names, {self.how}{which}"


class PowerCuts:
    """All cuts of one tape, for one size of blocks."""

    def __init__(self, base: Image, tape: list[Step], block: int) -> None:
        self._base, self._block = base, block
        self._files = len(base.files)
        self._synced: list[tuple[int, int | str]] = []  # (place, file number or folder or EVERYTHING)
        self._names = {path: number for number, path in enumerate(base.files)}
        self._sizes = {number: len(data) for number, data in enumerate(base.files.values())}
        self._parted: dict[tuple[int, Model], tuple[list[int], list[int]]] = {}
        self._atoms = [atom for at, step in enumerate(tape) for atom in self._split(at, step)]
        # Sets of atoms are bits of a number: each question about one is asked again for thousands of images.
        self._before = [_bits(n for n, atom in enumerate(self._atoms) if atom.at < at) for at in range(len(tape) + 1)]
        self._names_of_all = _bits(n for n, atom in enumerate(self._atoms) if atom.kind == "name")
        self._data_of = [0] * self._files
        self._ends: dict[int, int] = {}  # of each size that a write needs, the last of its data
        size = None
        for number, atom in enumerate(self._atoms):
            if atom.kind != "name" and atom.file is not None:
                self._data_of[atom.file] |= 1 << number
            if atom.kind == "size" and atom.step.kind == "write":
                size = number
            elif atom.kind == "data" and size is not None and self._atoms[size].at == atom.at:
                self._ends[size] = number
        self._tree = lru_cache(maxsize=CONTENTS)(self._make_tree)
        self._content = lru_cache(maxsize=CONTENTS)(self._make_content)

    # -- from steps to atoms

    def _split(self, at: int, step: Step) -> Iterator[Atom]:
        names = self._names
        if is_derived(step.path):
            return
        match step.kind:
            case "sync":
                self._synced.append((at, names.get(step.path, step.path)))
            case "write" | "cut" if step.path in names:
                yield from self._data(at, step, names[step.path])
            case "create" if step.path not in names:
                names[step.path] = self._files
                self._sizes[self._files] = 0
                self._files += 1
                yield Atom(at, "name", step, names[step.path])
            case "rename" if step.source in names and names[step.source] != names.get(step.path):
                names[step.path] = names.pop(step.source)
                yield Atom(at, "name", step, names[step.path])
            case "link" if step.source in names:
                names[step.path] = names[step.source]
                yield Atom(at, "name", step, names[step.path])
            case "unlink":
                names.pop(step.path, None)
                yield Atom(at, "name", step, None)
            case "mkdir" | "rmdir" | "symlink" | "rename":
                yield Atom(at, "name", step, None)
            case _:
                pass

    def _data(self, at: int, step: Step, file: int) -> Iterator[Atom]:
        if step.kind == "cut":
            self._sizes[file] = step.offset
            yield Atom(at, "size", step, file)
            return
        end = step.offset + len(step.data)
        if end > self._sizes[file]:
            self._sizes[file] = end
            yield Atom(at, "size", replace(step, offset=end, data=b""), file)
        start = 0
        while start < len(step.data):
            length = self._block - (step.offset + start) % self._block
            yield Atom(
                at, "data", replace(step, offset=step.offset + start, data=step.data[start : start + length]), file
            )
            start += length

    # -- the synced part

    def _unsynced(self, at: int, model: Model) -> tuple[list[int], list[int]]:
        """The atoms before a cut that may be missing, by their places: those that go in order, those that go freely."""
        if (at, model) not in self._parted:
            syncs = {what: place for place, what in self._synced if place < at}
            any_sync = max(syncs.values(), default=-1)
            parted: tuple[list[int], list[int]] = [], []
            for number, atom in enumerate(self._atoms):
                if atom.at < at and not _is_durable(atom, syncs, any_sync, model):
                    parted[model != "ext4" or atom.kind == "data"].append(number)
            self._parted[at, model] = parted
        return self._parted[at, model]

    # -- recipes, and the disks that they make

    def cuts(self, at: int, model: Model, tier: int) -> Iterator[Cut]:
        """Recipes of a tier: 1 those that break most, 2 the same with a shorter journal, to 5 those left to chance."""
        ordered, free = self._unsynced(at, model)
        if not ordered and not free:
            return
        *earlier, latest = _spread(len(ordered))
        for names in [latest] if tier == 1 else earlier if tier == 2 else [*earlier, latest]:
            yield from (Cut(at, model, self._block, names, *way) for way in self._ways(free, model, tier))

    def _ways(self, free: list[int], model: Model, tier: int) -> Iterator[tuple[How, int]]:
        """How the free atoms fare: all, none, a file's, or each single one."""
        atoms = self._atoms
        if tier <= 2:
            yield "none", 0
            if model != "lazy":
                yield "all", 0
                yield from (("without", n) for n, number in enumerate(free) if atoms[number].kind == "name")
                files = {atoms[n].file or 0 for n in free if atoms[n].kind != "name"}
                yield from (("without file", file) for file in sorted(files))
        elif model == "lazy":
            return
        elif tier == 3:
            yield from (("prefix", n) for n in range(1, len(free)))
        elif tier == 4:
            singles = [n for n, number in enumerate(free) if atoms[number].kind != "name"]
            yield from (("without", n) for n in singles)
            yield from (("only", n) for n in singles)
        elif len(free) > 2:
            yield from (("random", n) for n in range(RANDOM_SUBSETS))

    def image(self, cut: Cut) -> Image:
        """The disk that this cut leaves."""
        return self.make(self.kept(cut))

    def kept(self, cut: Cut) -> int:
        """The atoms that are there after this cut. Other cuts may leave the same."""
        ordered, free = self._unsynced(cut.at, cut.model)
        gone = {*ordered[cut.names :], *self._missing(cut, free)}
        # If the last data of a write is there, so is its size.
        return self._before[cut.at] & ~_bits(n for n in gone if self._ends.get(n, n) in gone)

    def _missing(self, cut: Cut, free: list[int]) -> list[int]:
        match cut.how:
            case "none":
                return free
            case "prefix":
                return free[cut.which :]
            case "without":
                return [free[cut.which]]
            case "only":
                return [n for n in free if n != free[cut.which]]
            case "without file":
                return [n for n in free if self._atoms[n].kind != "name" and self._atoms[n].file == cut.which]
            case "random":
                dice = random.Random(str(cut))
                share = dice.random()
                return [n for n in free if dice.random() > share]
            case _:
                return []

    def after_failed_sync(self, place: int) -> Image:
        """The disk when the sync at this place failed, and the system dropped the unwritten data: fsyncgate."""
        failed = next((what for at, what in self._synced if at == place), None)
        earlier = [at for at, what in self._synced if what == failed and at < place]
        since = max(earlier, default=-1)
        gone = _bits(
            n
            for n, atom in enumerate(self._atoms)
            if atom.kind == "data" and atom.file == failed and since < atom.at < place
        )
        return self.make(self._before[-1] & ~gone)

    def make(self, kept: int) -> Image:
        """The disk with these atoms."""
        base, tree = self._base, self._tree(kept & self._names_of_all)
        files = {path: self._content(number, kept & self._data_of[number]) for path, number in tree.names.items()}
        times = {path: time for path, time in base.times.items() if files.get(path) == base.files[path]}
        return Image(files, tree.folders, tree.links, base.modes, times)

    def _make_tree(self, kept: int) -> Tree:
        disk = Disk(self._base)
        for _ in range(self._files - len(self._base.files)):
            disk.new_file()
        for number in _places(kept):
            _name(disk, self._atoms[number])
        return disk.tree()

    def _make_content(self, file: int, kept: int) -> bytes:
        known = list(self._base.files.values())
        data = bytearray(known[file] if file < len(known) else b"")
        for number in _places(kept):
            change(data, self._atoms[number].step)
        return bytes(data)


def _bits(places: Iterable[int]) -> int:
    kept = 0
    for place in places:
        kept |= 1 << place
    return kept


def _places(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _is_durable(atom: Atom, syncs: dict[int | str, int], any_sync: int, model: Model) -> bool:
    """Was it synced before the cut? `syncs`: the last one of each file and folder; `any_sync`: of anything."""
    if atom.step.is_synced or atom.at < syncs.get(EVERYTHING, -1):
        return True
    if atom.kind == "name":
        if model == "weak":
            return atom.at < syncs.get(_folder(atom.step.path), -1)
        return model == "lazy" or atom.at < any_sync
    if (
        atom.kind == "size"
        and atom.step.kind == "cut"
        and (model == "lazy" or (model == "ext4" and atom.at < any_sync))
    ):
        return True  # a truncation is the journal's
    return atom.file is not None and atom.at < syncs.get(atom.file, -1)


def _name(disk: Disk, atom: Atom) -> None:
    if atom.file is None:
        disk.play([atom.step])
        return
    if atom.step.kind == "rename":
        disk.names.pop(atom.step.source, None)
    disk.names[atom.step.path] = atom.file


def _folder(path: str) -> str:
    return str(PurePosixPath(path).parent)


def _spread(count: int) -> list[int]:
    """Up to six numbers from 0 to count: the ends, their neighbours, and two between."""
    return sorted({0, min(1, count), count // 3, 2 * count // 3, max(0, count - 1), count})
