"""Threads of a kernel take subnormal numbers for zero.

Before:                                        After:
    #pragma omp parallel                           #pragma omp parallel
    {                                              {
                                                     const uint64_t mode = tw_flush();
      …                                              …
                                                     tw_restore(mode);
    }                                              }

Some processors compute with numbers below the smallest normal one (1.2e-38 in float32) many times slower than with
others, and the front of a wave that spreads into a grid at rest is made of them. What is decided by such numbers
changes, so strict kernels do without, and so do those of 16 bits, whose subnormal numbers pass through float32's.
"""

from dataclasses import replace

from tilewright.codegen import ir


def flush_subnormals(function: ir.Function) -> ir.Function:
    """Let every region of a function's threads take subnormal numbers for zero."""

    def region(node: ir.Stmt) -> tuple[ir.Stmt, ...]:
        return (replace(node, flush=True),) if isinstance(node, ir.Parallel) else (node,)

    return ir.map_function(function, stmt=region)
