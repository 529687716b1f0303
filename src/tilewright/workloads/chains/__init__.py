"""Matrix chains: the least data movement and time of a chain's products."""
