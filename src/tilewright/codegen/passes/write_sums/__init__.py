"""Weighted sums of reads, written for a block of results: one file per form."""
