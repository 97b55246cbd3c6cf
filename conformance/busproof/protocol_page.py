"""docs/protocol.md and the JSON Schemas, generated from the pydantic models."""

from __future__ import annotations

import inspect
from typing import Any

from pydantic import BaseModel

from busproof import protocol


def schemas(system: str) -> dict[str, Any]:
    """method → the schemas of its params and its reply."""
    return {
        name: {"params": method.params.model_json_schema(), "reply": method.reply.model_json_schema()}
        for name, method in protocol.METHODS[system].items()
    }


def page(system: str) -> str:
    """The page for adapter authors."""
    lines = [
        "<!-- Generated: busproof schema worker --markdown docs/protocol.md -->",
        f"# The adapter protocol, version {protocol.PROTOCOL_VERSION}",
        "",
        inspect.getdoc(protocol) or "",
        "",
        'A request: `{"jsonrpc": "2.0", "id": 1, "method": "ack", "params": {"agent_id": "a", "seq": 7}}`',
        "",
        'An answer: `{"jsonrpc": "2.0", "id": 1, "result": {}}`, or with `error` in place of `result`:',
        '`{"code": -32000, "message": "…", "data": {"code": "INVALID_ARGUMENT", "definite": true}}`',
        "",
        f"## Methods of `{system}`",
        "",
    ]
    for name, method in protocol.METHODS[system].items():
        belongs = f"noun `{method.noun}`" if method.noun else "every bus" if method.feature is None else ""
        feature = f"feature `{method.feature}`" if method.feature else ""
        lines += [
            f"### {name}",
            "",
            f"{inspect.getdoc(method.params)} ({', '.join(filter(None, [belongs, feature]))})",
            "",
        ]
        lines += [*_fields("params", method.params), *_fields("reply", method.reply)]
    lines += ["## Features", ""]
    lines += [f"- `{name}`: {text}" for name, text in protocol.WORKER_FEATURES.items()]
    lines += ["", "## Error codes", "", "| code | the reference's `definite` |", "|---|---|"]
    lines += [
        f"| `{code}` | {str(definite).lower()} |" for code, definite in protocol.WORKER_ERROR_CODES.items()
    ]
    return "\n".join(lines) + "\n"


def _fields(title: str, model: type[BaseModel]) -> list[str]:
    if not model.model_fields:
        return [f"{title}: none", ""]
    rows = [f"| {title} | type | |", "|---|---|---|"]
    for name, field in model.model_fields.items():
        kind = str(field.annotation) if not isinstance(field.annotation, type) else field.annotation.__name__
        for noise in ("typing.", "busproof.protocol."):
            kind = kind.replace(noise, "")
        kind = kind.replace("|", "\\|")
        needed = "required" if field.is_required() else "optional"
        rows.append(
            f"| `{name}` | `{kind}` | {needed}{'. ' + field.description if field.description else ''} |"
        )
    return [*rows, ""]
