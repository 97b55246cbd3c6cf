"""Play a recorded MCP session with whichever SDK is installed here, 1.x or 2.x. Nothing of this project is imported.

    python play.py session.json [--mode MODE] [--record] -- COMMAND…      the server; AGENT_BUS_DB says its file

The session is what goes over the wire as `tools/call`, step by step; each `agent` is a client with a server of its own.
A step that is `meanwhile` gets its answer only after the next one has: it waits for the next one's messages. Values
that no two runs share are masked: an id is `<id 1>` where it is seen first and from then on, so that links of replies
are compared as well; so are tokens and times, by their format. In a request a mask stands for the same as before. The
output is {"sdk": …, "protocol": …, "steps": …}, the same steps with the answers of now.
"""

import argparse
import asyncio
import contextlib
import importlib.metadata
import json
import os
import re
import sys
import tempfile

from mcp import StdioServerParameters

# fields → the word that is written for them, and the only form in which they are masked (decisions, facts under B11)
FORMS = {
    ("topic_id", "message_id", "reply_to"): ("id", r"[0-9a-f]{10}"),
    ("reclaim_token",): ("token", r"[0-9a-f]{32}"),
    ("created_at", "updated_at", "closed_at", "now"): ("time", r"\d{10}\.\d+"),
}
MASK_OF = {field: form for fields, form in FORMS.items() for field in fields}
# These are not named again: one mask for all.
PLAIN = {"age_seconds": r"\d+\.\d+(e-\d+)?", "package_version": r"\d+\.\d+.*", "rank": ".*", "fts_rank": ".*"}
MOMENT = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"  # a time in words


class Masks:
    """The values that the masks stand for in this run."""

    def __init__(self):
        self._masks, self._values = {}, {}

    def mask(self, value, field=""):
        """A reply without the values that no two runs share."""
        if isinstance(value, dict):
            return {name: self.mask(part, name) for name, part in value.items()}
        if isinstance(value, list):
            return [self.mask(part, field) for part in value]
        if isinstance(value, str) and field not in MASK_OF and field not in PLAIN:
            return self.mask_text(value)
        if value is None or (field not in MASK_OF and field not in PLAIN):
            return value
        if field in PLAIN:
            return f"<{field}>" if re.fullmatch(PLAIN[field], str(value)) else value
        kind, form = MASK_OF[field]
        if value not in self._masks and re.fullmatch(form, str(value)):
            mask = f"<{kind} {1 + sum(known.startswith(f'<{kind} ') for known in self._values)}>"
            self._masks[value], self._values[mask] = mask, value
        return self._masks.get(value, value)

    def mask_text(self, text):
        """The same in words."""
        for value, mask in self._masks.items():
            text = text.replace(str(value), mask)
        return re.sub(MOMENT, "<moment>", text)

    def unmask(self, value):
        """A request as this run must make it."""
        if isinstance(value, dict):
            return {name: self.unmask(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self.unmask(part) for part in value]
        return self._values.get(value, value) if isinstance(value, str) else value

    def reply(self, result):
        """A result as it is on the wire, masked."""
        wire = result.model_dump(mode="json", by_alias=True)
        structured = wire.get("structuredContent") or {}
        masked = self.mask(structured)
        content = [{"type": part["type"], "text": self.mask_text(part["text"])} for part in wire["content"]]
        for part in content:  # parts that are not known by their value
            part["text"] = re.sub(r"\d+\.\d s ago", "<age_seconds> s ago", part["text"])
            if "package_version" in structured:
                part["text"] = part["text"].replace(structured["package_version"], "<package_version>")
        return {"isError": bool(wire["isError"]), "structuredContent": masked, "content": content}


@contextlib.asynccontextmanager
async def connected(server, mode):
    """A client of the installed SDK, and the protocol's version that it and the server agreed on."""
    try:
        from mcp import Client
    except ImportError:
        from mcp import ClientSession
        from mcp.client.stdio import stdio_client

        async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
            hello = await session.initialize()
            yield session, hello.protocolVersion
    else:
        async with Client(server, mode=mode) as client:
            yield client, client.protocol_version


async def play(steps, connect, masks):
    """The steps with the answers of now."""
    async with contextlib.AsyncExitStack() as ends:
        clients, waiting = {}, None
        for step in steps:
            agent, call = step["agent"], step["request"]["params"]
            if agent not in clients:
                clients[agent] = await ends.enter_async_context(connect())
            client, protocol = clients[agent]
            answer = asyncio.create_task(client.call_tool(call["name"], masks.unmask(call["arguments"])))
            if step.get("meanwhile"):
                waiting = step, answer
                continue
            step["reply"] = masks.reply(await answer)
            if waiting is not None:
                before, answer = waiting
                before["reply"], waiting = masks.reply(await answer), None
    return {"sdk": importlib.metadata.version("mcp"), "protocol": protocol, "steps": steps}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("session")
    parser.add_argument("--mode", default="auto", help="SDK 2.x: legacy, auto or a protocol version")
    parser.add_argument("--record", action="store_true", help="write the answers of now into the file")
    parser.add_argument("server", nargs="+")
    args = parser.parse_args()
    with open(args.session, encoding="utf-8") as file:
        session = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "AGENT_BUS_DB": os.path.join(folder, "bus.sqlite")}
        server = StdioServerParameters(command=args.server[0], args=args.server[1:], env=environment)
        played = asyncio.run(play(session["steps"], lambda: connected(server, args.mode), Masks()))
    if args.record:
        with open(args.session, "w", encoding="utf-8") as file:
            json.dump(session, file, indent=1, ensure_ascii=False)
            file.write("\n")
    json.dump(played, sys.stdout)


if __name__ == "__main__":
    main()
