"""``tilewright energy``: the energy of a tiling, what is best by energy, and constants from metered runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.base.options import Options, option
from tilewright.base.paths import write_text
from tilewright.cli import output
from tilewright.cli.options import Json
from tilewright.verbs.options import CompareOptions, EnergyOptions, FitOptions, MeterOptions

if TYPE_CHECKING:
    from tilewright.verbs.predict import MachineLike


class EnergyFiles(Options):
    """Metered runs, and the machine that is fitted to them."""

    fit: Path | None = option(None, "Fit the machine's constants to metered runs instead.", metavar="RUNS.csv")
    save: Path | None = option(None, "Write the fitted machine to a file.", "--output", "-o", metavar="FILE")
    append: Path | None = option(None, "Add the metered run to a file for --fit.", metavar="RUNS.csv", rare=True)


def energy(
    asked: EnergyOptions,
    compared: CompareOptions,
    metered: MeterOptions,
    fitted: FitOptions,
    files: EnergyFiles,
    program: Annotated[
        str | None, typer.Argument(metavar="PROGRAM", help="As for predict.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Model the energy of a program: P_stat T + N_tiles E_tile; needs no compiler and no device.

    Example: tilewright energy jacobi2d --machine k20c --shape 4096x4096 --steps 512
    """
    from tilewright.report import energy as tables

    if files.fit is not None:
        document = _fitted(files.fit, asked.machine, fitted, files.save)
        output.show(document, lambda: tables.fit(document), as_json)
        return
    if program is None or asked.shape is None:
        raise typer.BadParameter("give a program and its shape, such as: tilewright energy jacobi2d --shape 4096x4096")
    if metered.meter is not None:
        _metered(program, asked, metered, files.append, as_json=as_json)
        return
    from tilewright.programs.stencil.program import Program
    from tilewright.verbs.energy import energy as api
    from tilewright.verbs.load import load_any

    known = load_any(program)
    one = api.energy(known, **asked.keywords()).to_dict()
    if asked.tiling is not None or not isinstance(known, Program):
        output.show(one, lambda: tables.metered(one), as_json)
        return
    many = api.compare(known, **compared.keywords()).to_dict()
    output.show({**one, "comparison": many}, lambda: (tables.metered(one), tables.comparison(many)), as_json)


def _metered(program: str, asked: EnergyOptions, metered: MeterOptions, append: Path | None, *, as_json: bool) -> None:
    """Run a program under a power meter, or take a recorded trace, and possibly keep the run."""
    from tilewright.verbs.energy import runs as api

    found = api.meter_run(program, shape=asked.shape, steps=asked.steps, tiling=asked.tiling, **metered.keywords())
    if append is not None:
        count = api.append_run(append, found)
        output.note(f"{append} holds {count} run{'s' * (count != 1)}")
    output.tell(found, as_json)


def _fitted(path: Path, machine: "MachineLike", fitted: FitOptions, save: Path | None) -> dict[str, object]:
    """Fit the runs of a file and possibly write the machine."""
    from tilewright.verbs.energy import runs as api

    found = api.fit_energy(api.read_runs(path), machine, **fitted.keywords())
    if save is not None:
        from tilewright.machines.dump import to_toml

        write_text(save, to_toml(api.with_fit(machine, found)))
    return found.to_dict()
