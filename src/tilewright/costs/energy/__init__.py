"""Cost model of energy: constants, fits, and its price."""
