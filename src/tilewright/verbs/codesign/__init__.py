"""Hardware/software codesign and silicon area."""
