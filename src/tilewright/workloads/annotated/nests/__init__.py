"""Annotated C loops: loop nests, affine accesses, and exact dependences."""
