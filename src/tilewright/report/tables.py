"""Tables for people, made of results and nothing else."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tilewright.base.tables import Pairs, Shown, Table, table
from tilewright.base.units import format_bytes, format_rate, format_seconds, format_shape
from tilewright.costs.energy.price import Joules
from tilewright.costs.interval import Interval
from tilewright.costs.time import Costs
from tilewright.machines.machine import PARAMETERS, Machine
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.printing import arguments_of, lines
from tilewright.programs.stencil.program import Program

AUTHORS = "measured on the authors' code"
"""What a paper gives of a program was measured on what its authors' generator wrote."""
_UNITS = {"gcells_per_second": "GCells/s", "gflops_per_second": "GFlops/s"}
_MOST_LISTED = 12
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def programs(stencils: Iterable[Program]) -> Table:
    """List programs, one per row."""
    rows = [(p.name, f"{p.rank}D", ", ".join(p.fields), str(p.loads), str(p.flops), p.summary) for p in stencils]
    return table(("program", "rank", "fields", ">loads", ">flops", "what it computes"), rows)


def program(stencil: Program) -> Pairs:
    """Show what there is to know about one program."""
    analysis = stencil.analysis
    names = [statement.field for statement in stencil.statements]
    facts = {
        "what it computes": stencil.summary or "(no description)",
        "one step": "\n".join(lines(stencil)),
        "fields": ", ".join(stencil.fields),
        "scalars": ", ".join(arguments_of(stencil)) or "none",
        "loads, flops": f"{stencil.loads}, {stencil.flops} per cell and step",
        "reach": reach_text(stencil),
        "stages": " then ".join(" and ".join(names[i] for i in stage) for stage in analysis.stages),
        "copies kept": ", ".join(f"{f}: {n}" for f, n in zip(stencil.fields, analysis.copies, strict=True)),
        "dependences": _shorten([str(d) for d in (*analysis.dependences, *analysis.sweep)]),
    }
    return Pairs(facts, title=f"{stencil.name} ({stencil.rank}D)")


def program_dict(stencil: Program) -> dict[str, object]:
    """Return what there is to know about one program as plain data."""
    analysis = stencil.analysis
    names = [statement.field for statement in stencil.statements]
    return {
        "name": stencil.name,
        "summary": stencil.summary,
        "rank": stencil.rank,
        "fields": list(stencil.fields),
        "updated": list(stencil.updated),
        "scalars": list(arguments_of(stencil)),
        "defaults": {name: str(v) if isinstance(v, complex) else v for name, v in stencil.defaults},
        "expression": list(lines(stencil)),
        "reads": {s.field: [read.text for read in s.reads] for s in stencil.statements},
        "loads": stencil.loads,
        "flops": stencil.flops,
        "reach": [list(pair) for pair in stencil.reach],
        "stages": [[names[i] for i in stage] for stage in analysis.stages],
        "copies": dict(zip(stencil.fields, analysis.copies, strict=True)),
        "dependences": [
            {"kind": d.kind, "time": d.time, "offset": list(d.offset), "cause": d.cause}
            for d in (*analysis.dependences, *analysis.sweep)
        ],
    }


def reach_text(stencil: Program) -> str:
    """Write how far a program reaches: below and above the cell, per axis.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> reach_text(program("smith_waterman")), reach_text(program("heat2d"))
    ('-1..0 x -1..0', '1')
    """
    ends = {end for pair in stencil.reach for end in pair}
    if len(ends) == 1:
        return str(ends.pop())
    return " x ".join(f"{-low}..{high}" for low, high in stencil.reach)


def machines(all_machines: Iterable[Machine]) -> Table:
    """List machines, one per row."""
    rows = [
        (
            m.name,
            m.kind,
            f"{m.sm_count.value:g}",
            f"{m.vector_width.value:g}",
            format_bytes(m.shared_bytes.value),
            _with_prefix(m.dram_bandwidth.value, "B/s"),
            m.title,
        )
        for m in all_machines
    ]
    return table(("machine", "kind", ">SMs or cores", ">lanes", ">on chip", ">bandwidth", "name"), rows)


def machine(one: Machine) -> Table:
    """Show every value of a machine with its unit and where it comes from."""
    rows = []
    for name, quantity in one.known().items():
        rows.append((name, *_quantity(quantity), f"{PARAMETERS[name].meaning}. {quantity.note}".strip(" .")))
    rows += [(f"c_iter {name}", *_quantity(quantity), quantity.note) for name, quantity in one.c_iter]
    return table(("parameter", ">value", "range", "source", "meaning and provenance"), rows, f"{one.name}: {one.title}")


