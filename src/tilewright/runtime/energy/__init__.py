"""Meters of energy."""
