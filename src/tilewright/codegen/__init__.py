"""The text of a kernel: a small loop-nest IR, lowerings into it, and one printer per dialect."""
