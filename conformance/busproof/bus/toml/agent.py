"""One agent's session on a mapped bus: its server, its steps, and the operations of `mailbox`."""

from __future__ import annotations

import datetime
import os
import re
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from busproof.bus.base import Lost, Refused, patient
from busproof.bus.toml import cli, http, template
from busproof.bus.toml.answers import (
    NOT_MAPPED,
    Match,
    NotThere,
    Take,
    as_number,
    id_text,
    id_value,
    search,
    take,
    take_all,
    texts,
)
from busproof.bus.toml.form import Again, Failure, Form, Operation, Step, Way, program
from busproof.bus.toml.host import Guest, Plan
from busproof.bus.toml.mcp import StdioServer, refused_by_rpc, value_of
from busproof.bus.toml.memory import BEGUN, Memory

Tool = Callable[[str, dict[str, Any], float], Any]
USUAL = (  # what SQLite and the system say, if the file says nothing
    Failure(match="(?i)no space left|disk (is )?full|ENOSPC", code="DISK_FULL"),
    Failure(match="(?i)database (table )?is locked|SQLITE_BUSY", code="BUSY"),
)
MADE = "made once"  # of what an agent saved: by steps before its calls, for each recipient
TEXT_CHARS_MAX = 10_000  # a longer text is no body that every bus takes
NUMBERS = ("n", "priority", "attempt", "token")
NAMED = {"from": "from_agent", "to": "to_agent"}  # the key of `message` → the contract's


