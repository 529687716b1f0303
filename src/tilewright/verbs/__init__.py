"""The public verbs, one file per verb group: the only place where the rooms are wired together."""
