"""Which schedule to pick: spaces of candidates, ranking, search and selection."""