@dataclass
class Place:
    """A store as an adapter sees it, and the connections that its agents share."""

    form: Form
    way: Way
    here: Path
    store: Path
    calls: list[dict[str, Any]] = field(default_factory=list)  # of the last operation, for doctor
    guest: Guest | None = None
    pids: dict[str, int] = field(default_factory=dict)  # of the processes that agents are, where they must be live

    def __post_init__(self) -> None:
        self.home = self.store / "bus"
        self.home.mkdir(parents=True, exist_ok=True)
        self.memory = Memory(self.store, self.form.names)

    @property
    def values(self) -> dict[str, Any]:
        """The variables of every call."""
        now = datetime.datetime.now(datetime.UTC)
        return {
            "store": str(self.home),
            "here": str(self.here),
            "port": self.guest.port if self.guest else None,
            "now": now.isoformat(),
            "now_ms": int(now.timestamp() * 1000),
            "now_s": now.timestamp(),
        }

    def environment(self, values: dict[str, Any]) -> dict[str, str]:
        """Of the bus's programs: what they would find in a home folder, they find in the store."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        own = {name: template.as_text(value) for name, value in template.fill(self.form.env, values).items()}
        return {**inherited, "HOME": str(self.home), **own}

    def command(self, argv: list[str], values: dict[str, Any]) -> list[str]:
        """A command of the file, ready to be started."""
        return template.words(list(program(argv, self.here)), values)

    def prepare(self) -> None:
        """Make the store, if it is new."""
        with self.memory.new() as is_new:
            for step in self.form.prepare if is_new else ():
                self.run(step, self.values)

    def run(self, step: Step, values: dict[str, Any], tool: Tool | None = None) -> Any:
        """One call of the bus; a refusal means what the file says."""
        made: dict[str, Any] = {"call": f"{_title(step)} {template.as_text(template.fill(step.args or {}, values))}"}
        self.calls.append(made)
        try:
            made["answer"] = answer = self._sent(step, values, tool)
            if step.refused and search(step.refused, answer):
                raise Refused("REFUSED", template.as_text(answer), definite=True)
        except UnicodeError as error:  # half a character, which is no text outside JSON
            raise Refused("INVALID_ARGUMENT", str(error), definite=True) from error
        except Refused as error:
            made["refused"] = error.message
            raise self._meant(error) from error
        except Lost as error:
            made["lost"] = str(error)
            if self.guest is not None and self.guest.is_gone():
                raise Refused("UNREACHABLE", f"its server was killed: {error}", definite=False) from error
            raise
        return answer

    def _sent(self, step: Step, values: dict[str, Any], tool: Tool | None) -> Any:
        door = self.way.door
        if step.tool:
            if tool is None:
                raise Refused("REFUSED", f"{step.tool}: there is no server in this step", definite=True)
            return tool(step.tool, template.fill(step.args or {}, values), patient(step.timeout_s))
        if step.call:
            return http.call(str(template.fill(door.http, values)), step, values)
        argv = self.command(door.cli or [], values)
        return cli.call(argv, step, values, self.environment(values), str(self.home))

    def _meant(self, error: Refused) -> Refused:
        """By the patterns of the file first; a usual one names what a crash has met, which promises no more for it."""
        for failure in (*self.form.errors, *USUAL):
            if re.search(failure.match, error.message):
                definite = failure.definite and (error.definite or failure not in USUAL)
                return Refused(failure.code, error.message, definite=definite)
        return error

    def join(self) -> Guest | None:
        """The server that all agents share, started if it is not there."""
        door = self.way.door
        if door.is_shared and (self.guest is None or not self.guest.is_there()):
            each = {"agent": "$agent"} if door.per == "name" else {}
            values = {**self.values, "port": "$port", **each}  # the host fills these in
            plan = Plan(
                argv=self.command(door.server or door.mcp or [], values),
                cwd=str(self.home),
                env=self.environment(values),
                is_mcp=not door.server,
                is_each=door.per == "name" and not door.server,
                ready=door.ready or "",
                start_s=door.start_s,
                pause_s=door.pause_s,
            )
            self.guest = Guest(plan)
            if self.guest.note:
                print(self.guest.note, file=sys.stderr, flush=True)
        return self.guest

    def leave(self) -> None:
        """Let go of what is shared."""
        if self.guest is not None:
            self.guest.leave()
            self.guest = None


class Agent:
    """One agent in one process."""

    def __init__(self, place: Place, agent: str) -> None:
        self._place, self._agent = place, agent
        self._name = place.memory.name(agent)
        self._server: StdioServer | http.HttpServer | None = None
        self._began: object = None  # what the session's steps were done with

    def close(self) -> None:
        """End what was started for this agent."""
        if isinstance(self._server, StdioServer):
            self._server.leave(at_once=False)

    def begin(self) -> None:
        """Start a server and do the session's steps, if that has not been done with the present server."""
        if self._name == self._place.form.names.everyone:
            raise Refused("INVALID_ARGUMENT", f"{self._name} is the address of all, and no agent's name", definite=True)
        server = self._connected()
        if self._began is server and server is not None:
            return
        for number, step in enumerate(self._place.way.session):
            name = f"{number} {step.tool or step.call or step.args}"
            if not step.once or self._place.memory.first_time(self._agent, name):
                try:
                    self._run(step, {})
                except Refused as error:
                    where = f"[[session]] {_title(step)} of {self._name}"
                    raise Refused(error.code, f"{where}: {error.message}", definite=error.definite) from error
                if step.once:
                    self._place.memory.did(self._agent, name)
        if self._place.way.session and not self._place.memory.knows(self._agent):
            self._place.memory.did(self._agent, BEGUN)
        self._began = server

    def do(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """An operation of the contract."""
        operation = self._place.way.operations[name]
        try:
            self.begin()
        except Lost as error:  # the call itself was not made
            raise Refused("NO_ANSWER", str(error), definite=True) from error
        try:
            return self._answered(name, operation, params)
        except NotThere as error:
            raise Lost(f"the answer to {name} {NOT_MAPPED}: {error}") from error

    # -- operations

    def _answered(self, name: str, operation: Operation, params: dict[str, Any]) -> dict[str, Any]:
        match name:
            case "send":
                params = {**params, "from": self._name, "to": self._address(params.get("to"))}
                params["key_or_new"] = params.get("key") or uuid.uuid4().hex
                params["reply_to"] = None if params.get("reply_to") is None else id_value(params["reply_to"])
                answer, _ = self._pages(operation, params)
                return {"id": self._id(operation, answer, params), **_given(operation, answer, "n")}
            case "receive":
                params["wait_s"] = params.get("wait_ms", 0) / 1000
                if (page_max := self._place.form.promises.get("page_max")) and "limit" in params:
                    params["limit"] = min(params["limit"], page_max)  # a bus may refuse to be asked for more
                answer, rows = self._pages(operation, params)
                given = _given(operation, answer, "position", "base", now=params["now"])
                is_of_all = "position" in given and "position" not in operation.message
                is_taken = self._place.form.promises.get("consumes")
                if not (is_of_all or is_taken or self._takes(operation, "limit")):
                    rows = rows[: params.get("limit")]  # it shows the others again
                positions = [row.pop("position") for row in rows if "position" in row]
                given |= {"position": positions[-1]} if positions else {}
                return {"messages": rows, **given, **self._text(operation)}
            case "unacked":
                return {"messages": self._pages(operation, params)[1]}
            case "dead":
                return {"jobs": self._pages(operation, params)[1]}
            case "ack":
                self._ack(operation, params["ids"], params)
                return {}
            case "claim" | "renew" | "release":
                return self._granted(operation, params)
            case "put":
                return {"id": self._id(operation, self._pages(operation, params)[0], params)}
            case "take":
                params["visible_s"] = _seconds(params["visible_ms"])
                rows = self._pages(operation, params)[1]
                return {"job": rows[0] if rows else None}
        params = {**params, "id": id_value(params["id"])}
        params["receipt"] = None if params.get("receipt") is None else id_value(params["receipt"])
        try:
            self._pages(operation, params)
        except Refused as error:
            if error.code != "REFUSED" or not error.definite:
                raise
            raise Refused("NOT_HELD", error.message, definite=True) from error
        return {}

    def _text(self, operation: Operation) -> dict[str, str]:
        """What the bus has shown, where patterns part messages: the kit sends it back, to see one taken for two."""
        if not any(isinstance(how, Match) for how in (operation.rows, operation.message["body"])):
            return {}
        text = "\n".join(word for call in self._place.calls for word in texts(call.get("answer")))
        return {"text": text} if len(text) <= TEXT_CHARS_MAX else {}

    def _ack(self, operation: Operation, ids: list[str], params: dict[str, Any]) -> None:
        values = [id_value(message_id) for message_id in ids]
        if self._takes(operation, "ids"):
            if values:
                self._pages(operation, {**params, "ids": values})
            return
        for number, value in enumerate(values):
            try:
                self._pages(operation, {**params, "id": value})
            except Refused as error:
                raise Refused(error.code, error.message, definite=error.definite and not number) from error

    def _takes(self, operation: Operation, variable: str) -> bool:
        return variable in template.names([text for _, text in operation.templates()])

    def _granted(self, operation: Operation, params: dict[str, Any]) -> dict[str, Any]:
        """The token of the agent's latest grant stays here: who names none means that one.

        A token that is no number goes no further: the kit's are numbers that rise.
        """
        tokens = self._place.memory.saved(self._agent).get("tokens", {})
        params = {**params, "ttl_s": _seconds(params["ttl_ms"]) if "ttl_ms" in params else None}
        if params.get("token") is None:
            params["token"] = tokens.get(params["name"])
        try:
            answer, _ = self._pages(operation, params)
        except Refused as error:
            if error.code != "REFUSED" or not error.definite:
                raise
            return {"granted": False}
        granted = True if operation.granted is None else bool(take(operation.granted, answer))
        given = _given(operation, answer, "token") if granted else {}
        if "token" in given:
            self._place.memory.save(self._agent, {"tokens": {**tokens, params["name"]: given["token"]}})
        return {"granted": granted, **(given if isinstance(given.get("token"), int) else {})}

    def _pages(self, operation: Operation, params: dict[str, Any]) -> tuple[Any, list[dict[str, Any]]]:
        """The last answer of an operation, and the messages of all of its pages."""
        params.setdefault("now", self._place.values["now"])
        again = operation.again or Again(times=1)
        rows: list[dict[str, Any]] = []
        page: dict[str, Any] = {}  # what a page saved for the next, and steps before the call for this recipient
        for turn in range(again.times + 1):
            for step in operation.before:
                page |= self._before(step, {**params, **page})
            try:
                answer = self._run(operation, {**params, **page}, keeps=again.while_ is None)
            except Refused as error:
                if not (again.when and re.search(again.when, error.message)) or turn == again.times:
                    raise
            else:
                if operation.message:
                    listed = [row for row in take_all(self._rows(operation, params), answer) if row is not None]
                    if operation.each:
                        listed = [self._opened(operation, row, params) for row in listed[: params.get("limit")]]
                    rows += [self._row(operation, row) for row in listed]
                if again.while_ is None or not search(again.while_, answer):
                    return answer, rows
                page |= _saved(operation, answer)
            time.sleep(again.pause_s)
        raise Lost(f"{_title(operation)}: another page after {again.times} pages")

    def _before(self, step: Step, params: dict[str, Any]) -> dict[str, Any]:
        """A step before a call. One that is done once makes something for this recipient, such as a channel."""
        if not step.once:
            self._run(step, params)
            return {}
        memory, key = self._place.memory, f"{_title(step)} {step.args} {params.get('to')}"
        made = memory.saved(self._agent).get(MADE, {})
        if key not in made:
            made = {**made, key: _saved(step, self._run(step, params, keeps=False))}
            memory.save(self._agent, {MADE: made})
        return dict(made[key])

    def _rows(self, operation: Operation, params: dict[str, Any]) -> Take:
        rows = operation.rows
        return template.raw(rows, {**self._values(), **params}) if isinstance(rows, str) else rows

    def _opened(self, operation: Operation, row: Any, params: dict[str, Any]) -> dict[str, Any]:
        """The row of a list that has headings alone, with the message itself."""
        assert operation.each is not None
        row = row if isinstance(row, dict) else {"row": row}
        return {**row, "message": self._run(operation.each, {**params, "id": take(operation.message["id"], row)})}

    def _row(self, operation: Operation, row: Any) -> dict[str, Any]:
        message: dict[str, Any] = {}
        for name, how in operation.message.items():
            value = take(how, row)
            if name in ("id", "receipt", "reply_to"):
                value = None if value is None else id_text(value)
            elif name in NAMED:
                value = self._place.memory.agent(value)
            elif name in NUMBERS:
                value = as_number(value)
            if value is not None:
                message[NAMED.get(name, name)] = value
        return message

    def _id(self, operation: Operation, answer: Any, params: dict[str, Any]) -> str:
        value = params.get("key_or_new") if operation.id == "$key_or_new" else take(operation.id, answer)
        if value is None:
            raise NotThere(f"id = {operation.id!r} leads to nothing in {template.as_text(answer)[:150]}")
        return id_text(value)

    def _address(self, to: str | None) -> Any:
        """What the bus calls the recipient; one that has no session yet gets one."""
        if to is None:
            return self._place.form.names.everyone
        memory = self._place.memory
        if self._place.way.session and (not memory.knows(to) or memory.address(to) is None):
            other = Agent(self._place, to)
            try:
                other.begin()
            finally:
                other.close()
        return memory.address(to)

    # -- steps

    def _run(self, step: Step, values: dict[str, Any], *, keeps: bool = True) -> Any:
        values = {**self._values(), **values}
        answer = self._place.run(step, values, self._tool)
        if keeps and (saved := _saved(step, answer)):
            self._place.memory.save(self._agent, saved)
        return answer

    def _values(self) -> dict[str, Any]:
        own = {"agent": self._name, "pid": self._place.pids.get(self._agent)}
        return {**self._place.memory.saved(self._agent), **self._place.values, **own}

    def _connected(self) -> object:
        """What the session's steps are done with: a server of the agent's own, the shared one, or nothing."""
        door = self._place.way.door
        guest = self._place.join()
        if door.mcp_url and self._began is not guest:
            self._server = http.HttpServer(str(template.fill(door.mcp_url, self._place.values)))
            self._server.begin_session(door.start_s)
        elif door.mcp and not door.is_shared and not self._is_up():
            values = self._values()
            argv, env = self._place.command(door.mcp, values), self._place.environment(values)
            self._server = StdioServer(argv, env, str(self._place.home))
            self._server.begin_session(door.start_s, door.pause_s)
        return guest or self._server or self

    def _is_up(self) -> bool:
        return (
            isinstance(self._server, StdioServer) and self._server.pid is not None and not self._server.child.has_ended
        )

    def _tool(self, name: str, arguments: dict[str, Any], timeout_s: float) -> Any:
        try:
            if self._server is not None:
                return self._server.tool(name, arguments, timeout_s)
            assert self._place.guest is not None
            asked = {"name": name, "arguments": arguments}
            return value_of(self._place.guest.request("tools/call", asked, timeout_s, self._name))
        except Refused as error:
            raise (refused_by_rpc(error) if error.rpc != -32000 else error) from error
        except Lost as error:
            words = self._server.stderr[-300:] if isinstance(self._server, StdioServer) else ""
            raise Lost(f"{name}: {error}{words and f'; it wrote: {words}'}") from error


def _saved(step: Step, answer: Any) -> dict[str, Any]:
    values = {name: take(how, answer) for name, how in step.save.items()}
    return {name: value for name, value in values.items() if value is not None}


def _given(operation: Operation, answer: Any, *names: str, now: str = "") -> dict[str, Any]:
    """Members of an answer that the file maps."""
    members: dict[str, Any] = {}
    for name in names:
        how: Take | None = getattr(operation, name)
        value = now if how == "$now" else None if how is None else take(how, answer)
        if value is not None:
            members[name] = as_number(value) if name in NUMBERS else value
    return members


def _seconds(ms: int) -> int | float:
    return ms // 1000 if ms % 1000 == 0 else ms / 1000


def _title(step: Step) -> str:
    return step.tool or step.call or "command"
