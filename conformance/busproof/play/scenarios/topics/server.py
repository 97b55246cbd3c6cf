"""log: the server and its tools."""

from __future__ import annotations

from busproof.bus.base import Refused
from busproof.bus.session import Session
from busproof.play.scenarios.common import Row, said
from busproof.play.scenarios.topics.common import bodies, join, lane, scenario, server, sync, topic, undeclared, unique
from busproof.play.suite import Ctx

# The arguments of each tool, the required ones with a *, and the defaults that the seed gives.
TOOLS = {
    "ping": "",
    "topic_create": "",
    "topic_list": "",
    "topic_resolve": "",
    "topic_close": "",
    "topic_join": "agent_name* topic_id name reclaim_token",
    "topic_presence": "topic_id* window_seconds limit",
    "cursor_reset": "topic_id* last_seq",
    "messages_search": "query* topic_id mode limit model include_content",
    "sync": "topic_id* outbox max_items include_self wait_seconds auto_advance ack_through",
}
DESCRIBED = ("topic_join", "topic_presence", "cursor_reset", "messages_search", "sync")  # sections 4.3 to 4.7
DEFAULTS: dict[str, Row] = {
    "sync": {"max_items": 20, "include_self": False, "wait_seconds": 60, "auto_advance": True},
    "cursor_reset": {"last_seq": 0},
    "topic_presence": {"window_seconds": 300, "limit": 200},
    "messages_search": {"mode": "hybrid", "limit": 20, "include_content": False},
}
# Where the seed states none: the tool behaves as the default in its schema says.
UNSTATED: dict[str, Row] = {
    "topic_create": {"mode": "reuse"},
    "topic_list": {"status": "open"},
    "topic_resolve": {"allow_closed": False},
    "topic_join": {"allow_closed": False},
}
READING = {"ping", "topic_list", "topic_resolve", "topic_presence", "messages_search"}
UNDOING_NOTHING = READING | {"topic_create", "topic_join", "sync"}
COUNTING = {"sync"}  # a second time sends a second time
MCP_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # of those that begin with a handshake


@scenario("log.ping")
def ping(ctx: Ctx) -> None:
    """The server lives, and says which contract and which version it is."""
    a = ctx.agent("a")
    reply = a.call("ping")
    ctx.expect("topics.log.07", reply["ok"] is True, f"ping answered {reply}")
    spec = reply["spec_version"]
    ctx.expect("topics.log.08", isinstance(spec, str) and spec != "", f"spec_version is {spec!r}")
    package = reply["package_version"]
    ctx.expect("topics.log.09", isinstance(package, str) and package != "", f"package_version is {package!r}")
    ctx.expect("topics.log.10", spec == "v6.3", f"spec_version is {spec!r}")


def walk(a: Session) -> dict[str, Refused | None]:
    """A short life with every tool; the refusal of each call."""
    name = unique()
    refused = {"ping": a.refusal("ping"), "topic_create": a.refusal("topic_create", name=name)}
    refused["topic_list"] = a.refusal("topic_list")
    refused["topic_resolve"] = a.refusal("topic_resolve", name=name)
    refused["topic_join"] = a.refusal("topic_join", agent_name="a", name=name)
    here = {"topic_id": topic(a)}
    join(a, here["topic_id"])
    outbox = [{"content_markdown": f"a word: {name}"}]
    refused["sync"] = a.refusal("sync", **here, outbox=outbox, include_self=True, wait_seconds=0)
    refused["topic_presence"] = a.refusal("topic_presence", **here)
    refused["cursor_reset"] = a.refusal("cursor_reset", **here)
    refused["messages_search"] = a.refusal("messages_search", query=name)
    refused["topic_close"] = a.refusal("topic_close", **here)
    return refused


