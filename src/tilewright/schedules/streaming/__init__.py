"""What streaming tiles consist of: blocks, rims and levels."""
