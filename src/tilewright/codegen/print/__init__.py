"""Printers of the IR: one base, and per language what differs from it.

``elements`` has the names of element types, ``base`` what all languages of the C family write alike. ``c`` prints C
with OpenMP and vectors; ``gpu`` prints the one text that is CUDA C++ and OpenCL C behind macros of what ``dialects``
says that these call things.
"""
