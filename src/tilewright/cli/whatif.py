"""``tilewright whatif``: the costs as the problem or the machine moves."""

from dataclasses import replace
from pathlib import Path

import typer

from tilewright.base.options import Options, option
from tilewright.base.tables import Shown
from tilewright.cli import output
from tilewright.cli.options import Json, ProgramName
from tilewright.verbs.options import ReuseOptions, WhatIfOptions


class WhatIfOutput(Options):
    """What the command compares and draws beside the sweep."""

    reuse: str | None = option(None, "Also: the loss of these programs' best tilings on each other.", metavar="P,P")
    plot: Path | None = option(None, "Draw the sweep: .png, .svg.", metavar="FILE")


def whatif(program: ProgramName, asked: WhatIfOptions, more: WhatIfOutput, as_json: Json = False) -> None:
    """Vary the problem or the machine and choose again; needs no compiler and no device.

    Example: tilewright whatif heat2d --machine gtx980 --shape 4096x4096 --steps 512 --vary bandwidth
    """
    from tilewright.programs.stencil.program import Program
    from tilewright.report import energy as tables
    from tilewright.verbs import whatif as api
    from tilewright.verbs.dispatch import server_of
    from tilewright.verbs.load import load_any, load_program, steps_of

    known = load_any(program)
    asked = replace(asked, steps=steps_of(known, asked.steps))
    if more.reuse is not None and not isinstance(known, Program):
        raise typer.BadParameter(f"--reuse compares stencils, and {known.name} is a {server_of(known).KIND}")
    one = api.whatif(known, **asked.keywords()).to_dict()
    parts: list[Shown] = [tables.sweep(one)]
    if more.reuse is not None:
        names = [load_program(name) for name in (program, *more.reuse.split(","))]
        lost = api.reuse(names, **ReuseOptions.of(asked.keywords()).keywords())
        one["reuse"] = lost
        parts.append(tables.losses(lost))
    if more.plot is not None:
        tables.draw_sweep(one, more.plot)
    output.show(one, lambda: parts, as_json)
