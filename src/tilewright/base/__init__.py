"""Units, exact integer helpers, fingerprints, errors and records: what every other layer may use."""
