"""docs/protocol.md, its page for each system, and the JSON Schemas: generated from the pydantic models."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from busproof import contract as protocol
from busproof.contract import bounds
from busproof.contract.catalogue import Requirement, catalogue
from busproof.contract.common import SESSION_METHODS, Contract, Method
from busproof.pages import wire_example

_GENERATED = "<!-- Generated: busproof schema --markdown docs/protocol.md -->"


def schemas(system: str) -> dict[str, Any]:
    """method → the schemas of its params and its reply."""
    return {
        name: {"params": method.params.model_json_schema(), "reply": method.reply.model_json_schema()}
        for name, method in protocol.CONTRACTS[system].methods.items()
    }


def write(path: Path) -> list[Path]:
    """The page at this path, those of the systems in a folder beside it, and the bounds of the specifications there."""
    folder = path.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    pages = {path: page()} | {folder / f"{name}.md": system_page(name) for name in protocol.CONTRACTS}
    for name in protocol.CONTRACTS:
        if (spec := path.parent / "spec" / f"{name}.md").exists():
            pages[spec] = with_bounds(spec.read_text(encoding="utf-8"), name)
    for place, text in pages.items():
        place.write_text(text, encoding="utf-8")
    return list(pages)


def page() -> str:
    """The part for every system."""
    lines = [
        _GENERATED,
        f"# The adapter protocol, version {protocol.PROTOCOL_VERSION}",
        "",
        inspect.getdoc(protocol) or "",
        "",
        'A request: `{"jsonrpc": "2.0", "id": 1, "method": "ack", "params": {"agent_id": "a", "seq": 7}}`',
        "",
        'An answer: `{"jsonrpc": "2.0", "id": 1, "result": {}}`, or with `error` in place of `result`:',
        '`{"code": -32000, "message": "…", "data": {"code": "INVALID_ARGUMENT", "definite": true}}`',
        "",
        "| system | a session by example, methods, types, options, features, errors, tables |",
        "|---|---|",
        *(f"| `{name}` | [protocol/{name}.md](protocol/{name}.md) |" for name in protocol.CONTRACTS),
        "",
        "A line that is no JSON is answered with `-32700` and id `null`, what is no request with `-32600`, parameters",
        "of the wrong shape with `-32602`; a refusal of the bus is `-32000`, with its code in `data`. Fields of a",
        "reply beyond those listed are allowed and ignored. stdout is the protocol's; words for people go to stderr.",
        "The processes of a run have different `TZ` and `LC_ALL`, the first one 14 hours ahead of UTC, so that local",
        "time taken for UTC is seen. `BUSPROOF_PARTICIPANT` numbers them from 0.",
        "",
        "## Methods of every system",
        "",
    ]
    for method in SESSION_METHODS.values():
        lines += _method(method)
    return "\n".join(lines).rstrip() + "\n"


def system_page(system: str) -> str:
    """All that an author of an adapter, or of a bus on the same tables, needs to know of one system."""
    contract = protocol.CONTRACTS[system]
    rows = list(catalogue(system).values())
    parts = [
        [_GENERATED, f"# The wire of `{system}`", "", *_head(contract)],
        ["## A session by example", "", "```", *wire_example.of(system), "```", ""],
        ["## Nouns", "", *_nouns(contract, rows)],
        ["## Methods", "", *(line for method in _own(contract) for line in _method(method))],
        _types(contract),
        ["## Features", "", *_features(contract, rows)],
        _pairs("Options of `open`", "option", contract.options, "The kit sends those of the features declared."),
        _pairs("Limits in `hello`", "limit", contract.limits, "Tell them, and the kit keeps to them and tries beyond."),
        ["## Error codes", "", "| code | the reference's `definite` |", "|---|---|"],
        [f"| `{code}` | {str(definite).lower()} |" for code, definite in contract.error_codes.items()],
        ["", "## Tables", "", *_tables(contract)],
    ]
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def with_bounds(specification: str, system: str) -> str:
    """A specification whose table of bounds is the contract's."""
    table = "\n".join(bounds.table(protocol.CONTRACTS[system].bounds))
    marks = r"(?s)(<!-- Generated: the bounds[^\n]*\n\n).*?(\n\n<!-- Generated up to here)"
    return re.sub(marks, lambda match: f"{match[1]}{table}{match[2]}", specification)


