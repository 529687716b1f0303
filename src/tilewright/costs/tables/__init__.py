"""Cost models of tables and alignments."""
