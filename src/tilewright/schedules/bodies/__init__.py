"""How the statements of a tile are written: register blocks, forms of sums, unrolling."""
