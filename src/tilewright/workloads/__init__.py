"""Workloads in one folder each, from what their users write to their results; the core imports none of them."""
