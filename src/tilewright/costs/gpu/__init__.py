"""Time models of kernels on GPUs: instructions, threads, and streaming."""
