"""Annotated loops: what transforms make of a nest of C loops, and its texts for processors and GPUs."""
