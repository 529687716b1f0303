"""Units, exact integers, fingerprints, errors, documents, options and records: what every other layer may use."""
