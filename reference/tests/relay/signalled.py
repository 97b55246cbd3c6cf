"""`python signalled.py FOLDER FIRST LAST`: end a service by a signal at each of these places, counted in bytecodes.

A place that the service does not come back from ends this process with exit code 1, and its number on standard error.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from refbus.kernel import stop
from refbus.relay import service
from refbus.relay.bus import RelayBus

PATIENCE_S = 20
TRACED = {service.__file__, stop.__file__, threading.__file__}


class SignalAt:
    """A tracer that raises SIGTERM at one bytecode of the loop's own files."""

    def __init__(self, place: int) -> None:
        self.left = place

    def __call__(self, frame: FrameType, event: str, _arg: Any) -> SignalAt | None:
        if event == "call":
            frame.f_trace_opcodes = frame.f_code.co_filename in TRACED
            return self if frame.f_trace_opcodes else None
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                signal.raise_signal(signal.SIGTERM)
        return self


def stuck(place: int) -> None:
    print(f"a signal at place {place} of the loop was never heeded", file=sys.stderr, flush=True)
    os._exit(1)


def main(folder: Path, first: int, last: int) -> None:
    (folder / "config.json").write_text('{"scan_interval_ms": 1}', encoding="utf-8")
    with RelayBus(folder) as bus:
        for place in range(first, last):
            loop = service.Service(bus, watch=False)
            signal.signal(signal.SIGTERM, lambda *_, loop=loop: loop.stop())
            watchdog = threading.Timer(PATIENCE_S, stuck, [place])
            watchdog.start()
            sys.settrace(SignalAt(place))
            loop.run()
            sys.settrace(None)
            watchdog.cancel()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
