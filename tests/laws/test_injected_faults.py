"""Errors put into the package, one per mechanism: the law of everything finds each, and prints a small case of it.

Every fault has a program of its own, of which nothing is known from runs without the fault.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright.codegen import expression
from tilewright.codegen.boxes import rows
from tilewright.codegen.print import c_prelude, gpu
from tilewright.distributed import windows
from tilewright.inputs import memo
from tilewright.programs.stencil import adjoint, edges, forms, points
from tilewright.runtime.points import Sources
from tilewright.runtime.session import Session
from tilewright.runtime.simulation import Simulation
from tilewright.schedules import prism
from tilewright.schedules.families import skewed
from tilewright.schedules.geometry import Skew
from tilewright.schedules.streaming import levels as pipeline
from tilewright.verbs.running import problem
from tilewright.verbs.running.grids import batch, engine

from . import case_run
from .case import PROGRAMS, WHOLE, Case
from .case_run import judge
from .harness import tools

pytestmark = [
    pytest.mark.skipif(tools() is None, reason="no C compiler"),
    pytest.mark.usefixtures("private_folders"),
    pytest.mark.filterwarnings("ignore::tilewright.TilewrightWarning"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is put in place of what, and a case that meets it among others."""

    owner: Any
    name: str
    made: Callable[[Any], Any]  # of what is there
    case: dict[str, Any]
    left: dict[str, Any] = field(default_factory=dict)  # of the case, once it is small


def fewer(pairs: Any) -> Any:
    """One cell less on every side."""
    return tuple((max(0, low - 1), max(0, high - 1)) for low, high in pairs)


def leaning(kind: type) -> Callable[..., Any]:
    """Tiles that lean by one too little."""
    return lambda **sizes: kind(**{**sizes, "slope": max(0, sizes["slope"] - 1)})


def steep(kind: type) -> type:
    """Diamonds that are narrower by two, so that their sides rise too fast where they are as narrow as can be."""

    def made(self: Any, **sizes: int) -> None:
        kind.__init__(self, **{**sizes, "pitch": max(2, sizes["pitch"] - 2)})

    return type(kind.__name__, (kind,), {"__init__": made, "__slots__": ()})


