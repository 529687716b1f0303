"""Search among the variants of an annotated loop."""
