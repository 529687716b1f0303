"""tilewright: stencils in time tiles, with every free parameter chosen by analytic cost models.

The public names are loaded on first use, so that ``import tilewright`` costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright import distributed, sparse
    from tilewright.api import chain, image
    from tilewright.api.align import Alignment, align
    from tilewright.api.annotate import annotate
    from tilewright.api.area import area
    from tilewright.api.calibrate import calibrate, sensitivity
    from tilewright.api.codesign import codesign
    from tilewright.api.energy import compare, energy
    from tilewright.api.fusion import fuse
    from tilewright.api.operators import (
        abs,  # noqa: A004  (tw.abs stands beside tw.sqrt)
        cos,
        exp,
        floor,
        log,
        maximum,
        minimum,
        sin,
        sqrt,
        tanh,
        where,
    )
    from tilewright.api.pipelines import StencilPipeline, pipeline
    from tilewright.api.plan import Plan
    from tilewright.api.predict import choose_tiling, predict, select
    from tilewright.api.record import Run
    from tilewright.api.run import run
    from tilewright.api.stencil import Stencil, stencil
    from tilewright.api.supertune import supertune
    from tilewright.api.table import Table, fill, recurrence
    from tilewright.api.tune import tune
    from tilewright.api.validate import validate
    from tilewright.api.whatif import reuse, whatif
    from tilewright.base.errors import (
        ArrayError,
        IllegalTilingError,
        TilewrightError,
        TilewrightWarning,
        ToolchainError,
        TraceError,
        UsageError,
        WrongResultError,
    )
    from tilewright.programs.catalogue import program
    from tilewright.programs.differences import diff, laplacian
    from tilewright.programs.points import Points
    from tilewright.programs.problem import Boundary
    from tilewright.programs.stencil import Program
    from tilewright.tilings.tiling import Tiling

    __version__: str

_HOMES = {
    "tilewright.api.align": ("Alignment", "align"),
    "tilewright.api.annotate": ("annotate",),
    "tilewright.api.area": ("area",),
    "tilewright.api.codesign": ("codesign",),
    "tilewright.api.calibrate": ("calibrate", "sensitivity"),
    "tilewright.api.energy": ("compare", "energy"),
    "tilewright.api.supertune": ("supertune",),
    "tilewright.api.whatif": ("reuse", "whatif"),
    "tilewright.api.operators": (
        "abs",
        "cos",
        "exp",
        "floor",
        "log",
        "maximum",
        "minimum",
        "sin",
        "sqrt",
        "tanh",
        "where",
    ),
    "tilewright.api.fusion": ("fuse",),
    "tilewright.api.pipelines": ("StencilPipeline", "pipeline"),
    "tilewright.api.predict": ("choose_tiling", "predict", "select"),
    "tilewright.api.record": ("Run",),
    "tilewright.api.run": ("run",),
    "tilewright.api.plan": ("Plan",),
    "tilewright.api.stencil": ("Stencil", "stencil"),
    "tilewright.api.table": ("Table", "fill", "recurrence"),
    "tilewright.api.tune": ("tune",),
    "tilewright.api.validate": ("validate",),
    "tilewright.base.errors": (
        "ArrayError",
        "IllegalTilingError",
        "TilewrightError",
        "TilewrightWarning",
        "ToolchainError",
        "TraceError",
        "UsageError",
        "WrongResultError",
    ),
    "tilewright.programs.catalogue": ("program",),
    "tilewright.programs.differences": ("diff", "laplacian"),
    "tilewright.programs.points": ("Points",),
    "tilewright.programs.problem": ("Boundary",),
    "tilewright.programs.stencil": ("Program",),
    "tilewright.tilings.tiling": ("Tiling",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [  # noqa: RUF022  (grouped by purpose)
    "stencil",
    "run",
    "tune",
    "predict",
    "select",
    "choose_tiling",
    "calibrate",
    "sensitivity",
    "validate",
    "chain",
    "recurrence",
    "fill",
    "align",
    "annotate",
    "pipeline",
    "fuse",
    "image",
    "area",
    "codesign",
    "supertune",
    "energy",
    "compare",
    "whatif",
    "reuse",
    "program",
    "sparse",
    "distributed",
    "abs",
    "cos",
    "exp",
    "floor",
    "log",
    "maximum",
    "minimum",
    "sin",
    "sqrt",
    "tanh",
    "where",
    "diff",
    "laplacian",
    "Alignment",
    "Boundary",
    "Points",
    "Plan",
    "Program",
    "Run",
    "Stencil",
    "Table",
    "StencilPipeline",
    "Tiling",
    "ArrayError",
    "IllegalTilingError",
    "TilewrightError",
    "TilewrightWarning",
    "ToolchainError",
    "TraceError",
    "UsageError",
    "WrongResultError",
    "__version__",
]


def __getattr__(name: str) -> object:
    """Load a public name on first use (PEP 562)."""
    if name == "__version__":
        from importlib import metadata

        value: object = metadata.version("tilewright")
    elif name in {"chain", "image"}:
        value = importlib.import_module(f"tilewright.api.{name}")
    elif name in {"distributed", "sparse"}:
        value = importlib.import_module(f"tilewright.{name}")
    elif name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'tilewright' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not, and what every module has."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
