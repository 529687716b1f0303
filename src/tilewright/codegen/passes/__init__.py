"""What changes how a kernel computes, not what: one verb per file, with what stands before and after.

    regroup_sums           long sums in chains, by rows              LLVM: reassociation; Halide: ``rfactor``
    write_sums             a weighted sum for a block of results     one candidate per file
    carry_sums             columns of boxes, added up once           scalar replacement (Callahan et al., PLDI 1990)
    block_registers        several results at a time                 unroll and jam; Halide: ``tile``, ``unroll``
    split_ends             rows: whole vectors, and ends             TVM: ``LoopPartition``; PPCG: full, partial tiles
    shuffle_neighbours     unaligned loads from aligned vectors      stream shift (Eichenberger et al., PLDI 2004)
    flush_subnormals       subnormal numbers are zero                LLVM: ``denormal-fp-math``

What a tile stages in memory of its own is in the schedule tree (``CopyIn`` and ``CopyOut``, lowered by
:mod:`tilewright.codegen.lower.private`) or in the layout of streaming tiles with their dimension-lifted rows
(:mod:`tilewright.codegen.streaming.copies`): no pass adds it afterwards. Constants are folded where operations are made
(:mod:`tilewright.codegen.ir.build`).
"""
