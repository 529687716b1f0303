"""Pipelines of stencils over pictures and other grids: stages, their problems, and built-in ones."""
