"""The number of the last exported line is noted when the lock was given back: a slow exporter sets it back."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.worker import export
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.66",)
CHAOS = {"holds": True, "only": "export_to_jsonl", "against": "a publish and an export"}

WAS = """\
            if stated != last_seq:
                file.make_durable()
                self._store.db.write("""
SOURCE = inspect.getsource(export.Export.export_to_jsonl)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, textwrap.indent(textwrap.dedent(WAS), " " * 8))), vars(export))
export.Export.export_to_jsonl = export.export_to_jsonl

if __name__ == "__main__":
    serve({"worker": WorkerBus})
