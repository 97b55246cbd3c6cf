"""The versions that ping tells are numbers."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.mcp.tools import TOOLS

KILLED_BY = ("topics.log.08", "topics.log.09", "topics.log.10")

TOOLS["ping"]["output_schema"] = None


class Mutant(TopicsBus):
    def ping(self) -> dict[str, Any]:
        return {"ok": True, "spec_version": 6.3, "package_version": 1}


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
