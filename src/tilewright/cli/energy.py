"""``tilewright energy``: the energy of a tiling, what is best by energy, and constants from metered runs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.base.paths import write_text
from tilewright.cli import output
from tilewright.cli.options import BoundaryText, DType, Json, Tile, whole


def energy(
    program: Annotated[
        str | None, typer.Argument(metavar="PROGRAM", help="As for predict.", show_default=False)
    ] = None,
    shape: Annotated[str | None, typer.Option("--shape", metavar="AxB", help="Extents, such as 4096x4096.")] = None,
    steps: Annotated[int, typer.Option("--steps", metavar="T", parser=whole, help="Number of time steps.")] = 1,
    machine: Annotated[
        str, typer.Option("--machine", metavar="M", help="One of the catalogue, host, or a file.")
    ] = "k20c",
    tile: Tile = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="A measured time in place of the predicted one.")
    ] = None,
    cap: Annotated[float | None, typer.Option("--cap", metavar="W", help="Also choose under a power cap.")] = None,
    clocks: Annotated[
        str, typer.Option("--clocks", metavar="F,F", help="Clocks to choose from, over the machine's own.")
    ] = "1",
    model: Annotated[str, typer.Option("--model", help="exact, or published: (B.3) to (B.6) for jacobi2d.")] = "exact",
    scope: Annotated[
        str | None, typer.Option("--scope", help="Who shares the bandwidth: device (as printed) or per_sm.")
    ] = None,
    fit: Annotated[
        Path | None,
        typer.Option("--fit", metavar="RUNS.csv", help="Fit the machine's constants to metered runs instead."),
    ] = None,
    meter: Annotated[
        str | None,
        typer.Option(
            "--meter", metavar="M", help="Run it and meter it: rapl, nvml, or a recorded trace.csv with --between."
        ),
    ] = None,
    between: Annotated[
        str | None, typer.Option("--between", metavar="A:B", help="Seconds of the recorded trace: start and end.")
    ] = None,
    backend: Annotated[str, typer.Option("--backend", help="What runs under the meter: c, opencl or cuda.")] = "c",
    append: Annotated[
        Path | None, typer.Option("--append", metavar="RUNS.csv", help="Add the metered run to a file for --fit.")
    ] = None,
    train: Annotated[float, typer.Option("--train", help="Share of the runs to fit, at random.")] = 0.1,
    seed: Annotated[int, typer.Option("--seed", help="Of that choice.")] = 0,
    save: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the fitted machine to a file.")
    ] = None,
    dtype: DType = "float32",
    boundary: BoundaryText = "fixed",
    as_json: Json = False,
) -> None:
    """Model the energy of a program: P_stat T + N_tiles E_tile; needs no compiler and no device.

    Example: tilewright energy jacobi2d --machine k20c --shape 4096x4096 --steps 512
    """
    from tilewright.report import energy as tables

    if fit is not None:
        document = _fitted(fit, machine, (train, seed), save)
        output.show(document, lambda: tables.fit(document), as_json)
        return
    if program is None or shape is None:
        raise typer.BadParameter("give a program and its shape, such as: tilewright energy jacobi2d --shape 4096x4096")
    if meter is not None:
        _metered(program, shape, steps, (tile, meter, between, backend), append, as_json=as_json)
        return
    from tilewright.base.units import parse_shape
    from tilewright.programs.stencil.boundaries import parse_boundary
    from tilewright.programs.tables.table import Recurrence
    from tilewright.verbs.energy import energy as api
    from tilewright.verbs.load import load_any

    common: dict[str, Any] = {
        "shape": parse_shape(shape),
        "steps": steps,
        "machine": machine,
        "dtype": dtype,
        "boundary": parse_boundary(boundary),
        "model": model,
        "scope": scope,
    }
    known = load_any(program)
    one = api.energy(known, tiling=tile, seconds=seconds, **common).to_dict()
    if tile is not None or isinstance(known, Recurrence):
        output.show(one, lambda: tables.metered(one), as_json)
        return
    many = api.compare(known, cap=cap, clocks=_numbers(clocks), **common).to_dict()
    output.show({**one, "comparison": many}, lambda: (tables.metered(one), tables.comparison(many)), as_json)


def _metered(
    program: str,
    shape: str,
    steps: int,
    how: tuple[str | None, str, str | None, str],
    append: Path | None,
    *,
    as_json: bool,
) -> None:
    """Run a program under a power meter, or take a recorded trace, and possibly keep the run."""
    from tilewright.base.units import parse_shape
    from tilewright.verbs.energy import meter as api

    tile, meter, between, backend = how
    span = None
    if between is not None:
        start, _, end = between.partition(":")
        span = (_numbers(start)[0], _numbers(end)[0])
    found = api.meter_run(
        program, shape=parse_shape(shape), steps=steps, tiling=tile, meter=meter, between=span, backend=backend
    )
    if append is not None:
        count = api.append_run(append, found)
        output.note(f"{append} holds {count} run{'s' * (count != 1)}")
    if as_json:
        output.emit(found.to_dict())
    output.say(str(found), as_json)


def _fitted(path: Path, machine: str, how: tuple[float, int], save: Path | None) -> dict[str, object]:
    """Fit the runs of a file and possibly write the machine."""
    from tilewright.verbs.energy import fit as api

    found = api.fit_energy(api.read_runs(path), machine, train=how[0], seed=how[1])
    if save is not None:
        from tilewright.machines.dump import to_toml

        write_text(save, to_toml(api.with_fit(machine, found)))
    return found.to_dict()


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"numbers are separated by commas, such as 0.5,1, got {text!r}") from None
