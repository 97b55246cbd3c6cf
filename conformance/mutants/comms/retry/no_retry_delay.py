"""What failed is due again at once."""

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.03", "comms.retry.06")


class Mutant(CommsBus):
    def _jitter(self) -> float:
        return 0.0


if __name__ == "__main__":
    serve({"comms": Mutant})
