"""Gradients through runs."""
