"""Every tolerance of the library, each with its reason: what counts as rounding, as fitted, as noise, as the same.

They stand in the order of the rooms that use them, and carry the name of the file that does; those of ``proofs``,
``theory`` and ``certify`` stand in :mod:`unrelu._old.base.tolerances.proofs`. How long something is tried is no tolerance,
and stands where it is tried; so do damping, which a step corrects, and ladders of what is tried in turn.
"""

from __future__ import annotations

from unrelu._old.base.tolerances.detection import *  # noqa: F403
from unrelu._old.base.tolerances.distances import *  # noqa: F403
from unrelu._old.base.tolerances.placing import *  # noqa: F403
from unrelu._old.base.tolerances.proofs import *  # noqa: F403
from unrelu._old.base.tolerances.robust import *  # noqa: F403
from unrelu._old.base.tolerances.sampling import *  # noqa: F403
from unrelu._old.base.tolerances.scale import *  # noqa: F403

# --- data.checks -----------------------------------------------------------------------------------------------------

# How many roundings of one of its ends a seen entry may lie outside of the range of all entries.
CHECKS_ROUNDING = 64.0

# --- kernels.symmetric -----------------------------------------------------------------------------------------------

# The top eigenvectors are wanted as a start, not as an answer.
SYMMETRIC_LANCZOS_TOL = 1e-4

# --- model.margins ---------------------------------------------------------------------------------------------------

# How sharply centre and log scale of a column are found, in units of its spread, and −log of their likelihood: far
# below what choices differ by, and so far that the order of the rows does not matter.
MARGINS_FITTED = 1e-8
# The same of skewnesses that are only compared.
MARGINS_COMPARED = 1e-3
# Nearer to the end of what a skew distribution allows than this share of its reach nothing is.
MARGINS_SUPPORT = 1e-9

# --- problems.psd ----------------------------------------------------------------------------------------------------

# Eigenvalues of UᵀU below this share of the largest count as this share in the preconditioner.
PSD_SMALLEST_SHARE = 1e-12

# --- loop.run --------------------------------------------------------------------------------------------------------

# An objective this many times that of the start, or of the zero matrix, is not coming back.
RUN_DIVERGED = 1e3
# A method that finds no better point with a relative gradient norm below this has arrived.
RUN_ROUNDING = {"float64": 1e-13, "float32": 1e-5}

# --- solvers.gauss_newton --------------------------------------------------------------------------------------------

# At least this share of the largest eigenvalue of UᵀU is added where equations are solved as they are.
GAUSS_NEWTON_SMALLEST_SHARE = 1e-12

# --- solvers.levenberg_marquardt -------------------------------------------------------------------------------------

# A step that changes F by no more than this is neither better nor worse; one that gains no more than this is flat.
LEVENBERG_MARQUARDT_EVEN, LEVENBERG_MARQUARDT_FLAT = 1e-15, 1e-14
# No step is asked for with more digits than this: rounding of the equations allows no more.
LEVENBERG_MARQUARDT_SOLVED = 1e-10

# --- solvers.sdp -----------------------------------------------------------------------------------------------------

# How sure SCS must be before it calls a program infeasible; its own 1e-7 may mistake a program with one feasible point.
SDP_INFEASIBLE = 1e-9

# --- solvers.side_by_side --------------------------------------------------------------------------------------------

# Squares that are down to this share of those of the data are fitted: misfits of 1e-12.
SIDE_BY_SIDE_FITTED = 1e-24

# --- starts.spectral -------------------------------------------------------------------------------------------------

# A column of U that is exactly zero stays zero under every gradient method: keep this share of the largest eigenvalue.
SPECTRAL_SMALLEST = 1e-4

# --- starts.continuation ---------------------------------------------------------------------------------------------

# Solves on the way need not be exact, nor the direction in which a column is added, which the next solve corrects.
CONTINUATION_TOL, CONTINUATION_LANCZOS_TOL = 1e-6, 1e-3
# A new column is at least this share of the mean size of a row's entries: one that is zero would stay zero.
CONTINUATION_SMALLEST = 1e-3

# --- judge.verdicts --------------------------------------------------------------------------------------------------

# A residual matrix whose lowest eigenvalue is above this share of its norm, below zero, counts as semidefinite.
VERDICTS_OPTIMAL = 1e-6
# The largest relative residual that is called noise once many starts have searched a small problem through.
VERDICTS_NOISE = 0.05
# Share of the misfit that absent entries may have in what is called noise: noise moves only those near the threshold.
VERDICTS_ABSENT = 0.3
# The answer of a convex program is of a rank if cutting it down to that leaves the misfit below so many times its own,
# or below so many times the noise of fully seen blocks: a penalty shrinks it.
VERDICTS_CUT_OFF, VERDICTS_SHRUNK = 1.5, 4.0

