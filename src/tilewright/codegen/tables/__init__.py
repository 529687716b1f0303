"""Kernels of dynamic-programming tables: recurrences and alignments, in orthogonal tiles."""
