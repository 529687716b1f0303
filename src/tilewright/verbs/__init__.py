"""The public verbs: runs, predictions, tuning, reports; a sub-package per subject."""
