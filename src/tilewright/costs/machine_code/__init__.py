"""What a GPU's machine code says of its speed before anything runs: an upper bound, no measurement."""
