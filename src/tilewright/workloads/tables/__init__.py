"""Dynamic-programming tables: recurrences and alignments, from what is written to what is filled."""
