"""Every parameter is required and none has a default, as strict schemas of models want it."""

from refbus.topics.mcp.server import main
from refbus.topics.mcp.tools import TOOLS

KILLED_BY = ("topics.log.03", "topics.log.04")
CONTROL = "log.ping"

for tool in TOOLS.values():
    schema = tool["input_schema"]
    schema["required"] = list(schema["properties"])
    schema["properties"] = {
        name: {word: said for word, said in kind.items() if word != "default"}
        for name, kind in schema["properties"].items()
    }


if __name__ == "__main__":
    raise SystemExit(main())