# --- judge.floor -----------------------------------------------------------------------------------------------------

# A relative residual that no noise explains: first-order methods stop here and there above rounding.
FLOOR_NOISELESS = {"float64": 1e-6, "float32": 1e-3}
# One that is finished: past the counting limit only the rows of such a fit are looked at.
FLOOR_FINISHED = {"float64": 1e-9, "float32": 1e-6}
# The same for one run with a named method, whose tolerance may be loose: a wrong stationary point is far above it.
FLOOR_LOOSE = {"float64": 1e-3, "float32": 1e-2}
# The fit may exceed the noise level of the blocks, which is an estimate from so many entries, by this factor and by
# this many of its relative standard errors 1/√(2·entries).
FLOOR_MARGIN, FLOOR_ERRORS = 1.5, 4.0
# Squares above zero over those below from which on a block shows rank: six times for many entries, more for few.
# Without noise both are rounding, of which this share of the data's size is left at most.
FLOOR_EXCESS, FLOOR_FEW = 6.0, 400.0
FLOOR_ROUNDING = {"float64": 1e-9, "float32": 1e-4}

# --- judge.remarks ---------------------------------------------------------------------------------------------------

# The best fit leaves more than this of the size of the data: the rank is wrong, or noise is as large as the signal.
REMARKS_CONTRADICTED = 0.5
# Directions of the fit weaker than this share of the strongest are not there: they enter the matrix squared.
REMARKS_IDLE = {"float64": 1e-6, "float32": 1e-3}

# --- judge.next_rank -------------------------------------------------------------------------------------------------

# From this ratio of variances on the data have more rank. At the right rank it was 2.3 at most.
NEXT_RANK_FAR_BETTER = 20.0

# --- judge.held_out --------------------------------------------------------------------------------------------------

# Held-out errors of one more rank over those of the rank: below the first the rank is too low; above the second it is
# not. Of real matrices it was 0.72 to 0.93, of planted ones with noise at their rank 1.01 and more.
HELD_OUT_BETTER, HELD_OUT_NO_BETTER = 0.85, 0.97

# --- uncertainty.passes ----------------------------------------------------------------------------------------------

# Two values of a pair that differ by this many roundings are one: a matrix that was computed is seldom symmetric to the
# last digit.
PASSES_SAME_VALUE = 8.0

# --- judge.likelihood ------------------------------------------------------------------------------------------------

# What noise leaves, as an eigenvalue over 2√n times the root mean square of an entry: 1 for many rows. Measured: up to
# 1.06 at n = 200, 1.14 at 100, 1.22 at 12; and 1.2 and more, growing with √n, where one rank is missing.
LIKELIHOOD_LEFT, LIKELIHOOD_LEFT_OF_FEW = 1.1, 2.0
# A relative residual of the seen entries beyond which a fit by likelihood explains nothing: noise as large as the
# signal leaves 0.7, and nothing but noise 0.95 and more.
LIKELIHOOD_ALL_NOISE = 0.9
# Share of the entries that are sure to be seen, and may be missing by chance or by a fit that is off here and there.
LIKELIHOOD_MISSING = 0.02
# Relative gradient norm to which seen entries are fitted alone: the misfit is rounding there, if it can be.
LIKELIHOOD_ALONE = 1e-9
# They leave less than this share of what noise leaves, at the quantile of so small a probability: that is no chance,
# though what was seen because of its noise has somewhat less of it.
LIKELIHOOD_SELECTED, LIKELIHOOD_BY_CHANCE = 0.25, 1e-6
# Unknowns per seen pair from which on nobody can say whether what is left is noise, if absence is what leaves it; and
# the relative residual from which on it may be.
LIKELIHOOD_SPARE, LIKELIHOOD_MUCH = 0.8, 0.1
# A relative residual of few rows up to which a false minimum of exact data is as likely as data of another rank.
LIKELIHOOD_NEXT_TO_NOTHING = 1e-4

# --- judge.definite --------------------------------------------------------------------------------------------------

# A negative eigenvalue of a fully seen block is beyond noise if it is so many times the median size of those that noise
# leaves: of 24,000 blocks of 8 to 60 rows with noise alone none had more than 6.7.
DEFINITE_STANDS_OUT = 10.0
# A row that holds more than this share of the eigenvector stands out itself: with wrong entries it holds a half.
DEFINITE_ONE_ROW = 0.3
# What rounding may leave of an eigenvalue, relative to the largest.
DEFINITE_ROUNDING = {"float64": 1e-12, "float32": 1e-5}

# --- judge.runaway ---------------------------------------------------------------------------------------------------

# A fit above rounding with an entry so many times the largest seen one has left the data behind: planted matrices with
# noise stay below 10, real tables at too high a rank go to 10⁴ and on.
RUNAWAY_TIMES = 100.0

