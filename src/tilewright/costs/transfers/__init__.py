"""Cost models of disks and networks."""
