"""The few passes over the matrix that every method is made of."""
