"""Stencils: flat expressions over fields, problems with boundaries, dependences, rounding, and the NumPy reference."""
