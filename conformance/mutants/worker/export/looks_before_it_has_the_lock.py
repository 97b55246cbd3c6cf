"""The number of the last exported line is read before the lock: an exporter that waited goes on from an old one."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.worker import export
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.66",)
CHAOS = {"holds": True, "only": "export_to_jsonl", "against": "a publish, an export, and bus.jsonl is moved away"}

WAS = """\
        with file.locked():
            stated, given = self._store.db.row(_STATED_AND_GIVEN)
"""
IS = """\
        stated, given = self._store.db.row(_STATED_AND_GIVEN)
        with file.locked():
"""
SOURCE = inspect.getsource(export.Export.export_to_jsonl)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(export))
export.Export.export_to_jsonl = export.export_to_jsonl

if __name__ == "__main__":
    serve({"worker": WorkerBus})
