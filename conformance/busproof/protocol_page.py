"""docs/protocol.md and the JSON Schemas, generated from the pydantic models."""

from __future__ import annotations

import inspect
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from busproof import protocol
from busproof.protocol.common import SESSION_METHODS


def schemas(system: str) -> dict[str, Any]:
    """method → the schemas of its params and its reply."""
    return {
        name: {"params": method.params.model_json_schema(), "reply": method.reply.model_json_schema()}
        for name, method in protocol.CONTRACTS[system].methods.items()
    }


def page() -> str:
    """The page for adapter authors, all systems."""
    lines = [
        "<!-- Generated: busproof schema --markdown docs/protocol.md -->",
        f"# The adapter protocol, version {protocol.PROTOCOL_VERSION}",
        "",
        inspect.getdoc(protocol) or "",
        "",
        'A request: `{"jsonrpc": "2.0", "id": 1, "method": "ack", "params": {"agent_id": "a", "seq": 7}}`',
        "",
        'An answer: `{"jsonrpc": "2.0", "id": 1, "result": {}}`, or with `error` in place of `result`:',
        '`{"code": -32000, "message": "…", "data": {"code": "INVALID_ARGUMENT", "definite": true}}`',
        "",
        "## Methods of every system",
        "",
    ]
    for method in SESSION_METHODS.values():
        lines += _method(method)
    for system, contract in protocol.CONTRACTS.items():
        lines += [f"## Methods of `{system}`", ""]
        for name, method in contract.methods.items():
            lines += _method(method) if name not in SESSION_METHODS else []
        lines += [f"### Features of `{system}`", ""]
        lines += [f"- `{name}`: {text}" for name, text in contract.features.items()]
        lines += ["", f"### Error codes of `{system}`", "", "| code | the reference's `definite` |", "|---|---|"]
        lines += [f"| `{code}` | {str(definite).lower()} |" for code, definite in contract.error_codes.items()]
        lines += [""]
    return "\n".join(lines)


def _method(method: protocol.Method) -> list[str]:
    belongs = f"noun `{method.noun}`" if method.noun else "every bus" if method.feature is None else ""
    feature = f"feature `{method.feature}`" if method.feature else ""
    said = f"{inspect.getdoc(method.params)} ({', '.join(filter(None, [belongs, feature]))})"
    fields = [*_fields("params", method.params), *_fields("reply", method.reply)]
    return [f"### {method.name}", "", said, "", *fields]


def _fields(title: str, model: type[BaseModel]) -> list[str]:
    if not model.model_fields:
        return [f"{title}: none", ""]
    rows = [f"| {title} | type | |", "|---|---|---|"]
    for name, field in model.model_fields.items():
        kind = _kind(field.annotation).replace("|", "\\|")
        needed = "required" if field.is_required() else "optional"
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
