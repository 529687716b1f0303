"""Tiling families, one file each: sizes, legality, and the schedule tree."""
