"""Pipelines of stencils over pictures and other grids: stages, fused groups, their costs and their code."""
