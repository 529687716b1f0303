"""Machine files: TOML with provenance per value, read strictly, and the catalogue of those that come along.

A file is::

    schema = 1
    name = "gtx980"
    title = "NVIDIA GeForce GTX 980"
    kind = "gpu"

    [quantities]
    sm_count = { value = 16, unit = "1", source = "paper", note = "table 2" }

    [c_iter]
    jacobi2d = { value = 3.39e-8, unit = "s", source = "paper", note = "table 4" }

    [area]
    vector_unit = { value = 0.04282, unit = "mm^2", source = "paper", note = "beta_VU" }
"""

import functools
import importlib.resources
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated

from tilewright.base import documents
from tilewright.base.documents import Check
from tilewright.base.errors import UsageError, meant
from tilewright.base.paths import read_bounded
from tilewright.machines.machine import AREA_PARAMETERS, PARAMETERS, Machine
from tilewright.machines.parameters import KINDS, Parameter, Quantity

SCHEMA = 1
MAX_BYTES = 2**20
HOST = "host"
Text = Annotated[str, Check("a text that is not empty", bool)]
_LIKE = (
    "take what nobody measured from a machine like it, which `tilewright machines NAME` lists, "
    'with source = "estimated" and a range from low to high'
)
_NAMES = (
    "gtx980", "titanx", "k20c", "k20c-regression", "gtx590", "gtx780", "gtx750", "c2070", "c1060",
    "p100", "v100", "a100", "h100", "h200", "rtx4090",
    "zen3",
)  # fmt: skip


def names() -> tuple[str, ...]:
    """Every machine by name: the papers' first, then today's, then ``host``."""
    return (*_NAMES, HOST)


def canonical(name: str) -> str:
    """Return the name of the catalogue, or ``host``, that is meant by one in capitals or with blanks, dashes or ``_``.

    >>> canonical("RTX 4090"), canonical("A100"), canonical("my.toml")
    ('rtx4090', 'a100', 'my.toml')
    """
    return _BARE.get(_bare(name), name)


def _bare(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter not in " -_")


_BARE = {_bare(name): name for name in names()}


def load(name: str) -> Machine:
    """Load a machine of the catalogue by a name that :func:`canonical` knows, or a machine file by its ``.toml`` path.

    ``host`` has no file: :func:`tilewright.machines.defaults.host_machine` makes it of the description of the CPU.

    >>> load("gtx980").sm_count.value
    16
    """
    if canonical(name) in _NAMES:
        return _load_named(canonical(name))
    if name.endswith(".toml"):
        return parse(read_bounded(Path(name), MAX_BYTES, "machine file"), name)
    if name == HOST:
        raise UsageError("the machine 'host' has no file: it is this computer", "give its name, machine='host'")
    hint = f"{meant(name, names())} `tilewright machines` lists them all".strip()
    if os.path.exists(name):  # noqa: PTH110  (a name may be no path at all, which pathlib raises at)
        kind = "a folder" if os.path.isdir(name) else "a file that does not end in .toml"  # noqa: PTH112
        raise UsageError(f"a machine is a name or a machine file, FILE.toml, and {name!r} is {kind}", hint)
    raise UsageError(f"there is no machine {name!r}", hint)


def of_architecture(name: str) -> Machine | None:
    """Return the first GPU of the catalogue by name that has an architecture, or None.

    >>> of_architecture("sm_20").title, of_architecture("")
    ('NVIDIA Tesla C2070 (Fermi)', None)
    """
    return next((load(each) for each in sorted(_NAMES) if name and load(each).architecture == name), None)


