"""Time models of tiles on CPUs: caches, streaming, and untiled sweeps."""
