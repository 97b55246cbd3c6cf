"""The body of a request: `KEY: value` lines (4.3, 4.4). Pure."""

from __future__ import annotations

from collections.abc import Collection

from refbus.relay.failure import Failure


def read(body: str, keys: Collection[str], *, long: str = "") -> dict[str, str]:
    """The fields of a body. Lines below the field `long` that are none of the keys belong to it.

    Raises bad_request for a line that is no field, and for a field that stands twice.
    """
    fields: dict[str, str] = {}
    last = ""
    for line in body.split("\n"):
        key, colon, value = line.partition(":")
        if colon and key in keys:
            if key in fields:
                raise Failure("bad_request", f"{key} stands twice")
            fields[key], last = value if key == long else value.strip(), key
        elif long and last == long:
            fields[long] += f"\n{line}"
        elif line.strip():
            raise Failure("bad_request", f"no field: {line!a:.80}")
    if long in fields:
        fields[long] = fields[long].strip()
    return fields
