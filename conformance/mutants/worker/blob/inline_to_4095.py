"""4096 bytes already go to a blob."""

from refbus.driver import serve
from refbus.kernel.rules import limit
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.02",)


limit.is_inline = lambda stored: len(stored) < 4096


class Mutant(WorkerBus):
    """The reference, on the changed rule, of which it declares nothing."""

    LIMITS = {name: most for name, most in WorkerBus.LIMITS.items() if "inline" not in name}  # noqa: RUF012


if __name__ == "__main__":
    serve({"worker": Mutant})
