"""tilewright: stencils in time tiles, with every free parameter chosen by analytic cost models.

The public names are loaded on first use, so that ``import tilewright`` costs next to nothing.
"""

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright import distributed, sparse, waves
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
    from tilewright.inputs.arrays import PerStep, per_step
    from tilewright.inputs.series import Results, load
    from tilewright.inputs.stencil import Stencil, stencil
    from tilewright.programs.stencil.boundaries import Boundary
    from tilewright.programs.stencil.catalogue import program
    from tilewright.programs.stencil.differences import diff, laplacian
    from tilewright.programs.stencil.points import Points
    from tilewright.programs.stencil.program import Program
    from tilewright.schedules.family import Tiling
    from tilewright.verbs.calibrate import calibrate, sensitivity
    from tilewright.verbs.energy.energy import compare, energy
    from tilewright.verbs.gradients.predict import predict_gradient
    from tilewright.verbs.gradients.vjp import adjoint, value_and_grad, vjp
    from tilewright.verbs.operators import (
        abs,  # noqa: A004  (tw.abs stands beside tw.sqrt)
        atan2,
        ceil,
        clip,
        conj,
        cos,
        exp,
        floor,
        floor_divide,
        imag,
        index,
        inside,
        isnan,
        log,
        maximum,
        minimum,
        mod,
        pow,  # noqa: A004
        real,
        round,  # noqa: A004
        sign,
        sin,
        sqrt,
        t,
        tan,
        tanh,
        where,
    )
    from tilewright.verbs.predict import choose_tiling, predict, select
    from tilewright.verbs.running.record import Run
    from tilewright.verbs.running.run import run
    from tilewright.verbs.tuning.plan import Plan
    from tilewright.verbs.tuning.supertune import supertune
    from tilewright.verbs.tuning.tune import tune
    from tilewright.verbs.validate import validate
    from tilewright.verbs.whatif import reuse, whatif
    from tilewright.workloads.annotated.verbs.annotate import annotate
    from tilewright.workloads.chains import chain
    from tilewright.workloads.codesign.area import area
    from tilewright.workloads.codesign.codesign import codesign
    from tilewright.workloads.pipelines import image
    from tilewright.workloads.pipelines.fuse import fuse
    from tilewright.workloads.pipelines.verbs import StencilPipeline, pipeline
    from tilewright.workloads.tables.align import Alignment, align
    from tilewright.workloads.tables.fill import fill
    from tilewright.workloads.tables.recurrence import Table, recurrence

    __version__: str

_HOMES = {
    "tilewright.workloads.tables.align": ("Alignment", "align"),
    "tilewright.workloads.annotated.verbs.annotate": ("annotate",),
    "tilewright.workloads.codesign.area": ("area",),
    "tilewright.workloads.codesign.codesign": ("codesign",),
    "tilewright.verbs.calibrate": ("calibrate", "sensitivity"),
    "tilewright.verbs.energy.energy": ("compare", "energy"),
    "tilewright.verbs.tuning.supertune": ("supertune",),
    "tilewright.verbs.whatif": ("reuse", "whatif"),
    "tilewright.verbs.gradients.predict": ("predict_gradient",),
    "tilewright.verbs.gradients.vjp": ("adjoint", "value_and_grad", "vjp"),
    "tilewright.verbs.operators": (
        *("abs", "atan2", "ceil", "clip", "conj", "cos", "exp", "floor", "floor_divide", "imag", "index", "inside"),
        *("isnan", "log", "maximum", "minimum", "mod", "pow", "real", "round", "sign", "sin", "sqrt", "t", "tan"),
        *("tanh", "where"),
    ),
    "tilewright.inputs.arrays": ("PerStep", "per_step"),
    "tilewright.workloads.pipelines.fuse": ("fuse",),
    "tilewright.workloads.pipelines.verbs": ("StencilPipeline", "pipeline"),
    "tilewright.verbs.predict": ("choose_tiling", "predict", "select"),
    "tilewright.verbs.running.record": ("Run",),
    "tilewright.verbs.running.run": ("run",),
    "tilewright.inputs.series": ("Results", "load"),
    "tilewright.verbs.tuning.plan": ("Plan",),
    "tilewright.inputs.stencil": ("Stencil", "stencil"),
    "tilewright.workloads.tables.fill": ("fill",),
    "tilewright.workloads.tables.recurrence": ("Table", "recurrence"),
    "tilewright.verbs.tuning.tune": ("tune",),
    "tilewright.verbs.validate": ("validate",),
    "tilewright.base.errors": (
        *("ArrayError", "IllegalTilingError", "TilewrightError", "TilewrightWarning", "ToolchainError", "TraceError"),
        *("UsageError", "WrongResultError"),
    ),
    "tilewright.programs.stencil.catalogue": ("program",),
    "tilewright.programs.stencil.differences": ("diff", "laplacian"),
    "tilewright.programs.stencil.points": ("Points",),
    "tilewright.programs.stencil.boundaries": ("Boundary",),
    "tilewright.programs.stencil.program": ("Program",),
    "tilewright.schedules.family": ("Tiling",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = {
    "chain": "tilewright.workloads.chains.chain",
    "distributed": "tilewright.distributed",
    "image": "tilewright.workloads.pipelines.image",
    "sparse": "tilewright.sparse",
    "waves": "tilewright.waves",
}
__all__ = ["load", "program", "run", "stencil"]
__all__ += ["adjoint", "predict_gradient", "value_and_grad", "vjp"]
__all__ += ["calibrate", "choose_tiling", "predict", "select", "sensitivity", "tune", "validate"]
__all__ += ["align", "annotate", "chain", "distributed", "fill", "fuse", "image", "pipeline", "recurrence", "sparse"]
__all__ += ["waves"]
__all__ += ["area", "codesign", "compare", "energy", "reuse", "supertune", "whatif"]
__all__ += ["abs", "atan2", "ceil", "clip", "conj", "cos", "exp", "floor", "floor_divide", "imag", "isnan", "log"]
__all__ += ["maximum", "minimum", "mod", "pow", "real", "round", "sign", "sin", "sqrt", "tan", "tanh", "where"]
__all__ += ["diff", "index", "inside", "laplacian", "per_step", "t"]
__all__ += ["Alignment", "Boundary", "PerStep", "Plan", "Points", "Program", "Results", "Run", "Stencil"]
__all__ += ["StencilPipeline", "Table", "Tiling"]
__all__ += ["ArrayError", "IllegalTilingError", "TilewrightError", "TilewrightWarning", "ToolchainError", "TraceError"]
__all__ += ["UsageError", "WrongResultError"]
__all__ += ["__version__"]


def __getattr__(name: str) -> object:
    """Load a public name on first use (PEP 562)."""
    if name == "__version__":
        from importlib import metadata

        value: object = metadata.version("tilewright")
    elif name in _MODULES:
        value = importlib.import_module(_MODULES[name])
    elif name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    else:
        module = sys.modules[__name__]  # in tracebacks Python then names the closest attribute
        raise AttributeError(f"module 'tilewright' has no attribute {name!r}", name=name, obj=module)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not, and what every module has."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
