"""The world: compilers, devices, caches, workers, files. The only layer with side effects."""
