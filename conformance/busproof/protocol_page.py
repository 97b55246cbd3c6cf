"""docs/protocol.md and the JSON Schemas, generated from the pydantic models."""

from __future__ import annotations

import inspect
from typing import Any

from pydantic import BaseModel

from busproof import protocol
from busproof.protocol.common import SESSION_METHODS


def schemas(system: str) -> dict[str, Any]:
    """method → the schemas of its params and its reply."""
    return {
        name: {"params": method.params.model_json_schema(), "reply": method.reply.model_json_schema()}
        for name, method in protocol.METHODS[system].items()
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
    for system, methods in protocol.METHODS.items():
        lines += [f"## Methods of `{system}`", ""]
        for name, method in methods.items():
            lines += _method(method) if name not in SESSION_METHODS else []
        lines += [f"### Features of `{system}`", ""]
        lines += [f"- `{name}`: {text}" for name, text in protocol.FEATURES[system].items()]
        lines += ["", f"### Error codes of `{system}`", "", "| code | the reference's `definite` |", "|---|---|"]
        lines += [f"| `{code}` | {str(definite).lower()} |" for code, definite in protocol.ERROR_CODES[system].items()]
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
        kind = str(field.annotation) if not isinstance(field.annotation, type) else field.annotation.__name__
        for noise in ("typing.", "busproof.protocol.worker.", "busproof.protocol.comms.", "busproof.protocol.common."):
            kind = kind.replace(noise, "")
        kind = kind.replace("|", "\\|")
        needed = "required" if field.is_required() else "optional"
        rows.append(f"| `{name}` | `{kind}` | {needed}{'. ' + field.description if field.description else ''} |")
    return [*rows, ""]
