"""What is computed: stencils as flat expressions, problems with boundaries, dependences, and the NumPy reference."""