@scenario("log.tools")
def tools(ctx: Ctx) -> None:
    """One server has all tools; their schemas name and require what the seed says."""
    a = ctx.agent("a")
    listed = {tool["name"]: tool for tool in a.call("tools.list")["tools"]}
    missing = sorted(set(TOOLS) - set(listed) - undeclared(ctx))
    ctx.expect("topics.log.02", not missing, f"not listed: {missing}; listed: {sorted(listed)}")
    wrong, without_default = {}, []
    for tool in (name for name in DESCRIBED if name in listed):
        schema = listed[tool]["inputSchema"]
        known = {word.rstrip("*") for word in TOOLS[tool].split()}
        needed = {word.rstrip("*") for word in TOOLS[tool].split() if word.endswith("*")}
        has, requires = set(schema.get("properties", {})), set(schema.get("required") or [])
        if not known <= has or requires != needed:
            wrong[tool] = f"lacks {sorted(known - has)}, requires {sorted(requires)}"
        for name, value in DEFAULTS.get(tool, {}).items():
            stated = schema.get("properties", {}).get(name, {}).get("default")
            if stated != value or type(stated) is not type(value):
                without_default.append(f"{tool}.{name}: {stated!r}, not {value!r}")
    for tool, defaults in UNSTATED.items():
        known = listed.get(tool, {}).get("inputSchema", {}).get("properties", {})
        for name, value in defaults.items():
            stated = known.get(name, {}).get("default")
            if stated not in (None, value):
                without_default.append(f"{tool}.{name}: {stated!r}, but without it the tool does {value!r}")
    ctx.expect("topics.log.03", not wrong, f"input schemas: {wrong}; the seed has {TOOLS}")
    ctx.expect("topics.log.04", not without_default, f"defaults: {without_default}")
    # Search "may be limited by the local SQLite build"; all else has no excuse.
    excused = {"messages_search"} | undeclared(ctx)
    refused = {tool: said(no) for tool, no in walk(a).items() if no is not None and tool not in excused}
    ctx.expect("topics.log.01", not refused, f"one server refused its tools: {refused}")


@scenario("log.output_schemas")
def output_schemas(ctx: Ctx) -> None:
    """A tool's answers are described."""
    a = ctx.agent("a")
    listed = {tool["name"]: tool.get("outputSchema") for tool in a.call("tools.list")["tools"]}
    # The official client holds each answer against the schema, and ends the session over one that differs.
    walk(a)
    without = sorted(name for name in TOOLS if not listed.get(name) and name not in undeclared(ctx))
    ctx.expect("topics.log.05", not without, f"without an output schema: {without}")


@scenario("log.annotations")
def hints(ctx: Ctx) -> None:
    """A client can tell a person, and ask for leave, before it calls."""
    listed = {tool["name"]: tool for tool in ctx.agent("a").call("tools.list")["tools"]}
    wrong = {}
    for name in sorted(TOOLS.keys() - undeclared(ctx)):
        tool = listed.get(name, {})
        hints = tool.get("annotations") or {}
        tells = {hint for hint in ("readOnlyHint", "destructiveHint", "idempotentHint") if hints.get(hint)}
        lies = ("destructiveHint" in tells and name in UNDOING_NOTHING) or (
            "idempotentHint" in tells and name in COUNTING
        )
        if not tool.get("description") or ("readOnlyHint" in tells) != (name in READING) or lies:
            wrong[name] = f"description {tool.get('description')!r:.40}, hints {sorted(tells)}"
    ctx.expect("topics.log.06", not wrong, f"{wrong}; only these read: {sorted(READING)}")


@scenario("log.handshake")
def handshake(ctx: Ctx) -> None:
    """A version that nobody serves is answered with the latest that this server serves."""
    a = ctx.agent("a")
    nobodys = ("1999-01-01", "2025-01-01", "2025-05-05", "2999-01-01")  # also between versions that there are
    gave = {version: handshaken(a, version) for version in (*nobodys, *MCP_VERSIONS)}
    served = [version for version in MCP_VERSIONS if gave[version] == version]
    # A server that shakes hands once has told nothing; one may know versions that came after this kit.
    good = all(gave[v] in (None, *served[-1:]) or str(gave[v]) > MCP_VERSIONS[-1] for v in nobodys)
    ctx.expect("topics.log.85", good, f"asked for versions, the server told: {gave}")


def handshaken(session: Session, version: str) -> object:
    """The version that an `initialize` is answered with; None if it is refused."""
    who = {"name": "busproof", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": who}
    try:
        return server(session).request("initialize", params).get("protocolVersion")
    except Refused:
        return None


@scenario("log.two_processes")
def two_processes(ctx: Ctx) -> None:
    """All that two servers share is the file, and it is enough."""
    a, b = ctx.agent("a"), ctx.agent("b")
    name = unique()
    topic_id = a.call("topic_create", name=name)["topic_id"]
    join(a, topic_id)
    joined_id = b.call("topic_join", agent_name="b", name=name)["topic_id"]
    sync(a, topic_id, "from a")
    came = bodies(sync(b, topic_id, "from b")), bodies(sync(a, topic_id))
    good = joined_id == topic_id and came == (["from a"], ["from b"])
    ctx.expect("topics.log.11", good, f"topic {topic_id} is {joined_id} for another process; received: {came}")


@scenario("log.exchange")
def exchange(ctx: Ctx) -> None:
    """One call sends and receives."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    sync(b, topic_id, "from b")
    reply = sync(a, topic_id, "from a")
    came = bodies(reply), bodies(sync(b, topic_id))
    good = came == (["from b"], ["from a"])
    ctx.expect("topics.log.12", good, f"b sent, a sent and received in one call, b received: {came}; {reply}")
