"""Verbs over tables and alignments."""
