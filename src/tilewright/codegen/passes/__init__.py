"""What changes how a kernel computes, not what: one verb per file.

regroup_sums           long sums in chains, by rows                LLVM: reassociation
write_sums             a weighted sum for a block of results       one candidate per file
shuffle_neighbours     unaligned loads from aligned vectors        Eichenberger et al.: stream shift
"""
