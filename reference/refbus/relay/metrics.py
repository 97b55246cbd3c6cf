"""Numbers for monitors (7.3): messages, latency, queue depth, in the text form of Prometheus."""

from __future__ import annotations

from collections import Counter as Counts
from typing import TypedDict

from refbus.relay.archive import Archive
from refbus.relay.store import Store

BUCKETS_S = (0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0)


class Text(TypedDict):
    """The metrics, as they are served."""

    text: str


class Metrics:
    """Counted since this orchestrator opened; the ledger's own numbers are read from it."""

    def __init__(self, store: Store, archive: Archive) -> None:
        self._store, self._archive = store, archive
        self.passes, self.outcomes = 0, Counts[str]()
        self.last_pass_s = 0.0

    def metrics(self) -> Text:
        """Everything, now. It needs the package prometheus-client."""
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

        registry = CollectorRegistry()
        outcomes = Counter("relay_messages", "Messages by what became of them", ["outcome"], registry=registry)
        for outcome in ("discovered", "completed", "failed", "retried", "refused"):
            outcomes.labels(outcome).inc(self.outcomes[outcome])
        Counter("relay_passes", "Passes over the folder", registry=registry).inc(self.passes)
        Gauge("relay_pass_seconds", "Duration of the last pass", registry=registry).set(self.last_pass_s)
        Gauge("relay_disk_percent", "How full the disk is", registry=registry).set(self._archive.disk_percent())
        latency = Histogram(
            "relay_processing_seconds",
            "From discovery to the end, of the last 1,000 messages",
            buckets=BUCKETS_S,
            registry=registry,
        )
        depth = Gauge("relay_queue_depth", "Messages that wait or are worked on", ["status"], registry=registry)
        agents = Gauge("relay_agents", "Agents by status", ["status"], registry=registry)
        with self._store.snapshot() as tx:
            for status in ("pending", "processing"):
                (count,) = tx.row("SELECT count(*) FROM messages WHERE status = ?", (status,))
                depth.labels(status).set(count)
            for status, count in tx.rows("SELECT status, count(*) FROM agents GROUP BY status"):
                agents.labels(status).set(count)
            for (ms,) in tx.rows(
                "SELECT processed_at - discovered_at FROM messages WHERE direction = 'outbox' "
                "AND processed_at IS NOT NULL ORDER BY id DESC LIMIT 1000"
            ):
                latency.observe(max(0, ms) / 1000)
        return {"text": generate_latest(registry).decode()}
