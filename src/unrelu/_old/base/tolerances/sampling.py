"""Tolerances of what is sampled: how far chains may disagree, and how vague a prior is."""

from __future__ import annotations

# --- solvers.gibbs ---------------------------------------------------------------------------------------------------

# The noise that a single value in the prior shows, relative to a typical entry: data of any noise say more, and exact
# ones are fitted to three digits.
GIBBS_NOISE = 1e-3
# The same of the square of a coordinate, relative to a typical entry: small, so that a column that nothing asks for
# may vanish.
GIBBS_COLUMN = 1e-2
# Chains stop when R̂ of no entry that is looked at exceeds 1 by more than this, and the draws of each are worth so many
# independent ones: then the standard error of an end of a 95 % interval is 3.4 % of its width, if it is normal.
GIBBS_AGREE, GIBBS_EFFECTIVE = 0.02, 400.0

# --- auto.other_fits -------------------------------------------------------------------------------------------------

# Fits are two if some row of theirs differs by more than this share of a typical row: nearer ones chains reach.
OTHER_FITS_APART = 0.3
# Starts are followed until the relative gradient norm is this: their squares are then known far below the noise.
OTHER_FITS_FOLLOWED = 1e-8

# --- results.sampled -------------------------------------------------------------------------------------------------

# Chains whose R̂ is as large as this have not seen the same: what they say is no posterior yet. Nor is what is worth
# fewer independent draws than this: the standard error of an end of a normal 95 % interval is then 7 % of its width.
SAMPLED_AGREE, SAMPLED_EFFECTIVE = 1.05, 100.0
