"""What programs may hold: time levels, fields, statements in order, masks, scalars, functions, types."""

from .programs import STENCILS
from .shown import stencil

CASES = (
    stencil("programs/wave1d_two_levels", STENCILS["wave1d"], "none", "cells_0", "entry"),
    stencil("programs/wave2d_streaming", "wave2d", "streaming:t=2,s=8x16,rows=1", "stage_0", "load_0", "store_0"),
    stencil("programs/levels_three", STENCILS["levels"], "none", "cells_0"),
    stencil("programs/scaled_by_scalars", STENCILS["scaled"], "none", "cells_0"),
    stencil("programs/varied_coefficient", STENCILS["varied"], "none", "cells_0"),
    stencil("programs/varied_coefficient_streaming", "heat2d_var", "streaming:t=2,s=8x16,rows=1", "stage_0"),
    stencil("programs/forced_source", STENCILS["forced"], "hybrid:t=2,s=4x16,rows=1", "box_0_short"),
    stencil("programs/pair_in_order", STENCILS["pair"], "none", "cells_0", "cells_1", "box_1_short", "entry"),
    stencil("programs/pair_hexagonal", STENCILS["pair"], "hexagonal:t=2,s=8", "entry"),
    stencil("programs/together_exchanged", STENCILS["together"], "none", "cells_0", "cells_1", "entry"),
    stencil("programs/masked_where", STENCILS["masked"], "none", "cells_0", "box_0", "box_0_short"),
    stencil("programs/chosen_comparisons", STENCILS["chosen"], "none", "cells_0", "box_0"),
    stencil("programs/switched_by_scalar", STENCILS["switched"], "none", "cells_0", "box_0", "box_0_short"),
    stencil("programs/running_recurrence", STENCILS["running"], "none"),
    stencil("programs/running_recurrence", STENCILS["running"], "none", to="cuda"),
    stencil("programs/limited_int32", STENCILS["limited"], "none", "cells_0", "box_0", "box_0_short", dtype="int32"),
    stencil("programs/product_nonlinear", STENCILS["product"], "none", "cells_0", "box_0"),
    stencil("programs/functions", STENCILS["functions"], "none", "cells_0", dtype="float64"),
    stencil("programs/functions", STENCILS["functions"], "none", to="cuda"),
    stencil("programs/overroot_reciprocal", STENCILS["overroot"], "none", "cells_0", "box_0"),
    stencil("programs/overroot_strict", STENCILS["overroot"], "none", "cells_0", "box_0", strict=True),
    stencil("programs/asymmetric_reads", STENCILS["asymmetric"], "hexagonal:t=2,s=8", "entry", "cells_0"),
    stencil("programs/turning_complex64", STENCILS["turning"], "none", "cells_0", "box_0", dtype="complex64"),
    stencil("programs/scaled_complex128", STENCILS["scaled"], "none", "cells_0", "box_0_long", dtype="complex128"),
    stencil("programs/column_complex64", STENCILS["column"], "streaming:t=2,s=8x16", "stage_0", dtype="complex64"),
    stencil("programs/scaled_float16", STENCILS["scaled"], "none", "cells_0", "box_0_short", dtype="float16"),
    stencil("programs/wave_bfloat16", "wave2d", "streaming:t=2,s=8x16,rows=1", "stage_0", dtype="bfloat16"),
    stencil("programs/masked_where", STENCILS["masked"], "none", to="opencl"),
    stencil("programs/scaled_by_scalars", STENCILS["scaled"], "none", to="cuda"),
    stencil("programs/forced_streaming", STENCILS["forced"], "streaming:t=2,s=8x16,rows=1", "stage_0", "load_1"),
    stencil("programs/many_grids", "j2d5pt", "none", "entry", "batch", batch=True),
    stencil("programs/pair_together", STENCILS["pair"], "none", to="cuda"),
)
