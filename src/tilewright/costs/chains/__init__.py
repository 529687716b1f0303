"""Traffic and time of matrix chains."""
