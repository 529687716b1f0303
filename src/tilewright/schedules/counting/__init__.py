"""Counts of what schedule trees run and move."""
