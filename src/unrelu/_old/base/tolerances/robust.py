"""Tolerances of robust fits: what counts as noise, and what as an entry that the others contradict."""

from __future__ import annotations

# --- model.losses.huber ----------------------------------------------------------------------------------------------

# A change of the noise level that is smaller than this, relatively, is not worth a pass.
HUBER_SHORTEST = 1e-8
# The smallest noise level that is estimated, relative to the root mean square of the seen entries: below it nothing
# that can be told from rounding is left of a misfit.
HUBER_SMALLEST = 1e-6

# --- auto.robust -----------------------------------------------------------------------------------------------------

# How far a fit goes by which gross errors are found: what is left to gain is far below the noise.
ROBUST_FITTED = {"float64": 1e-7, "float32": 1e-6}
# How far fits on the way to it go.
ROBUST_ON_THE_WAY = 1e-5
# Squares that leave less than this share of what the robust fit leaves have found digits that it has not.
ROBUST_SHARPER = 0.1
# A rank forecasts as well as another one if what it misses is larger by no more than this share.
ROBUST_ALIKE = 0.05
# Misses below this share of the seen entries' size are rounding: no rank does better.
ROBUST_ROUNDING = {"float64": 1e-5, "float32": 1e-4}

# --- auto.doubts -----------------------------------------------------------------------------------------------------

# How often anything is distrusted, where nothing but normal noise is there.
DOUBTS_CHANCE = 0.05
# However few entries there are, one is not distrusted that lies within so many standard deviations.
DOUBTS_LEAST = 4.0
# The least standard deviation of a misfit, relative to the size of the seen entries: less cannot be told from rounding;
# and as long as a robust fit may not have arrived yet.
DOUBTS_ROUNDING, DOUBTS_ROUGH = {"float64": 1e-7, "float32": 1e-5}, 1e-3
# An entry whose own fit it decides to more than this share cannot be contradicted by the others.
DOUBTS_ITS_OWN = 0.9
# A ridge, relative to what a row's information is on average, by which rows with little of it stay soft.
DOUBTS_RIDGE = 1e-9
