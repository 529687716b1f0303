"""The papers' equations as printed, one module per model: what ``--model published`` answers with."""
