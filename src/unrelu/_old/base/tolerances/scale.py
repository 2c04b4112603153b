"""Tolerances of passes over large matrices."""

from __future__ import annotations

# --- scale.polish ----------------------------------------------------------------------------------------------------

# Added to the diagonal of a row's curvature, whose trace is 1 or less, so that it can be inverted in single precision.
POLISH_FLOOR = 1e-6
# A row whose weakest direction has less than this share of what all entries would give stays where it is.
POLISH_WEAK = 1e-4
# What the last pass may have had to gain, beside the error that noise makes in any case: a few per mille of its square.
POLISH_GAIN = 2e-3
# The same of a table, whose pieces may hang together by few entries: what is off between them shows in gains that are a
# thousand times smaller than itself (benchmarks/weak_tables.py).
POLISH_TABLE_GAIN = 1e-5

# --- scale.landmarks -------------------------------------------------------------------------------------------------

# A row is placed if the landmarks it sees span every direction to this share of what all of them would.
LANDMARKS_HELD = 1e-4
# The same with noise, which a weaker direction would enlarge beyond use.
LANDMARKS_NOISY = 3e-3
# How far attached rows may be off what they see without noise, beside the size of the entries and beside how well they
# are held.
LANDMARKS_FITTED = {"float64": 1e-9, "float32": 3e-4}
