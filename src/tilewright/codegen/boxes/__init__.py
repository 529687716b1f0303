"""Statements over boxes of cells on CPUs: what sweeps and all tiles but streaming ones call."""
