"""Pipelines of stencils on this machine."""
