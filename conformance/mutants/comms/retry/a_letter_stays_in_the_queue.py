"""A dead letter that was redriven is still a dead letter."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.14",)


class Mutant(CommsBus):
    def redrive(self, id: str) -> dict[str, Any]:
        letter = self.store.db.row("SELECT * FROM dead_letter_queue WHERE id = ?", (id,))
        reply = super().redrive(id)
        if letter is not None:
            self.store.db.write("INSERT INTO dead_letter_queue VALUES (?, ?, ?, ?, ?)", letter)
        return reply


if __name__ == "__main__":
    serve({"comms": Mutant})
