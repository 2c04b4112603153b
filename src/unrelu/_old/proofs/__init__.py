"""What the data prove: which rows have one place, and how far off the fit can be."""
