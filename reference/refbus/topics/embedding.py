"""Embeddings: what a model must offer, how its vectors are stored, and how a long message is cut for it."""

from __future__ import annotations

import hashlib
import math
import operator
import re
import sys
from array import array
from collections.abc import Iterator, Sequence
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
