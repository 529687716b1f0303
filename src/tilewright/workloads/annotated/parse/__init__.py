"""Annotated C -> loop nests: the annotation language, its modules, and the C that it may stand in."""
