"""Time models of hexagonal tiles on GPUs: exact, and as published."""
