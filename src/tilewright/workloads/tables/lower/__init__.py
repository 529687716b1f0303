"""Kernels of tables: recurrences and alignments, in orthogonal tiles."""
