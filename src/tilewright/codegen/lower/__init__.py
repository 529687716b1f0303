"""Schedule trees -> the loop-nest IR, one interpreter per kind of target."""
