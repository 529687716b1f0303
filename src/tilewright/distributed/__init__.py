"""Grids beyond memory and beyond one machine: slabs that stream from disk, blocks of MPI ranks, Dask's chunks.

All of them cut a grid into boxes that run for several steps on their own, see :mod:`tilewright.distributed.windows`.
"""