@functools.lru_cache(maxsize=len(_NAMES))
def _load_named(name: str) -> Machine:
    text = importlib.resources.files(__package__).joinpath("catalogue", f"{name}.toml").read_text(encoding="utf-8")
    return parse(text, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A machine file, its quantities not looked at."""

    schema: object = None
    name: Text
    title: Text
    kind: Annotated[str, Check(f"one of {', '.join(KINDS)}", lambda value: value in KINDS)]
    quantities: Mapping[str, object]
    c_iter: Mapping[str, object] = field(default_factory=dict)
    area: Mapping[str, object] = field(default_factory=dict)


def parse(text: str | bytes, where: str) -> Machine:
    """Parse the text of a machine file."""
    kind = f"the machine file {where!r}"
    data = documents.decode_toml(text, kind)
    if not data:
        raise UsageError(f"{kind} is empty", "`tilewright calibrate -o FILE.toml` writes one of this machine")
    documents.refuse_unknown(data, [each.name for each in fields(_File)], kind)
    if data.get("schema") != SCHEMA or isinstance(data.get("schema"), bool):
        hint = "it was written for another version of tilewright"
        raise UsageError(
            f"{kind} must have schema = {SCHEMA}, got {data.get('schema')!r}",
            hint if "schema" in data else f"a machine file begins with schema = {SCHEMA}",
        )
    _nothing_missing(data, where)
    file = documents.parse(_File, data, kind)
    iteration = {name: _quantity(value, "s", f"c_iter.{name} of {where!r}") for name, value in file.c_iter.items()}
    return Machine(
        name=file.name,
        title=file.title,
        kind=file.kind,
        c_iter=tuple(iteration.items()),
        area=tuple(_by_schema(file.area, AREA_PARAMETERS, where).items()),
        **_quantities(file.quantities, file.kind, where),
    )


def _quantities(table: Mapping[str, object], kind: str, where: str) -> dict[str, Quantity]:
    schema = {name: each for name, each in PARAMETERS.items() if kind in each.kinds}
    result = _by_schema(table, schema, where)
    for name, quantity in result.items():
        if (schema[name].positive or schema[name].whole) and not quantity.value > 0:
            raise UsageError(f"{name} of {where!r} must be above 0, got {quantity.value!r}")
        if schema[name].whole and quantity.value != int(quantity.value):
            raise UsageError(f"{name} of {where!r} must be a whole number, got {quantity.value!r}")
    wrong = [text for name, quantity in result.items() for text in _implausible_facts(name, quantity, result)]
    if wrong:
        raise UsageError(f"the machine file {where!r} has {'; '.join(wrong)}", "look at the units: Hz, B, s, J, W")
    return result


def _implausible_facts(name: str, quantity: Quantity, quantities: Mapping[str, Quantity]) -> Iterator[str]:
    """Say what no machine has: a value beyond its parameter's range, or more than that of which it is a part."""
    parameter, unit = PARAMETERS[name], "" if quantity.unit == "1" else f" {quantity.unit}"
    low, high = parameter.between
    if not low <= quantity.value <= high:
        yield f"{name} = {quantity.value:g}{unit}, where {low:g} to {high:g}{unit} are plausible"
    whole = quantities.get(parameter.within)
    if whole is not None and quantity.value > whole.value:
        yield f"{name} = {quantity.value:g}{unit}, which is more than {parameter.within} = {whole.value:g}{unit}"


def _nothing_missing(data: Mapping[str, object], where: str) -> None:
    """Refuse a file that lacks something, and name all of it."""
    missing = [key for key in ("name", "title", "kind") if key not in data]
    for title, schema in (("quantities", PARAMETERS), ("area", AREA_PARAMETERS)):
        table = data.get(title, {} if title == "quantities" else None)
        if isinstance(table, Mapping):
            documents.refuse_unknown(table, schema, f"the machine file {where!r}")
            lacking = [name for name, parameter in schema.items() if parameter.needed and name not in table]
            listed = ", ".join(lacking)
            missing += [f"{title}.{listed if len(lacking) == 1 else f'{{{listed}}}'}"] if lacking else []
    if missing:
        raise UsageError(f"the machine file {where!r} lacks {', '.join(missing)}", _LIKE)


def _by_schema(table: Mapping[str, object], schema: Mapping[str, Parameter], where: str) -> dict[str, Quantity]:
    documents.refuse_unknown(table, schema, f"the machine file {where!r}")
    return {name: _quantity(value, schema[name].unit, f"{name} of {where!r}") for name, value in table.items()}


def _quantity(data: object, unit: str, where: str) -> Quantity:
    quantity = documents.parse(Quantity, data, where)
    if quantity.unit != unit:
        raise UsageError(f"the unit of {where} must be {unit!r}, got {quantity.unit!r}")
    return quantity


def to_toml(machine: Machine) -> str:
    """Write a machine as a machine file: TOML with the provenance and the range of every value.

    >>> from tilewright.machines.files import load, parse
    >>> parse(to_toml(load("gtx980")), "a copy") == load("gtx980")
    True
    """
    tables = {"quantities": machine.known().items(), "c_iter": machine.c_iter, "area": machine.area}
    head = {"schema": SCHEMA} | {key: getattr(machine, key) for key in ("name", "title", "kind")}
    lines = [f"{key} = {_value(value)}" for key, value in head.items()]
    for title, rows in tables.items():
        if rows:
            lines += ["", f"[{title}]", *(f"{_key(name)} = {_inline_table(value)}" for name, value in rows)]
    return "\n".join(lines) + "\n"


def _inline_table(quantity: Quantity) -> str:
    parts = {**asdict(quantity), "note": quantity.note or None}
    return "{ " + ", ".join(f"{key} = {_value(value)}" for key, value in parts.items() if value is not None) + " }"


def _key(name: str) -> str:
    plain = name.replace("_", "").replace("-", "")
    return name if plain.isascii() and plain.isalnum() else _value(name)


def _value(value: float | str) -> str:
    if isinstance(value, str):  # a basic string of TOML takes JSON's escapes
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
