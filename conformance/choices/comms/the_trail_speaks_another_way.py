"""A line of the audit trail has members of other names, and other words for the events."""

import json
from typing import Any

from refbus.comms import export
from refbus.comms.bus import CommsBus
from refbus.driver import serve


def line(row: tuple[Any, ...]) -> str:
    seq, at, event, agent_id, message_id, details = row
    what = f"it was {event.replace('_', ' ')}"
    more = json.loads(details)
    told = {"audit_seq": seq, "when": at, "what": what, "who": agent_id, "which": message_id or more.pop("path", None)}
    return json.dumps({**told, "more": more}) + "\n"


export._line = line

if __name__ == "__main__":
    serve({"comms": CommsBus})
