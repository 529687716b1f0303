"""Machine -> the text of a machine file, which :func:`tilewright.machines.files.parse` reads back."""

import json

from tilewright.machines.files import SCHEMA
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity


def to_toml(machine: Machine) -> str:
    """Write a machine as a machine file: TOML with the provenance and the range of every value.

    >>> from tilewright.machines.files import load, parse
    >>> parse(to_toml(load("gtx980")), "a copy") == load("gtx980")
    True
    """
    tables: dict[str, list[tuple[str, Quantity]]] = {
        "quantities": list(machine.known().items()),
        "c_iter": list(machine.c_iter),
        "area": list(machine.area),
    }
    head: dict[str, float | str] = {
        "schema": SCHEMA,
        "name": machine.name,
        "title": machine.title,
        "kind": machine.kind,
    }
    lines = [f"{key} = {_value(value)}" for key, value in head.items()]
    for title, rows in tables.items():
        if rows:
            lines += ["", f"[{title}]", *(f"{_key(name)} = {_quantity(value)}" for name, value in rows)]
    return "\n".join(lines) + "\n"


def _quantity(quantity: Quantity) -> str:
    parts: dict[str, float | str | None] = {
        "value": quantity.value,
        "unit": quantity.unit,
        "source": quantity.source,
        "note": quantity.note or None,
        "low": quantity.low,
        "high": quantity.high,
    }
    return "{ " + ", ".join(f"{key} = {_value(value)}" for key, value in parts.items() if value is not None) + " }"


def _key(name: str) -> str:
    plain = name.replace("_", "").replace("-", "")
    return name if plain.isascii() and plain.isalnum() else _value(name)


def _value(value: float | str) -> str:
    """Write a number or a text; a basic string of TOML takes JSON's escapes."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