# --- auto.escalate ---------------------------------------------------------------------------------------------------

# Two starts that end within this share of the same objective have found the same point.
ESCALATE_AGREEMENT = 1e-3
# A further start is followed to its end if it leads lower by this share.
ESCALATE_LOWER = 1e-4
# Past the counting limit a perfect fit is one of many: a relative gradient norm this small will do.
ESCALATE_PERFECT = {"float64": 1e-9, "float32": 1e-4}
# Relative residual of a fit that has all its digits.
ESCALATE_SHARP = {"float64": 1e-12, "float32": 1e-5}

# --- auto.ranks ------------------------------------------------------------------------------------------------------

# Relative gradient norm at which a fit on the way tells what it leaves; a relative residual that is next to nothing, so
# that the last columns may be rounding.
RANKS_FITTED, RANKS_NEARLY = 1e-14, 1e-5
# Relative residual of exact data at their rank. Real data whose eigenvalues fall fast are nearly of some rank, too.
RANKS_ROUNDING = {"float64": 1e-10, "float32": 1e-5}
# An eigenvalue so many times what noise leaves, after three steps by likelihood, is there after sixty too: at a rank
# that is enough it was 0.98 to 1.06 after three and after all of them, at a rank below 1.58 to 7.7.
RANKS_BEYOND_DOUBT = 1.3
# A fit from blocks that is as near as this may be mended by other starts.
RANKS_NEAR = 1e-3

# --- auto.refined ----------------------------------------------------------------------------------------------------

# Noise of a smaller share of the seen entries' size moves too few of them across the threshold to bend a fit.
REFINED_NOISE_MATTERS = 0.01
# A relative gradient norm at which a fit by likelihood is known far better than noise allows.
REFINED_CONVERGED = {"float64": 1e-12, "float32": 2e-7}
# Two fits by likelihood are the same if their −log differ by less: a tenth of what a standard error costs.
REFINED_SAME = 0.05

# --- uncertainty.covariance ------------------------------------------------------------------------------------------

# Eigenvalues below this are zero but for rounding.
COVARIANCE_ZERO = 1e-11
# An entry that the kernel moves by more than this share of what a direction of that length can is open. The kernel is
# known to about rounding over the gap to the next eigenvalue.
COVARIANCE_OPEN = 1e-4

# --- uncertainty.error_bars ------------------------------------------------------------------------------------------

# The row formula counts as accurate while it makes standard errors too small by no more than this share, on average
# over random unseen entries. Each of these probes is one solve, to the second tolerance.
ERROR_BARS_ACCURATE, ERROR_BARS_PROBED = 0.03, 1e-3

# --- uncertainty.sensitivity -----------------------------------------------------------------------------------------

# A direction of U with less than this share of its largest singular value is rounding, not part of its span.
SENSITIVITY_SPAN = {"float64": 1e-12, "float32": 1e-5}
# Preconditioned residual at which a solve ends, as a share of the first.
SENSITIVITY_SOLVED = 1e-6
# An entry that a random direction in the kernel moves by more than this share of the direction's own size is open.
SENSITIVITY_OPEN = 1e-3

# --- uncertainty.rivals ----------------------------------------------------------------------------------------------

# The squares of a rival may be higher by this many times σ²; and it differs by more than so many standard errors.
RIVALS_NEARLY_AS_LOW, RIVALS_APART = 20.0, 4.0
# Of a likelihood, ends of descents in squares are followed if these are higher by up to so many times that; two ends
# that differ by less than this share are one.
RIVALS_WORTH_FOLLOWING, RIVALS_SAME_END = 3.0, 1e-3

# --- uncertainty.walks -----------------------------------------------------------------------------------------------

# An entry is pinned so many standard errors away, further each time where −2 log of the likelihood has risen by less
# than this share of them, squared. A walk tells of standard errors if that has risen by no more than this: noise goes
# further less than once in a million. A diagonal entry counts half as much in a fit as in its errors: so much more says
# nothing.
WALKS_AS_FAR, WALKS_SOFT, WALKS_RISE, WALKS_MORE = (5.0, 10.0, 20.0), 0.8, 36.0, 1.25
# Share of the unseen entries that may have errors so many times as large as linearising says before the others are in
# doubt.
WALKS_MANY, WALKS_FAR_MORE = 0.05, 2.0
# Noise that is smaller, relative to the seen entries, is rounding, of which walks tell nothing.
WALKS_NOISE = 1e-6

# --- auto.candidates -------------------------------------------------------------------------------------------------

# Relative gradient norm at which a fit that is only compared with others ends, and the accuracy of eigenvectors that
# only begin one.
CANDIDATES_FITTED, CANDIDATES_LANCZOS = 1e-4, 1e-3
# Eigenvalues with less than this share of the largest begin no column.
CANDIDATES_SMALLEST = 1e-6

