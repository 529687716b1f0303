"""The options of verbs and of the commands that call them: one record each, whose fields are the verb's keywords.

What commands say of an option stands here alone. Nothing that takes long to load is imported, since commands are made
from these records before anybody has asked for one.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.base.options import Count, Options, Refusal, option

if TYPE_CHECKING:
    from tilewright.programs.stencil.boundaries import BoundarySpec
    from tilewright.programs.stencil.points import Points, SourceList
    from tilewright.runtime.simulation import Callback
    from tilewright.schedules.tiling import Tiling


def _boundary(text: str) -> "BoundarySpec":
    from tilewright.programs.stencil.boundaries import parse_boundary

    return parse_boundary(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(Options):
    """How :func:`tilewright.run` computes."""

    steps: int = option(
        "Number of time steps; a recurrence's table is filled once.", kind=Count, metavar="T", offered=None
    )
    boundary: "BoundarySpec" = option(
        "fixed, constant:VALUE, nearest, reflect, mirror or wrap (periodic); per axis 'wrap,fixed'; "
        "per side 'nearest/fixed'; per field 'u=wrap;v=fixed'.",
        default="fixed",
        reader=_boundary,
    )
    backend: str = option("auto, c, numpy, opencl or cuda; opencl:NAME takes a certain device.", default="auto")
    tiling: "Tiling | str | None" = option(
        "A tiling such as hybrid:t=16,s=8x64 or none; the model's choice by default.",
        "--tile",
        "--tiling",
        default=None,
        metavar="TILE",
    )
    dtype: Any = option("Element type; that of --input by default, else float32.", default=None)
    threads: int | None = option("Threads; all by default.", default=None, kind=int, metavar="N")
    strict: bool = option(
        "Keep the order of operations exactly: bit-equal for + - * / and sqrt.", default=False, kind=bool, rare=True
    )
    out: Any = None  # an array or a tuple of them, a file, or a series of states that the result is written into
    every: int | None = option(
        "Look every K steps; a value that is not finite ends the run.",
        default=None,
        kind=int,
        metavar="K",
        least=1,
        rare=True,
    )
    callback: "Callback | None" = None  # called at every look; True ends the run
    until: float | None = option(
        "End when no value changes by more than this per step.", default=None, kind=float, metavar="CHANGE", rare=True
    )
    # truth values of the grid's shape, of a command the file that holds them
    where: Any = option(
        "A .npy file or picture: cells where it is 0 keep their value.",
        default=None,
        kind=Path,
        metavar="FILE",
        rare=True,
    )
    # what is added to new values in every step, of a command the texts
    sources: "Mapping[str, SourceList] | SourceList | None" = option(
        "Add a value to a cell in every step, such as 8,8=1.0.",
        "--source",
        default=None,
        kind=list[str],
        metavar="CELL=VALUE",
        rare=True,
    )
    receivers: "Mapping[str, Points] | Points | None" = None  # what is recorded
    levels: bool = False  # return every time level that a next run needs
    record: bool = False  # return a Run
    memory: int | str | None = None  # bytes, for a run out of core
    resume: bool = option(
        "With --checkpoint: go on from there, on any number of ranks.", default=False, kind=bool, rare=True
    )
    checkpoint: str | os.PathLike[str] | None = option(
        "With --distributed: keep the state, every --every steps.",
        default=None,
        kind=Path,
        metavar="FOLDER",
        rare=True,
    )
    axes: Sequence[int] | None = None  # those of the arrays that are the program's; the others number grids


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles(Options):
    """What a run on the command line reads, writes and checks."""

    shape: str | None = option("Extents, outermost first; those of --input by default.", default=None, metavar="AxB")
    inputs: tuple[Path, ...] = option(
        "A .npy file or a picture; repeat it for every field. A .npz file holds fields and levels by name "
        "(u, u_prev), and so does a .zarr or .h5 file that a run wrote. "
        "A colour picture is computed by channel. A recurrence takes FASTA files.",
        "--input",
        default=(),
        kind=list[Path],
        metavar="FILE",
    )
    outputs: tuple[Path, ...] = option(
        "A .npy file or a picture; repeat it for every updated field. A .npz, .zarr or .h5 file holds all "
        "that a run needs to go on from it.",
        "--output",
        default=(),
        kind=list[Path],
        metavar="FILE",
    )
    scalars: tuple[str, ...] = option(
        "Value of a scalar; repeat it for every one. smith_waterman: matrix, match, mismatch, gap_open, gap_extend.",
        "--set",
        default=(),
        kind=list[str],
        metavar="NAME=VALUE",
    )
    snapshots: Path | None = option(
        "Write u-000100.npy beside u.npy, and so on, every K steps; .npz files can be gone on from. A .zarr "
        "or .h5 file gets all of them, .vti files are for ParaView.",
        default=None,
        kind=Path,
        metavar="FILE",
        rare=True,
    )
    seed: int = option("Seed of the random data that replaces --input.", default=0, kind=int, least=0, rare=True)
    check: bool = option(
        "Compare every cell with the float64 NumPy reference; exit 1 beyond the bound.", default=False, kind=bool
    )
    distributed: bool = option(
        "Under mpiexec: on all ranks, each with a block of the grid.", default=False, kind=bool, rare=True
    )
    topology: str | None = option("Ranks per axis, -1 where MPI decides.", default=None, metavar="AxB", rare=True)

    @property
    def written(self) -> tuple[Path, ...]:
        """All files that are written."""
        return self.outputs if self.snapshots is None else (*self.outputs, self.snapshots)


_UNWATCHED = Refusal(("every", "callback", "until", "where", "record"))
_NO_PASS = Refusal(("checkpoint",), hint="out of core, resume=True goes on from the last pass")
_NO_AXES = Refusal(("axes",), hint="give arrays in memory")
REFUSED: dict[str, tuple[Refusal, ...]] = {
    "a run in memory": (
        Refusal(
            ("checkpoint",),
            "a checkpoint= is kept by runs on ranks",
            "give arrays of tilewright.distributed.Array",
        ),
    ),
    "a run that writes a series": (
        Refusal(("axes",), "a run over axes writes no series of states", "give out= an array"),
    ),
    "a run over axes": (_UNWATCHED, _NO_PASS, Refusal(("sources", "receivers"))),
    "a run out of core": (_UNWATCHED, _NO_PASS, _NO_AXES),
    "a run on distributed arrays": (
        Refusal(("callback", "until", "where", "record")),
        _NO_AXES,
        Refusal(("out", "memory")),
    ),
    "a run on Dask arrays": (
        _UNWATCHED,
        _NO_PASS,
        _NO_AXES,
        Refusal(("out",), "{kind} is lazy and takes no out", "store its result with to_zarr or da.store"),
        Refusal(
            ("receivers",),
            "{kind} takes no receivers, whose cells lie in several tasks",
            "run it in memory, out of core or on ranks",
        ),
    ),
    # of the command
    "--distributed": (
        Refusal(("check", "until", "where", "snapshots"), "{kind} does not go with {flag}", "run on one process"),
    ),
    "a run on one process": (
        Refusal(("topology", "checkpoint", "resume"), "--topology, --checkpoint and --resume go with --distributed"),
    ),
    "a checked run": (Refusal(("until",), "--check computes all steps, so it does not go with --until"),),
    "a colour picture": (
        Refusal(("snapshots", "until"), "{kind} is computed by channel, so --snapshots and --until do not apply to it"),
    ),
    "a table": (
        Refusal(
            ("strict", "boundary"),
            "--strict and --boundary are for stencils; what lies outside a table is part of its recurrence",
        ),
        Refusal(
            ("every", "until", "where", "snapshots", "sources"),
            "{flag} is for stencils, which march in time; {kind} is filled once",
        ),
    ),
}
"""The options that do not go with each kind of run, checked in this order."""


def refuse(kind: str, *records: Options) -> None:
    """Refuse the options that do not go with a kind of run."""
    for refusal in REFUSED[kind]:
        refusal.check(kind, records)