def prediction(tiling: str, costs: Costs, interval: Interval, constants: Mapping[str, str], title: str) -> Pairs:
    """Show what one tiling costs."""
    facts = {
        "tiling": tiling,
        "time": format_seconds(costs.seconds),
        f"{interval.share:.0%} interval": str(interval),
        "off-chip traffic": format_bytes(costs.dram_bytes),
        "bound by": costs.bound_by,
    }
    if costs.energy is not None:
        facts["energy"] = energy_text(costs.energy)
    shown = {"seconds", "dram_bytes", "bound_by", "joules"}
    facts |= {_UNITS.get(k, k.replace("_", " ")): number(v) for k, v in costs.to_dict().items() if k not in shown}
    return Pairs({**facts, **constants}, title)


def candidates(rows: Sequence[tuple[str, Costs, Interval]], constants: Mapping[str, str], title: str) -> Shown:
    """Rank tilings with their costs, best first, below what they are of and above where the numbers come from."""
    cells = [
        (
            str(rank),
            tiling,
            format_seconds(costs.seconds),
            interval.span,
            f"{costs.gcells_per_second:.4g}",
            format_bytes(costs.dram_bytes),
            number(costs.joules),
            costs.bound_by,
        )
        for rank, (tiling, costs, interval) in enumerate(rows, 1)
    ]
    expected = f"{rows[0][2].share:.0%} interval"
    columns = (">rank", "tiling", ">predicted", expected, ">GCells/s", ">off chip", ">joules", "bound by")
    sources = "; ".join(dict.fromkeys(interval.source for _, _, interval in rows))
    return table(columns, cells, title), f"intervals by {sources}", described(constants)


def sourced(quantity: Quantity) -> str:
    """Write a value with where it comes from, and the range of an estimate."""
    spread = "" if quantity.low is None or quantity.high is None else f", {quantity.low:.3g} to {quantity.high:.3g}"
    value = format_rate(quantity.value, "B") if quantity.unit == "B/s" else f"{quantity.value:.4g} {quantity.unit}"
    return f"{value} ({quantity.source}{spread})"


def constants(machine: Machine, **first: Quantity) -> dict[str, str]:
    """Say where a prediction's constants come from: some by name, and how many of the machine's have which source."""
    sources = Counter(value.source for value in machine.known().values())
    counts = ", ".join(f"{count} {source}" for source, count in sorted(sources.items()))
    return {**{name: sourced(value) for name, value in first.items()}, f"values of {machine.name}": counts}


def described(constants: Mapping[str, str]) -> str:
    """Write constants in a line."""
    return "; ".join(f"{name}: {text}" for name, text in constants.items())


def energy_text(energy: Joules) -> str:
    """Write an energy with its range and provenance."""
    return f"{energy.joules:.4g} J ({energy.low:.3g} to {energy.high:.3g}, {energy.source}), {energy.watts:.4g} W"


def number(value: object) -> str:
    """Write a value of any plain type for people.

    >>> number(1234567), number(0.000012345), number(None), number((2, 3))
    ('1,234,567', '1.234e-05', '-', '2x3')
    """
    if value is None:
        return "-"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.4g}"
    if isinstance(value, tuple | list):
        return format_shape(tuple(value)) or "-"
    return str(value)


def _quantity(quantity: Quantity) -> tuple[str, str, str]:
    unit = "" if quantity.unit == "1" else f" {quantity.unit}"
    value = format_bytes(quantity.value) if quantity.unit == "B" else f"{quantity.value:.6g}{unit}"
    spread = "" if quantity.low is None or quantity.high is None else f"{quantity.low:.3g} to {quantity.high:.3g}"
    return value, spread, quantity.source


def _with_prefix(value: float, unit: str) -> str:
    for factor, prefix in _PREFIXES:
        if value >= factor:
            return f"{value / factor:.4g} {prefix}{unit}"
    return f"{value:.4g} {unit}"


def _shorten(items: list[str]) -> str:
    more = [f"… and {len(items) - _MOST_LISTED} more"] if len(items) > _MOST_LISTED else []
    return "\n".join([*items[:_MOST_LISTED], *more])
