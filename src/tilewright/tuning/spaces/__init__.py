"""Spaces of schedules: which tile sizes, bodies, sums and thread shapes are candidates."""
