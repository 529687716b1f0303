"""Compilers: which one there is, how it is called, and what it made."""
