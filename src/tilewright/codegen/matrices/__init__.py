"""Kernels of matrices: stored by diagonals, Krylov methods, and chains of products."""
