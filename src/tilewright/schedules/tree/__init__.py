"""Schedule trees: nodes, affine bounds, and the order of execution."""
