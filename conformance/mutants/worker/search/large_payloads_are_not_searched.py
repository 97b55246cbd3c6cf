"""Words of a payload in a blob are not found."""

from __future__ import annotations

from typing import Any

from refbus.driver import serve
from refbus.worker import bus, search

KILLED_BY = ("worker.search.07",)


class Faulty(search.Search):
    def words(self, text: Any, ref: Any) -> str:
        return super().words(text, None)


bus.Search = Faulty


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
