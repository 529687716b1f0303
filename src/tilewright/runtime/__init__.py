"""The world: compilers, devices, caches, workers, formats of files."""
