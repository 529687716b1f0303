"""Dynamic-programming tables: recurrences, scoring of alignments, and the NumPy reference."""
