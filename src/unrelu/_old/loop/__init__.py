"""The only loop, when it stops, what it records."""
