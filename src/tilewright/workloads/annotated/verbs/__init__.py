"""Annotated C: files in, tuned files out."""
