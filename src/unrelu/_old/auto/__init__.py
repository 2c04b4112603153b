"""What is tried, in which order, and why."""
