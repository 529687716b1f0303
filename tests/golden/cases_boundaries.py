"""Reads outside the grid: every kind of boundary, alone and mixed, cell by cell, in vectors and in streaming rings."""

from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.forms import extend
from tilewright.programs.stencil.problem import make_problem

from .programs import STENCILS
from .shown import SHAPES, Case, stencil, text_of

KINDS = ("constant:0.5", "nearest", "reflect", "mirror", "wrap")
_HYBRID, _STREAMING = "hybrid:t=2,s=4x16,rows=1", "streaming:t=2,s=8x16,rows=1"

_AROUND = "ends_0", "border_0"


def _name(kind: str) -> str:
    return kind.partition(":")[0]


def _extended() -> str:
    """What runs for a grid that wraps in tiles of two steps: a larger grid with fixed edges, its copies filled anew."""
    extended = extend(make_problem(program("jacobi2d"), SHAPES[2], 2, boundary="wrap"), 2)
    assert extended is not None
    assert extended.around == ((2, 2), (2, 2))
    return text_of(extended.problem, _HYBRID, "c")


CASES = (
    # the cells of a row that lie near its ends
    stencil("boundaries/jacobi1d_fixed", "jacobi1d", "hexagonal:t=2,s=4", "cells_0", "box_0_short"),
    *(
        stencil(f"boundaries/jacobi1d_{_name(kind)}", "jacobi1d", "none", "cell_0", "cells_0", boundary=kind)
        for kind in KINDS
    ),
    # rows above and below, and the first and last vector of a row put together from others
    *(
        stencil(f"boundaries/jacobi2d_hybrid_{_name(kind)}", "jacobi2d", _HYBRID, "box_0_short", boundary=kind)
        for kind in ("constant:0.5", "reflect", "wrap")
    ),
    # what lies around a thread's rings in streaming tiles
    *(
        stencil(f"boundaries/star2_streaming_{_name(kind)}", STENCILS["star2"], _STREAMING, *_AROUND, boundary=kind)
        for kind in KINDS
    ),
    stencil("boundaries/laplacian3d_streaming_reflect", "laplacian3d", "streaming:t=2,s=4x8x16,rows=1",
            *_AROUND, "brim_0", boundary="reflect"),
    # mixes
    stencil("boundaries/jacobi1d_nearest_and_constant", "jacobi1d", "none", "cell_0", "cells_0",
            boundary=(("nearest", "constant:1"),)),
    stencil("boundaries/jacobi1d_fixed_and_mirror", "jacobi1d", "none", "cell_0", "cells_0", "box_0_short",
            boundary=(("fixed", "mirror"),)),
    stencil("boundaries/jacobi2d_wrap_and_fixed", "jacobi2d", "none", "cells_0", boundary=("wrap", "fixed")),
    stencil("boundaries/jacobi2d_reflect_and_constant", "jacobi2d", "none", "cells_0",
            boundary=("reflect", "constant:1")),
    stencil("boundaries/jacobi2d_streaming_mixed", "jacobi2d", _STREAMING, *_AROUND, "fetch",
            boundary=(("nearest", "constant:1"), ("fixed", "mirror"))),
    stencil("boundaries/heat2d_var_by_field", "heat2d_var", "none", "cells_0",
            boundary={"u": "reflect", "k": "nearest"}),
    Case(file="boundaries/jacobi2d_wrap_extended.c", about="jacobi2d that wraps, two steps a block, on a larger grid",
         write=_extended, parts=("box_0_short",)),
)  # fmt: skip