FAULTS = {
    "a boundary": Fault(
        owner=rows,
        name="mapped",
        made=lambda there: lambda index, size, kind: there(index, size, "reflect" if kind == "mirror" else kind),
        case={"boundary": "mirror", "threads": 2, "result": "levels"},
        left={"boundary": "mirror"},
    ),
    "a condition on a face": Fault(
        owner=edges,
        name="FACES",
        made=lambda _: ("neumann", "robin"),
        case={"boundary": "dirichlet", "target": "numpy", "coefficient": "row"},
        left={"boundary": "dirichlet"},
    ),
    "a periodic block": Fault(
        owner=forms,
        name="_around",
        made=lambda there: lambda *given: tuple(max(0, each - 1) for each in there(*given)),
        case={"boundary": "wrap", "family": "hybrid", "coefficient": "per cell"},
        left={"boundary": "wrap", "family": "hybrid"},
    ),
    "weights of points": Fault(
        owner=points,
        name="_along",
        made=lambda there: lambda *given: (there(*given)[0], there(*given)[1][:, ::-1]),
        case={"points": "between", "program": "wave", "strict": True},
        left={"points": "between"},
    ),
    "when sources emit": Fault(
        owner=Sources,
        name="added",
        made=lambda there: lambda self, first, steps, dtype: np.roll(there(self, first, steps, dtype), 1, axis=1),
        case={"points": "cells", "boundary": "nearest", "threads": 3},
        left={"points": "cells"},
    ),
    "a mask": Fault(
        owner=problem,
        name="with_mask",
        made=lambda there: lambda given, where: there(given, ~np.asarray(where)),
        case={"mask": "cells", "boundary": "reflect", "layout": "by columns"},
        left={"mask": "cells"},
    ),
    "which step it is": Fault(
        owner=Session,
        name="_scalars_from",
        made=lambda there: lambda self, first, steps: there(self, max(0, first - 1), steps),
        case={"coefficient": "per step", "result": "looks", "layout": "backwards"},
        left={"coefficient": "per step", "result": "looks"},
    ),
    "levels": Fault(
        owner=Simulation,
        name="levels",
        made=lambda there: (
            lambda self, targets, *, deep: {
                name: (each[0],) * len(each) for name, each in there(self, targets, deep=deep).items()
            }
        ),
        case={"program": "wave", "result": "levels", "family": "skewed"},
        left={"program": "wave", "result": "levels"},
    ),
    "when a run is looked at": Fault(
        owner=engine,
        name="stops",
        made=lambda there: lambda steps, every: there(steps, every and every + 1),
        case={"result": "looks", "size": "wide", "coefficient": "row"},
        left={"result": "looks"},
    ),
    "grids of a batch": Fault(
        owner=batch._Axes,
        name="back",
        made=lambda there: lambda self, grids, shape: there(self, grids[::-1], shape),
        case={"batch": "back", "coefficient": "row", "boundary": "mirror"},
        left={"batch": "back"},
    ),
    "legality of parallelograms": Fault(
        owner=skewed, name="Skew", made=leaning, case={"family": "skewed", "threads": 2}, left={"family": "skewed"}
    ),
    "legality of classic cuts": Fault(
        owner=prism, name="Skew", made=leaning, case={"family": "hybrid", "size": "wide"}, left={"family": "hybrid"}
    ),
    "legality of diamonds": Fault(
        owner=prism,
        name="Diamond",
        made=steep,
        case={"program": "star", "family": "diamond", "tile": 1, "boundary": "nearest", "threads": 2},
        left={"program": "star", "family": "diamond", "tile": 1},
    ),
    "bands that wait for each other": Fault(
        owner=Skew,
        name="delay",
        made=lambda _: lambda self, height, tiles: tiles * 0,
        case={"family": "skewed", "tile": 1, "threads": 2, "boundary": "reflect"},
        left={"family": "skewed"},
    ),
    "threads of a group that meet": Fault(
        owner=gpu.GpuPrinter,
        name="barrier",
        made=lambda _: lambda *_: None,
        case={"family": "hybrid", "target": "opencl", "layout": "by columns"},
        left={"family": "hybrid", "target": "opencl"},
    ),
    "numbers of 16 bits rounded to nearest": Fault(
        owner=c_prelude,
        name="_filled",
        made=lambda there: lambda *given: there(*given).replace(" + 0x7fff", ""),
        case={"dtype": "bfloat16", "strict": True, "boundary": "nearest", "threads": 2},
        left={"dtype": "bfloat16", "strict": True},
    ),
    "quotients of whole numbers": Fault(
        owner=expression._Lowering,
        name="operate",
        made=lambda there: lambda self, op, args: there(self, "div" if op == "floor_divide" else op, args),
        case={"program": "bits", "dtype": "int16", "boundary": "reflect", "family": "skewed"},
        left={"program": "bits", "dtype": "int16"},
    ),
    "products of complex numbers": Fault(
        owner=expression._ComplexLowering,
        name="product",
        made=lambda there: lambda self, a, b: there(self, a, self.of_complex("conj", [b])),
        case={"dtype": "complex64", "boundary": "mirror", "family": "streaming"},
        left={"dtype": "complex64"},
    ),
    "a window of storage": Fault(
        owner=pipeline,
        name="_reach",
        made=lambda there: lambda *given: fewer(there(*given)),
        case={"family": "streaming", "boundary": "nearest", "threads": 2},
        left={"family": "streaming"},
    ),
    "a slab of a grid on disk": Fault(
        owner=windows,
        name="depths",
        made=lambda there: lambda *given: fewer(there(*given)),
        case={"engine": "disk", "boundary": "reflect", "target": "numpy", "size": "tall"},
        left={"engine": "disk"},
    ),
    "a chunk of a lazy grid": Fault(
        owner=windows,
        name="depths",
        made=lambda there: lambda *given: fewer(there(*given)),
        case={"engine": "dask", "boundary": "reflect", "target": "numpy"},
        left={"engine": "dask"},
    ),
    "an adjoint": Fault(
        owner=adjoint._Maker,
        name="_ways",
        made=lambda there: lambda *given: [next(iter(there(*given)))],
        case={"result": "gradient", "boundary": "nearest", "coefficient": "per cell"},
        left={"result": "gradient", "boundary": "nearest"},
    ),
}


@pytest.mark.parametrize("mechanism", FAULTS)
def test_a_fault_is_found_and_its_case_is_small(
    mechanism: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tally: Callable[[str], None]
) -> None:
    fault = FAULTS[mechanism]
    case, number = Case(**fault.case), [*FAULTS].index(mechanism)
    added = number + 1 if case.dtype in WHOLE else f"0.00{number:02}1"
    for name, text in PROGRAMS.items():
        monkeypatch.setitem(case_run.PROGRAMS, name, text.replace("a * ", f"(a + {added}) * ", 1))
    monkeypatch.setattr(fault.owner, fault.name, fault.made(getattr(fault.owner, fault.name)))
    with pytest.raises(AssertionError, match="of which this is left") as found:
        judge(case, tmp_path)
    memo.forget()
    text = str(found.value)
    left = re.search(r"of which this is left:\n(Case\(.*\))\n", text)
    assert left is not None
    assert re.match(r"array \d|\d+ arrays", text), "it is an error, not a result"
    small = eval(left[1], {"Case": Case})  # noqa: S307
    assert small == Case(**fault.left)
    assert "import tilewright as tw" in text
    tally(f"{mechanism}: {text.partition(chr(10))[0][:100]}")
