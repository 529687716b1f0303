"""What commands do with files: formats, job descriptions, and output."""
