"""Fused groups of stencil pipelines: streamed through rings of rows on CPUs, tile by tile on GPUs."""
