"""Schedule trees: nodes, affine bounds, the order of execution, and the axes of tiles."""
