"""Matrix chains and their loop orders."""
