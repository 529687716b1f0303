"""Tables and alignments on this machine."""
