"""What a user hands over and gets back: programs, arrays of every kind, their files, and what calls remember."""