# --- auto.rehearsal --------------------------------------------------------------------------------------------------

# Between which the σ of a forecast is looked for, relative to the spread of the values, and how sharply its logarithm.
REHEARSAL_NARROWEST, REHEARSAL_WIDEST, REHEARSAL_SHARP = 1e-4, 1e2, 1e-3
# Relative difference of the two ways round of a pair up to which they are one measurement: rounding of float32.
REHEARSAL_SAME = 1e-5
# Relative differences of a diagonal that is the same all along.
REHEARSAL_LEVEL = 1e-5

# --- auto.no_structure -----------------------------------------------------------------------------------------------

# How sharply mean and spread are found, in units of the spread.
NO_STRUCTURE_FITTED = 1e-5
# Log-likelihood, as if a row were one observation, by which another scale must be likelier than entries as they are.
NO_STRUCTURE_GAIN = 1.0
# How many times more Fisher's z must gain than the logit: else nothing says how far below zero entries go.
NO_STRUCTURE_FISHER = 1.1

# --- auto.divisible --------------------------------------------------------------------------------------------------

# Eigenvalues of a Gram matrix from logarithms, relative to the largest, that are rounding.
DIVISIBLE_ROUNDING = {"float32": 1e-4, "float64": 1e-9}

# --- model.links -----------------------------------------------------------------------------------------------------

# How near to the end of its range a seen value is taken to be at most, relative to that end.
LINKS_NEAR = 1e-9

# --- auto.menu -------------------------------------------------------------------------------------------------------

# Log-likelihood per hidden pair, over all levels together, that a model must gain on no structure to be believed; and
# that of all of them, of which few may gain so much by chance.
MENU_GAIN, MENU_GAIN_OF_ALL = 0.05, 5.0
# The same that is no difference between two models.
MENU_SAME = 1e-3
# The largest and the smallest price on the trace, over the largest eigenvalue of what was seen.
MENU_PRICES = 0.3, 3e-5
# The same that damped forecasts must gain on plain ones, per pair and summed over as many pairs as there are rows.
MENU_DAMPED, MENU_DAMPED_OF_ALL = 0.025, 2.5
# Where forecasts are damped and their error grows by more than this factor from one level to the next, nobody knows how
# large it is.
MENU_UNSTEADY = 5.0

# --- auto.damping ----------------------------------------------------------------------------------------------------

# Where forecasts are damped their error grows with the distance: by the root of the factor from one level to the next,
# up to this.
DAMPING_GROWS = 1.2
# How far beyond the mean that one distribution for all entries gives the hidden ones forecasts may lie on the whole, in
# spreads of that distribution beyond the limit. On 22 similarities (rows of small tables, and planted ones) the error
# of every forecast was below 1.05 times that of simple filling with 0.5, of four of them 1.3 to 3.2 times without.
DAMPING_FURTHER = 0.5
# Where that has moved them, intervals widen by as much as it has, up to so many spreads of one distribution.
DAMPING_WIDEST = 1.5

# --- auto.path -------------------------------------------------------------------------------------------------------

# How many times the noise of a fit the error of its nearest rehearsal may be, if what is left is noise; and what a
# diagonal that is a limit may gain per hidden pair, if it is data like the rest.
PATH_REHEARSED, PATH_ALIKE = 1.5, 0.02

# --- auto.joint ------------------------------------------------------------------------------------------------------

# Correlations that move by less than this have arrived: far below what choices differ by.
JOINT_FITTED = 1e-5
# The precision of what stands for a limit, where a cell has variance 1: no less, or rounding decides, and no more.
JOINT_LOOSE, JOINT_FIRM = 1e-4, 1e8
# What is known better than this counts as known so.
JOINT_VARIANCE = 1e-9

# --- auto.table_candidates -------------------------------------------------------------------------------------------

# New rows that move by less than this share of their size have arrived.
TABLE_CANDIDATES_PLACED = 1e-8

# --- auto.table_choice -----------------------------------------------------------------------------------------------

# Noise below this share of the seen values, and below this share of what half the rank leaves, may be none at all: it
# is asked whether the data are of that rank exactly. What is fitted to too many columns falls slowly.
TABLE_CHOICE_CLEAN, TABLE_CHOICE_FALLEN = 0.02, 0.1

# --- results.forecasts -----------------------------------------------------------------------------------------------

# Noise of less than this share of the seen entries is rounding: then an expectation is the fit, within its limits.
FORECASTS_ROUNDING = {"float64": 1e-9, "float32": 1e-4}

# --- results.data_again ----------------------------------------------------------------------------------------------

# By how much the norm of the same entries may differ, where another machine adds them up in another order.
DATA_AGAIN_ROUNDING = 1e-10
