"""Tolerances of the room that finds out how entries go unseen."""

from __future__ import annotations

# --- detection.evidence ----------------------------------------------------------------------------------------------

# Rows whose normal matrix has a smaller least eigenvalue, relative to its largest, have a fit that says nothing.
EVIDENCE_FLAT = 1e-12

# --- detection.models ------------------------------------------------------------------------------------------------

# Shares of chance that no estimate goes below.
MODELS_LEAST = 1e-6
# Where a search for a share of chance begins at least.
MODELS_BEGIN = 1e-3
# Level, width and shares are found to this share of what blurs them, and −log of the likelihood to as much.
MODELS_FOUND = 1e-4
# Noise is taken to be no less than this share of the rms entry: below it a level is as sharp as rounding.
MODELS_BLUR = 1e-9
# A curve is looked for in steps of no less than this share of the rms entry, where nothing blurs it.
MODELS_CURVE = 0.02
# An edge is followed from this share of what blurs it on.
MODELS_NEAREST = 1e-6
# The first step by which a cost is raised to see how it bends, and the least eigenvalue of its bend in such steps.
MODELS_BEND = 1e-3

# --- detection.walls -------------------------------------------------------------------------------------------------

# Newton's method for the likelihood of a column: what its steps may still gain, which no margin notices; the least
# share of a step, below which rounding decides; the share of the promised gain that a step must bring.
WALLS_GAIN, WALLS_LEAST_STEP, WALLS_ARMIJO = 1e-6, 1e-6, 1e-4
# Of its trace, added to the curvature of that likelihood, which is singular where all forecasts are alike.
WALLS_RIDGE = 1e-10

# --- auto.detected ---------------------------------------------------------------------------------------------------

# A matrix is fitted together with a curve until its gradient is this small: far below what the curve moves it by.
DETECTED_CONVERGED = {"float64": 1e-10, "float32": 1e-6}
# A curve is found when it moves by less than this share of its intervals.
DETECTED_STEADY = 0.02
# Noise is not estimated below this share of what the first fit leaves.
DETECTED_SMALLEST = 1e-3

# --- results.gaps ----------------------------------------------------------------------------------------------------

# Seconds, for what has none left.
GAPS_NO_TIME = 1e-6

# --- results.hidden --------------------------------------------------------------------------------------------------

# A fit is taken to be no surer than this share of the noise.
HIDDEN_SURE = 1e-3
