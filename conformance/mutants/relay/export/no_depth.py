"""The depth of the queue is not told."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import metrics
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.export.10",)

WAS = "depth.labels(status).set(count)"
IS = "depth.labels(status).set(0)"
SOURCE = inspect.getsource(metrics.Metrics.metrics)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(metrics))
metrics.Metrics.metrics = metrics.metrics

if __name__ == "__main__":
    serve({"relay": RelayBus})
