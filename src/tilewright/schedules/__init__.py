"""How a program is cut: a file per tiling family, the trees that they return, and their interpreters."""
