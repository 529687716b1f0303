"""Energies, comparisons, fits, bottlenecks and sweeps as tables for people, made of their JSON documents."""

from collections.abc import Mapping
from typing import Any

from tilewright.base.tables import Pairs, Shown, Table, table
from tilewright.base.units import format_seconds, format_shape
from tilewright.report.tables import number

Document = Mapping[str, Any]


def metered(result: Document) -> Pairs:
    """Show the energy of one tiling, part by part."""
    total, span = result["joules"] or 1.0, f"{result['low']:.3g} to {result['high']:.3g}"
    facts = {
        "tiling": result["tiling"],
        "rule": result["rule"],
        "time": format_seconds(result["seconds"]),
        "energy": f"{result['joules']:.4g} J ({span} J, constants {result['source']})",
        "power": f"{result['watts']:.4g} W",
        **({"warning": result["warning"]} if result["warning"] else {}),
    }
    for part in ("static", "off_chip", "on_chip", "arithmetic"):
        facts[part.replace("_", " ")] = f"{result[part]:.4g} J, {100 * result[part] / total:.1f} %"
    if result["intervals"]:
        facts["interval"] = "\n".join(result["intervals"])
    title = f"{result['program']} {format_shape(result['shape'])}, {result['steps']} steps on {result['machine']}"
    return Pairs(facts, title)


def comparison(result: Document) -> Shown:
    """Show what is best by every metric, and the Pareto set."""
    rows = [(f"least {metric}", *_point(point)) for metric, point in result["best"].items()]
    if result["cap_watts"] is not None:
        point = result["capped"]
        name = f"fastest within {result['cap_watts']:g} W"
        rows.append((name, *(_point(point) if point else ("nothing is within it", "", "", "", ""))))
    rows += [("Pareto: time, energy", *_point(point)) for point in result["pareto"]]
    columns = ("chosen by", "tiling", ">clock", ">time", ">joules", ">watts")
    title = f"{result['points']:,} tilings; does the fastest one take the least energy?"
    warnings = filter(None, [result["warning"]])
    return (table(columns, rows, title), result["answer"], *result["intervals"], *warnings)


def fit(result: Document) -> Shown:
    """Show fitted constants and how they predict the runs held out."""
    values = [
        (name, f"{each['value']:.4g}", f"{each['low']:.3g} to {each['high']:.3g}")
        for name, each in result["constants"].items()
    ]
    scores = [
        (name, str(each["runs"]), f"{100 * each['fitted']:.2f} %", f"{100 * each['machine']:.2f} %")
        for name, each in result["held_out"].items()
    ]
    alike = [f"not told apart by these runs: {', '.join(group)}" for group in result["alike"]]
    return (
        table(("constant", ">value", "as good a fit"), values, f"fitted to {result['trained_on']} runs"),
        table(("held out", ">runs", ">RMSE fitted", f">RMSE {result['machine']}"), scores),
        *alike,
    )


def explanation(result: Document) -> Shown:
    """Show bottlenecks, what more of each resource would bring, and the effect of k."""
    resources = [
        (each["name"], each["kind"], f"{100 * each['use']:.1f} %", f"{100 * each['slack']:.1f} %", _mark(each))
        for each in result["resources"]
    ]
    gains = [(each["change"], f"{each['factor']:.3f}x") for each in result["speedups"]]
    tables = [
        table(("resource", "kind", ">used", ">slack", ""), resources, "bottlenecks"),
        table(("the same tile with", ">speed"), gains),
    ]
    if result["k_effect"]:
        rows = [(str(each["k"]), format_seconds(each["seconds"])) for each in result["k_effect"]]
        tables.append(table((">k", ">time"), rows, "effect of k, tiles at a time on a multiprocessor"))
    over = f"{100 * result['overhead']:.1f} % over the ideal time of {format_seconds(result['ideal_seconds'])}"
    if result["printed_overhead"] is not None:
        over += f"; the printed estimate (8.5) says {100 * result['printed_overhead']:.1f} %"
    meaning = "work: the share of the time that a resource is busy; held: the share of it that tiles occupy"
    above = [_ABOVE] if any(each["name"] == "memory" and each["use"] > 1 for each in result["resources"]) else []
    return (*tables, over, meaning, *above)


_ABOVE = (
    "memory above 100 %: every tile is charged as if it had the whole device's bandwidth, as the paper prints it; a "
    "tile takes the longer of its arithmetic and its transfers, so more of the shorter brings nothing"
)
_UNITS = {"time": "s", "traffic": "B", "energy": "J", "power": "W", "edp": "J s", "ed2p": "J s^2"}


def strategies(result: Document) -> Shown:
    """Show the best tiling of every family, why the winner wins, and the feasible sets."""
    rows = [
        (each["family"], each["tiling"], f"{each['value']:.4g}", f"{100 * each['loss']:.1f} %", f"{each['points']:,}")
        for each in result["families"]
    ]
    sets = [
        (" and ".join(each["families"]), f"{each['points']:,}", each["tiling"], f"{each['value']:.4g}")
        for each in result["feasible_sets"]
    ]
    metric = f">{result['metric']}, {_UNITS[result['metric']]}"
    return (
        table(("family", "best tiling", metric, ">worse by", ">feasible"), rows, "across strategies"),
        table(("feasible for exactly", ">sizes", "best there", metric), sets),
        *result["reasons"],
        *result["intervals"],
    )


def sweep(result: Document) -> Shown:
    """Show a what-if sweep."""
    rows = [
        (
            f"{row['factor']:g}",
            row["amount"],
            row["tiling"],
            format_seconds(row["seconds"]),
            number(row["joules"]),
            f"{100 * row['efficiency']:.1f} %",
            "does not fit" if row["reuse_loss"] is None else f"{100 * row['reuse_loss']:.1f} %",
            row["bound_by"],
        )
        for row in result["rows"]
    ]
    columns = (">factor", ">amount", "best tiling", ">time", ">joules", ">of ideal", ">re-use loses", "bound by")
    notes = [f"the efficiency drops at {', '.join(result['drops_at'])}"] if result["drops_at"] else []
    notes += [*result["intervals"], *filter(None, [result["warning"]])]
    if result["largest_shape"]:
        notes.append(f"the largest grid that fits the memory is {format_shape(tuple(result['largest_shape']))}")
    return (table(columns, rows, f"{result['program']} on {result['machine']}, {result['vary']} varied"), *notes)


def losses(loss: Mapping[str, Mapping[str, float | None]]) -> Table:
    """Show what running one program with another's best tiling loses."""
    names = list(loss)
    rows = [
        (giver, *("-" if row[each] is None else f"{100 * (row[each] or 0.0):.1f} %" for each in names))
        for giver, row in loss.items()
    ]
    return table(("tiling of", *(f">runs {name}" for name in names)), rows, "loss of another program's tiling")


def _point(point: Document) -> tuple[str, ...]:
    return (
        point["tiling"],
        f"{point['clock']:g}",
        format_seconds(point["seconds"]),
        f"{point['joules']:.4g}",
        f"{point['watts']:.4g}",
    )


def _mark(resource: Document) -> str:
    return "saturated" if resource["saturated"] else ""
