"""Processes of our own that compile and measure."""
