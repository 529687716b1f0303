"""Which tiling to pick: search spaces, feasibility on a machine, ranking and selection."""
