"""Rewritings of functions, each ``Function -> Function``, one verb per file, with what stands before and after.

    flush_subnormals       subnormal numbers are zero                LLVM: ``denormal-fp-math``

Their order is that of ``_passes`` in :mod:`tilewright.codegen.emit`. What is done otherwise for speed is written so
from the start, since it depends on what a statement reads: :mod:`tilewright.codegen.tapes` regroups expressions before
they are lowered, :mod:`tilewright.codegen.sums` and :mod:`tilewright.codegen.boxes` write sums, blocks of registers,
ends of rows and neighbours. Constants are folded where operations are made (:mod:`tilewright.codegen.ir.expressions`).
"""
