"""Kernels of matrices that are stored by diagonals, and of the vectors of Krylov methods, for CPUs and GPUs."""
