"""What a completed matrix is made of, and what a disagreement with the data costs."""
