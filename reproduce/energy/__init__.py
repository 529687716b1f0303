"""Micro-benchmarks of single operations under a power meter, and the constants that they give."""
