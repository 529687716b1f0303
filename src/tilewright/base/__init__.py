"""Units, exact integer helpers, fingerprints, errors and records: what every other room may use."""
