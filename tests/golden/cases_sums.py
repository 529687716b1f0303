"""Every form in which sums are written, and how their rows are loaded; sums of few terms are in ``programs/``.

Streaming tiles have two texts where registers decide, for 32 of them (AVX-512) and for 16: both are in one file.
"""

from .programs import STENCILS
from .shown import stencil

_2D, _3D, _ONE_ROW = "streaming:t=2,s=8x16,rows=2", "streaming:t=2,s=4x8x16,rows=2", "hybrid:t=2,s=4x16,rows=1"

CASES = (
    # as it stands, and in the program's own order
    stencil("sums/jacobi2d_shuffles_and_loads", "jacobi2d", _ONE_ROW, "box_0_long"),
    stencil("sums/jacobi2d_float64", "jacobi2d", _ONE_ROW, "box_0_short", dtype="float64"),
    stencil("sums/heat2d_rows_shared", "heat2d", "hybrid:t=2,s=4x16,rows=2", "box_0_short"),
    stencil("sums/mean_streaming", STENCILS["mean"], _2D, "stage_0"),
    # columns of boxes with one weight, carried on along the rows
    stencil("sums/box_carried_on", "heat2d", _2D, "stage_0"),
    # rows of two planes
    stencil("sums/jacobi3d_two_planes", "j3d7pt", "hybrid:t=2,s=4x8x16", "box_0_short"),
    # input by input
    stencil("sums/distinct_input_by_input", STENCILS["distinct"], _ONE_ROW, "box_0_short", "box_0"),
    stencil("sums/distinct_input_by_input_strict", STENCILS["distinct"], _ONE_ROW, "box_0", "box_0_short", strict=True),
    stencil("sums/distinct_two_rows", STENCILS["distinct"], "hybrid:t=2,s=4x16,rows=2", "box_0_short", "box_0"),
    stencil("sums/distinct_five_rows_by_columns", STENCILS["distinct"], "hybrid:t=2,s=8x16,rows=5", "box_0"),
    stencil("sums/inside_larger_expression", STENCILS["inside"], _ONE_ROW, "box_0_short", "box_0"),
    stencil("sums/wide1d_input_by_input", STENCILS["wide"], "none", "box_0", "box_0_short"),
    # two results from four products, F(2, 3) and F(2, 2)
    stencil("sums/column_of_three", STENCILS["column"], _2D, "stage_0"),
    stencil("sums/column_of_five", STENCILS["star2"], _2D, "stage_0"),
    stencil("sums/box_of_columns", STENCILS["distinct"], _2D, "stage_0"),
    # loops over the reads along the rows
    stencil("sums/large_box_in_loops", STENCILS["large"], "none", "sum_0_of_1", "cells_0", "box_0"),
    stencil("sums/cube_of_columns", STENCILS["cube"], _3D, "rows_0_2x3"),
    stencil("sums/cube_few_registers", STENCILS["cube"], _3D, "stage_0"),
    stencil(
        "sums/large_box_at_ends", STENCILS["large"], "none", "sum_0_of_4", "sum_0_low", "sum_0_high", boundary="reflect"
    ),
    stencil("sums/cube_columns_in_registers", STENCILS["cube"], "hybrid:t=2,s=4x8x16,rows=1", "box_0_short"),
)
