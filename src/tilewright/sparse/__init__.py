"""Matrices stored by diagonals without padding, their kernels, and the PETSc plug-in; loaded as ``tw.sparse``."""

from tilewright.sparse import krylov
from tilewright.sparse.dia import Dia
from tilewright.sparse.solve import Solution, cg
from tilewright.sparse.stencil import from_stencil

__all__ = ["Dia", "Solution", "cg", "from_stencil", "krylov"]
