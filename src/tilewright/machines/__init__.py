"""Where programs run: elementary hardware parameters, each with its provenance, and a catalogue of machines."""
