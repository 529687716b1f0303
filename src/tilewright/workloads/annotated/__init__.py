"""Annotated C: loops in C files, parsed, rewritten, tuned, and written back."""
