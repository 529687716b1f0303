"""Runs: arrays in and out, forcing, monitoring, and grids that memory does not hold."""
