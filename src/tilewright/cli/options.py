"""Arguments and options that several commands share."""

from typing import Annotated

import typer


def whole(text: str | int) -> int:
    """Read a whole number, also one such as 1e3."""
    if isinstance(text, int):  # a default, which typer hands over as it is
        return text
    try:
        number = float(text)
        good = number.is_integer()
    except ValueError:
        good = False
    if not good:
        raise typer.BadParameter(f"a whole number such as 1000 or 1e3 is wanted, got {text!r}")
    return int(text) if text.lstrip("+-").isdecimal() else int(number)


Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on standard output; tables go to standard error.")
]
ProgramName = Annotated[
    str,
    typer.Argument(
        metavar="PROGRAM",
        help="A built-in program (see `tilewright programs`), or FILE.py:FUNCTION, which runs your own file.",
        show_default=False,
    ),
]
Shape = Annotated[str, typer.Option("--shape", metavar="AxB", help="Extents, outermost first, such as 4096x4096.")]
StepsOrOnce = Annotated[
    int | None,
    typer.Option(
        "--steps", metavar="T", parser=whole, help="Number of time steps; a recurrence's table is filled once."
    ),
]
DType = Annotated[str, typer.Option("--dtype", help="Element type, as NumPy names it: float32, int16, …")]
BoundaryText = Annotated[
    str,
    typer.Option(
        "--boundary",
        help="fixed, constant:VALUE, nearest, reflect, mirror or wrap (periodic); per axis 'wrap,fixed'; "
        "per side 'nearest/fixed'; per field 'u=wrap;v=fixed'.",
    ),
]
Tile = Annotated[
    str | None,
    typer.Option(
        "--tile", metavar="TILE", help="A tiling such as hybrid:t=16,s=8x64 or none; the model's choice by default."
    ),
]
