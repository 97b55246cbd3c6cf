"""An orchestrator that runs by itself: passes when something was written, and every quarter of a second anyway.

The watch only shortens the wait. Where it is missing, blind or late, the next pass finds what there is.

Logs are structured (7.3, 7.5): one JSON object a line, to standard error or to a file that rotates.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path

from refbus.kernel.errors import BusError
from refbus.kernel.stop import Stop
from refbus.relay import config, tree
from refbus.relay.bus import RelayBus
from refbus.relay.names import SUFFIX

log = logging.getLogger("refbus.relay.service")
GAP_S = 0.01  # between passes, however much is written
_STEP_MS, _DEBOUNCE_MS = 5, 20
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Service:
    """The loop around `RelayBus.scan`."""

    def __init__(self, bus: RelayBus, *, watch: bool = True) -> None:
        self._bus, self._watch = bus, watch
        self._stop = Stop()
        self._last_good = time.monotonic()
        self._config_ns = config.changed_ns(bus.store.root / tree.CONFIG)

    def run(self) -> None:
        """Until `stop`."""
        watcher = threading.Thread(target=self._look_out, name="watch", daemon=True) if self._watch else None
        if watcher is not None:
            watcher.start()
        log.info("started", extra={"root": str(self._bus.store.root)})
        if self._bus.store.config.lead is None:
            log.warning(
                "no_lead", extra={"hint": "messages to Lead fail until: refbus relay init --lead NAME; restart"}
            )
        self._stop.repeat(self._pass, _tell)
        log.info("stopped")
        if watcher is not None:
            watcher.join(timeout=5)

    def _pass(self) -> None:
        self._stop.hush()
        self._notice_config()
        self._bus.scan()
        self._last_good = time.monotonic()
        self._rest()

    def stop(self) -> None:
        """End after the pass that is under way. A signal handler may call it."""
        self._stop.set()

    def health(self) -> tuple[bool, float]:
        """Is it well, and how many seconds ago was the last good pass?"""
        age_s = time.monotonic() - self._last_good
        return age_s < max(10.0, 40 * self._bus.store.config.scan_interval_ms / 1000), age_s

    def _notice_config(self) -> None:
        """Say once of each change of config.json that it is for the next orchestrator."""
        mtime_ns = config.changed_ns(self._bus.store.root / tree.CONFIG)
        if mtime_ns != self._config_ns:
            self._config_ns = mtime_ns
            log.warning("config_changed", extra={"hint": "it is read by the next start of the orchestrator"})

    def _rest(self) -> None:
        """Until a file that is known has settled; else until the next one comes, or the interval is over."""
        interval_s = max(GAP_S, self._bus.store.config.scan_interval_ms / 1000)
        waits_ms = self._bus.scanner.next_ms
        if waits_ms is not None and waits_ms / 1000 < interval_s:
            self._stop.pause(max(GAP_S, waits_ms / 1000))
        else:
            self._stop.wait(interval_s)

    def _look_out(self) -> None:
        """Wake the loop when a message file appears in an outbox."""
        try:
            from watchfiles import watch
        except ImportError:
            log.warning("no_watch", extra={"hint": "pip install './reference[relay]' in busproof's folder"})
            return
        root = self._bus.store.root / tree.AGENTS
        try:
            for _ in watch(
                root,
                watch_filter=_is_message,
                step=_STEP_MS,
                debounce=_DEBOUNCE_MS,
                stop_event=self._stop,
                rust_timeout=1_000,
                ignore_permission_denied=True,
                raise_interrupt=False,
            ):
                self._stop.ring()
        except (OSError, RuntimeError) as error:  # the limit on watches, a folder that went
            log.warning("no_watch", extra={"error": str(error)})


def _tell(error: BusError) -> None:
    log.error("pass_failed", extra={"code": error.code, "error": str(error)})


def _is_message(_change: object, path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return name.endswith(SUFFIX) and folder.endswith(f"/{tree.OUTBOX}")


def until_signal(service: Service, on: Callable[[int, Callable[[int, object], None]], object], *signals: int) -> None:
    """Run until one of the signals comes; `on` is signal.signal."""
    for number in signals:
        on(number, lambda *_: service.stop())
    service.run()


class Lines(logging.Formatter):
    """Time, level, part, event, and the further fields of the event."""

    def format(self, record: logging.LogRecord) -> str:
        """A line."""
        basics = {
            "at_ms": round(record.created * 1000),
            "level": record.levelname.lower(),
            "part": record.name.rpartition(".")[2],
            "event": record.getMessage(),
        }
        more = {name: value for name, value in vars(record).items() if name not in _OWN}
        return json.dumps(basics | more, default=repr)


def write_log_to(path: Path | None, *, bytes_max: int, keep: int, level: str) -> None:
    """From now on the orchestrator's log goes there: None is standard error. A full file is renamed; `keep` stay."""
    handler: logging.Handler = (
        logging.StreamHandler(sys.stderr)
        if path is None
        else RotatingFileHandler(path, maxBytes=bytes_max, backupCount=keep, encoding="utf-8")
    )
    handler.setFormatter(Lines())
    logger = logging.getLogger("refbus.relay")
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False
