"""Embeddings: the duties of a model, the storage of its vectors, and the cutting of a long message for it."""

from __future__ import annotations

import hashlib
import math
import operator
import re
import sys
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

PASSAGE_CHARS = 1200


class Embedder(Protocol):
    """A local model that turns texts into vectors of length one, the same for the same text."""

    model: str

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """One vector a text, all of one dimension."""


class HashEmbedder:
    """Words and their beginnings, hashed into a few dimensions: no knowledge of any language, and no weights.

    It is for tests and for machines without a model: "migrate" lies near "migration", and nothing more.
    """

    model = "hash-256"
    DIMENSIONS = 256

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """The direction of the sum of the features of each text."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.DIMENSIONS
        for word in re.findall(r"\w+", text.casefold()):
            for feature in {word, word[:4]}:
                digest = hashlib.blake2b(feature.encode(), digest_size=4).digest()
                at = int.from_bytes(digest, "little")
                vector[at % self.DIMENSIONS] += 1.0 if at & 0x8000_0000 else -1.0
        length = math.sqrt(dot(vector, vector))
        return [value / length for value in vector] if length else vector


class StaticEmbedder:
    """A model2vec model: real embeddings at the price of a table look-up. Needs the extra `semantic`.

    It is read from a folder of this machine and never fetched: the bus has no network.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from model2vec import StaticModel
        except ImportError as error:
            raise Unavailable(
                f"{error.name} is missing: pip install './reference[semantic]' in busproof's folder"
            ) from error
        try:
            weights = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
            self._model = StaticModel.from_pretrained(folder, normalize=True, force_download=False)
        except Exception as error:  # whatever the library makes of a strange folder
            raise Unavailable(f"no model can be read from {folder}: {error}") from error
        # Vectors of two models must not meet, even if their folders have one name.
        self.model = f"{folder.name}-{weights[:8]}"

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """The mean of the vectors of each text's tokens, of length one."""
        vectors: list[Sequence[float]] = self._model.encode(list(texts), use_multiprocessing=False).tolist()
        return vectors


class Unavailable(Exception):
    """A model that is asked for cannot be loaded; says why."""


def load(name: str) -> Embedder:
    """`hash-256`, or the folder of a model2vec model. Raises Unavailable."""
    return HashEmbedder() if name == HashEmbedder.model else StaticEmbedder(Path(name).expanduser())


def dot(left: Sequence[float], right: Sequence[float]) -> float:
    """The cosine of vectors of length one."""
    return float(sum(map(operator.mul, left, right)))


def pack(vector: Sequence[float]) -> bytes:
    """Little-endian 32-bit floats."""
    return _swapped(array("f", vector)).tobytes()


def unpack(stored: bytes) -> Sequence[float]:
    """The vector again."""
    vector = array("f")
    vector.frombytes(stored)
    return _swapped(vector)


def split(text: str) -> Iterator[tuple[int, int]]:
    """The passages of a text: at most PASSAGE_CHARS characters each, cut at a paragraph, line or blank if possible."""
    start = 0
    while len(text) - start > PASSAGE_CHARS:
        stop = start + PASSAGE_CHARS
        for gap in ("\n\n", "\n", " "):
            cut = text.rfind(gap, start + PASSAGE_CHARS // 2, stop)
            if cut > 0:
                stop = cut + len(gap)
                break
        yield start, stop
        start = stop
    yield start, len(text)


def _swapped(vector: array[float]) -> array[float]:
    if sys.byteorder == "big":
        vector.byteswap()
    return vector
