"""Points from some of their distances: what was measured, where the points lie, and which of them the data fix."""
