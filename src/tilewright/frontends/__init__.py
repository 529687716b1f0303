"""What a user writes -> programs: traced Python functions."""
