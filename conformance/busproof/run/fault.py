"""A finding that ends doctor's examination."""

from __future__ import annotations


class Fault(Exception):
    """A fault of the adapter, and its remedy."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy
