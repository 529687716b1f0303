"""Codesign: designs, their workloads, Pareto sets, and what bounds them."""
