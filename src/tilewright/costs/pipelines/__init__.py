"""Cost models of fused pipelines."""
