"""Tolerances of rows that are placed one after the other."""

from __future__ import annotations

import numpy as np

# --- placing.outside -------------------------------------------------------------------------------------------------

# A misfit below this share of the data's size is none.
OUTSIDE_FITS = 1e-11
# Where all that was seen is below this, in units of the data, misfits are measured by this instead.
OUTSIDE_SIZE = 1e-12
# Directions in which rows have less than this share of the strongest are not spanned by them.
OUTSIDE_SPANNED = 1e-9
# A random direction that is shorter than this, once what the row sees is taken out of it, is made of rounding.
OUTSIDE_ACROSS = 1e-6
# A descent ends where gradient or misfit are zero to rounding, or where a step gains no more than the rounding of F.
OUTSIDE_VANISHED, OUTSIDE_GAINED = 1e-15, 1e-14
# Conjugate gradients end at this share of the first residual, both squared: three digits of a step are enough.
OUTSIDE_SOLVED = 1e-6

# --- placing.table ---------------------------------------------------------------------------------------------------

# A block starts a placement if its r-th singular value is above this share of its first.
TABLE_SEED = 1e-6
# A row is placed by columns whose weakest direction is so many times what rounding has done to them.
TABLE_KNOWN = 4.0
# In one wave those are placed whose weakest direction is within this factor of the best: the others wait for more.
TABLE_WORSE = 3.0

# --- placing.attach --------------------------------------------------------------------------------------------------

# Normal equations are trusted while the eigenvalues of a row's normal matrix keep this ratio: the condition is then at
# most 1e4, a refinement contracts errors by about 1e-8, and one leaves what an orthogonal method would. The largest
# eigenvalue is at most 1; below this size the row sees only rows that are negligible among all.
ATTACH_TRUSTED_RATIO = 1e-8
ATTACH_TRUSTED_SIZE = 1e-12
# Singular values below this share of the factor's largest count as zero. Fitted rows carry errors of about
# 1e-12 (float32: 1e-6); what a direction this weak would say is mostly such errors, enlarged.
ATTACH_DEFAULT_RCOND = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-4}

# --- placing.turning -------------------------------------------------------------------------------------------------

# A further body joins if what was seen between it and the first fits to this share of an entry's size.
TURNING_FITS = 1e-7
# A step that lowers the misfit by no more than this share has met the rounding of the sum.
TURNING_GAINED = 1e-14

# --- placing.placement -----------------------------------------------------------------------------------------------

# Least r-th eigenvalue of a seed block, as a share of its first.
PLACEMENT_WEAKEST_SEED = 1e-8
# Without noise the usual misfit is below this share of the entries' size; errors grow a little from row to row.
PLACEMENT_NOISELESS = 1e-8
# While rows are placed, a direction of the placed ones counts however weak: how well a row is known is asked later.
PLACEMENT_SPANNED = 1e-12
# Rows that could not be placed get nothing along weaker directions, where errors of what they see would be enlarged.
PLACEMENT_COMPLETED = 1e-6
# Where the rows of a fit are counted that see too few independent ones, weaker directions are errors of the fit.
PLACEMENT_OPEN = 1e-10
# Of an orthonormal frame: keeps the normal matrix of a row that sees too little invertible, and its strength near zero.
PLACEMENT_INVERTIBLE = 1e-12
