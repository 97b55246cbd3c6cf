"""An error is only text, which begins with its code."""

from typing import Any

from refbus.topics.mcp import server
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.69",)


def only_text(code: str, message: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"{code}: {message}"}], "isError": True}


server.error_result = only_text


if __name__ == "__main__":
    raise SystemExit(main())
