"""Tolerances of what is sampled: how far chains may disagree, and how vague a prior is."""

from __future__ import annotations

# --- solvers.gibbs ---------------------------------------------------------------------------------------------------

# The noise that a single value in the prior shows, relative to a typical entry: data of any noise say more, and exact
# ones are fitted to three digits.
GIBBS_NOISE = 1e-3
# The same of the square of a coordinate, relative to a typical entry: small, so that a column that nothing asks for
# may vanish.
GIBBS_COLUMN = 1e-2
# Chains stop when R̂ of no entry that is looked at exceeds 1 by more than this, and there are so many independent draws:
# then the ends of a 95 % interval are known to a tenth of its width.
GIBBS_AGREE, GIBBS_EFFECTIVE = 0.02, 400.0

# --- results.sampled -------------------------------------------------------------------------------------------------

# Chains whose R̂ is above this have not seen the same: what they say is no posterior yet.
SAMPLED_AGREE = 1.05