def _head(contract: Contract) -> list[str]:
    system = contract.system
    means = [
        f"What the bus does: [its specification](../spec/{system}.md); the sentences that are judged:",
        f"[its requirements](../../conformance/busproof/requirements/{system}.toml).",
        "What every system shares: [the protocol](../protocol.md).",
    ]
    if (door := contract.server) is not None:
        means += [
            "",
            "Its door is MCP itself: a method is a tool, and no adapter is needed. The kit starts the command with",
        ]
        means += [
            f"`{door.store_variable}` set to a file of its own for each store. The tools that it offers tell its nouns:"
        ]
        means += [", ".join(f"{tool} ({noun})" for tool, noun in door.nouns) + "."]
        means += ["While a sync waits, the server must go on reading: a client may cancel, or ask something else."]
    return [*means, ""]


def _nouns(contract: Contract, rows: list[Requirement]) -> Iterator[str]:
    yield "Each noun that `hello` declares is judged whole. Rows that need no feature:"
    yield ""
    yield "| noun | rows | in the profile `core` |"
    yield "|---|---|---|"
    for noun in contract.profiles["full"]:
        count = sum(
            row.noun == noun and set(row.needs) <= {"clock", *contract.usual} and row.check is not None for row in rows
        )
        yield f"| `{noun}` | {count} | {'yes' if noun in contract.profiles['core'] else ''} |"
    yield ""


def _features(contract: Contract, rows: list[Requirement]) -> Iterator[str]:
    if contract.usual:
        usual = ", ".join(f"`{name}`" for name in contract.features if name in contract.usual)
        yield f"A bus has {usual} unless `hello.lacks` names them: nobody has to declare what a usual bus has."
        yield ""
    yield "| feature | what it promises | rows that it brings |"
    yield "|---|---|---|"
    for name, text in contract.features.items():
        count = sum(name in row.needs and row.check is not None for row in rows)
        yield f"| `{name}` | {text} | {count or 'none; it lets the kit see more'} |"
    yield ""


def _tables(contract: Contract) -> Iterator[str]:
    yield f"A bus that declares `sqlite` has `{contract.store}` in its store's folder, made by these statements or by"
    yield "others to the same effect. Then the kit reads, damages and locks the file, and works beside the bus on it."
    yield ""
    yield "```sql"
    yield contract.tables.strip()
    yield "```"


def _pairs(title: str, head: str, pairs: Any, says: str) -> list[str]:
    if not pairs:
        return []
    rows = [f"| `{name}` | {text} |" for name, text in pairs.items()]
    return [f"## {title}", "", says, "", f"| {head} | |", "|---|---|", *rows, ""]


def _own(contract: Contract) -> list[Method]:
    return [method for name, method in contract.methods.items() if name not in SESSION_METHODS]


def _method(method: Method) -> list[str]:
    belongs = f"noun `{method.noun}`" if method.noun else "every bus" if method.feature is None else ""
    feature = f"feature `{method.feature}`" if method.feature else ""
    doc = f"{inspect.getdoc(method.params)} ({', '.join(filter(None, [belongs, feature]))})"
    fields = [*_fields("params", method.params), *_fields("reply", method.reply)]
    return [f"### {method.name}", "", doc, "", *fields]


def _types(contract: Contract) -> list[str]:
    """Every model that a field of a method names, and those that these name."""
    models = {model.__name__: model for model in contract.types}
    queue = [*contract.types] + [model for method in _own(contract) for model in (method.params, method.reply)]
    while queue:
        model = queue.pop(0)
        for field in model.model_fields.values():
            named = [of_field for of_field in _models(field.annotation) if of_field.__name__ not in models]
            models |= {of_field.__name__: of_field for of_field in named}
            queue += named
    lines = ["## Types", ""] if models else []
    for name, model in sorted(models.items()):
        doc = inspect.getdoc(model) if model.__doc__ else ""
        lines += [f"### {name}", "", doc or "", "", *_fields("field", model)]
    return lines


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _fields(title: str, model: type[BaseModel]) -> list[str]:
    if not model.model_fields:
        return [f"{title}: none", ""]
    rows = [f"| {title} | type | |", "|---|---|---|"]
    for name, field in model.model_fields.items():
        kind = _kind(field.annotation).replace("|", "\\|")
        needed = "required" if field.is_required() else "optional"
        if title == "params" and not field.is_required() and (default := field.get_default()) is not None:
            needed += f", default {json.dumps(default)}"
        rows.append(f"| `{name}` | `{kind}` | {needed}{'. ' + field.description if field.description else ''} |")
    return [*rows, ""]


def _kind(annotation: Any) -> str:
    """A type as a reader writes it: classes by their bare names, wherever they are defined."""
    if annotation is type(None):
        return "None"
    parts = get_args(annotation)
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        return " | ".join(map(_kind, parts))
    if get_origin(annotation) is Literal:
        return f"Literal[{', '.join(map(repr, parts))}]"
    if parts:
        return f"{_kind(get_origin(annotation))}[{', '.join(map(_kind, parts))}]"
    return getattr(annotation, "__name__", str(annotation))
