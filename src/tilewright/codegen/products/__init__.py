"""Dense products of matrices in registers: micro-kernels for chains and for annotated loops."""
