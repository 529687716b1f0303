"""Meters of energy, and the kernels that a calibration of energy runs."""
