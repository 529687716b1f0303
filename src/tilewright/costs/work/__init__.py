"""What tiles move and compute, by family and for arrays of sizes, whatever the machine."""
