"""The world: compilers, caches, processors, files. The only room with side effects."""
