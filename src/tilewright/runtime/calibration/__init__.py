"""Micro-benchmarks that measure the parameters of a machine."""
