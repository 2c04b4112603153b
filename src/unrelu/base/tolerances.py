"""Every tolerance of the library, each with its reason: what counts as rounding, as fitted, as noise, as the same.

They stand in the order of the rooms that use them, and carry the name of the file that does. How long something is
tried is no tolerance, and stands where it is tried.
"""

from __future__ import annotations

import numpy as np

# --- kernels.symmetric -----------------------------------------------------------------------------------------------

# The top eigenvectors are wanted as a start, not as an answer.
SYMMETRIC_LANCZOS_TOL = 1e-4

# --- problems.psd ----------------------------------------------------------------------------------------------------

# Eigenvalues of UᵀU below this share of the largest count as this share in the preconditioner.
PSD_SMALLEST_SHARE = 1e-12

# --- loop.run --------------------------------------------------------------------------------------------------------

# An objective this many times that of the start, or of the zero matrix, is not coming back.
RUN_DIVERGED = 1e3
# A method that finds no better point with a relative gradient norm below this has arrived.
RUN_ROUNDING = {"float64": 1e-13, "float32": 1e-5}

# --- placing.outside -------------------------------------------------------------------------------------------------

# A misfit below this share of the data's size is none.
OUTSIDE_FITS = 1e-11

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

# Further bodies looked for among the rows that are not placed; a body joins if what was seen between fits to this
# share of an entry's size.
TURNING_FITS = 1e-7

# --- placing.placement -----------------------------------------------------------------------------------------------

# Least r-th eigenvalue of a seed block, as a share of its first.
PLACEMENT_WEAKEST_SEED = 1e-8
# Other seed blocks whose placements are averaged when there is noise, and rows that tell whether there is.
PLACEMENT_NOISELESS = 1e-8

# --- solvers.gauss_newton --------------------------------------------------------------------------------------------

# At least this share of the largest eigenvalue of UᵀU is added where equations are solved as they are.
GAUSS_NEWTON_SMALLEST_SHARE = 1e-12

# --- distances.seen --------------------------------------------------------------------------------------------------

# Two numbers that should be the same differ at most by this share of the largest distance when only rounding did it.
SEEN_ROUNDING = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}
# ‖x‖² + ‖y‖² − 2xy leaves the square of up to about this share of the typical distance where zero is meant.
SEEN_SAME_PLACE = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-3}

# --- distances.evidence ----------------------------------------------------------------------------------------------

# Starts of a core that end this close have found its lowest misfit.
EVIDENCE_SAME = 1e-2
# How often noise may be taken for something else.
EVIDENCE_CHANCE = 1e-4
# More dimensions show in the spectra beyond dim. One to three eigenvalues of each tower above the others, so far that
# noise would do it once in a million times, and this many times more. Or, where each has one alone, positive ones
# outweigh negative ones so many times, where noise would have as many of either sign; told by so many spare distances.
EVIDENCE_RARE = 1e-6

# --- distances.search ------------------------------------------------------------------------------------------------

# Gradients, relative to the data, at which a fit on the way is good enough, and one with noise is finished.
SEARCH_ROUGH, SEARCH_NOISY_TOL = 1e-5, 1e-9
SEARCH_AGREE = 1e-3

# --- distances.trilateration -----------------------------------------------------------------------------------------

# A bound this large, in units of the typical distance, proves nothing.
TRILATERATION_LOST = 1e-3

# --- distances.rigidity ----------------------------------------------------------------------------------------------

# Eigenvalues below this share of the largest count as zero; a motion that weak is not told apart from none.
RIGIDITY_NULL = 1e-10
# A vector is affine, or a rigid motion, on a point if it is so to this share of its size.
RIGIDITY_AFFINE = 1e-5

# --- distances.refine ------------------------------------------------------------------------------------------------

# A gradient below this share of the data has vanished, whatever was asked for.
REFINE_VANISHED = 1e-10

# --- distances.candidate ---------------------------------------------------------------------------------------------

# Misfits below this share of the typical distance need no noise to explain them.
CANDIDATE_EXACT = 1e-9

# --- distances.grading -----------------------------------------------------------------------------------------------

# Trilateration whose steps were all thicker than this keeps its digits; a place may be off by this share of a distance.
GRADING_THICK, GRADING_SHARP = 0.005, 1e-9

# --- distances.second ------------------------------------------------------------------------------------------------

# Two distances that agree to this share of the size of the set are the same.
SECOND_SAME = 1e-6
# With noise, descents end a little apart in the same place.
SECOND_ALIKE = 1e-2
# Distances, and places, that coincide to this share are no accident.
SECOND_COINCIDENCE = 1e-7

# --- proofs.agreement ------------------------------------------------------------------------------------------------

# The fit agrees with what was seen if its misfit is at most this many times the rounding of the data; that of one row
# may be further off, for solvers see the whole.
AGREEMENT_AGREES, AGREEMENT_ROW_AGREES = 100.0, 1e4
# Rows below this share of the factor's norm, of which only zeros were seen, are zero.
AGREEMENT_TINY = 1e-8
# With noise, an entry seen one way round may be beyond the threshold by so many standard deviations although its mirror
# was not seen.
AGREEMENT_CONTRADICTS = 10.0
# A row or an entry is missed visibly by this share of its size; a row by far more than the others by so many times the
# usual misfit; and a fit is one to rounding below the third share of all.
AGREEMENT_VISIBLE, AGREEMENT_LOUD, AGREEMENT_FITTED = 1e-3, 4.0, 1e-6

# --- proofs.intervals ------------------------------------------------------------------------------------------------

# Equations and inequalities are loosened by this many times what the error bounds say, and at least by this share of
# the row's scale, so that rounding can never make the truth infeasible.
INTERVALS_LOOSENED, INTERVALS_ROUNDING = 4.0, 1e-9

# --- theory.geometry -------------------------------------------------------------------------------------------------

# Residual of an eigenpair over the size of the operator; the eigenvalue is then right to its square over the gap.
GEOMETRY_RESIDUAL = 1e-8
# Below this share of the operator's size an eigenvalue is zero to rounding.
GEOMETRY_ZERO = 1e-12

# --- proofs.order ----------------------------------------------------------------------------------------------------

# A row points in a direction of its own if this share of it does.
ORDER_INDEPENDENT = 1e-2

# --- proofs.determine ------------------------------------------------------------------------------------------------

# Blocks tried for eigenvalues beyond the rank, and how many times the rounding of a block such an eigenvalue may be.
DETERMINE_BEYOND = 1e3
# Relative misfit up to which a fit is no fit to noise but one that is not finished; its rows must be known as well.
# It is twice what a verdict calls rounding: that counts entries, this pairs, and one seen one way round is both.
DETERMINE_NEARLY = 2e-6

# --- proofs.programs -------------------------------------------------------------------------------------------------

# A constraint counts as violated by more than this share of its terms.
PROGRAMS_FEASIBLE = 1e-12
# What is left of c beyond this share is not explained by the constraints.
PROGRAMS_EXPLAINED = 1e-9

# --- theory.bounds ---------------------------------------------------------------------------------------------------

# Singular values below this share of the first are zero to rounding.
BOUNDS_ZERO = 1e-12

# --- proofs.direct ---------------------------------------------------------------------------------------------------

# A row counts if its bound is at most this share of its size, unless less is asked for.
DIRECT_LARGEST_SHARE = 1e-3
# Eigenvalues of a normal matrix are known to this share of its trace, at least.
DIRECT_GRAM_ROUNDING = 1e-13

# --- proofs.movable --------------------------------------------------------------------------------------------------

# Of rows of unit length: entries fitted to this are fitted.
MOVABLE_FITTED = 1e-8
# Directions of a row that the body sees by less than this share count as free, with noise by less than the second: what
# was seen along them may be fitted elsewhere, too.
MOVABLE_UNSEEN, MOVABLE_WEAKLY_SEEN = 1e-5, 0.1

# --- proofs.stress ---------------------------------------------------------------------------------------------------

# Conjugate gradients on singular but consistent equations: relative residual, most steps.
STRESS_TIGHT = 1e-11
# Eigenvalues of a random stress below this share of the largest count as zero.
STRESS_KERNEL = 1e-7
# Motions below this share of the random direction they come from count as none.
STRESS_STILL = 1e-5
# Most numbers in a factor whose equations of small motions are decomposed, and singular values that count as zero.
STRESS_MOTIONLESS = 1e-7
# Most that a certified stress may leave open of a row, and singular values of the conic equations that count as zero.
STRESS_CONIC = 1e-6

# --- proofs.rows_outside ---------------------------------------------------------------------------------------------

# A factor with a weaker direction than this has a lower rank, to rounding: its square is lost beside one.
ROWS_OUTSIDE_DEFICIENT = 1e-6
# So many roots of the rounding of the data, and the root of what a fit leaves that is not noise but unfinished.
ROWS_OUTSIDE_ROOTS, ROWS_OUTSIDE_UNFINISHED = 3.0, 1e-6
# Rounds of the search for the frame in which most rows are still, rows it starts from (a few that one sees, and those
# along it), and the weight of the others at first.
ROWS_OUTSIDE_FAINT = 1e-5
# A motion below this is none.
ROWS_OUTSIDE_NOTHING = 1e-20
# Kernel vectors below this on a row do not move it.
ROWS_OUTSIDE_UNMOVED = 1e-6

# --- proofs.elsewhere ------------------------------------------------------------------------------------------------

# Of rows of unit length: rows and entries changed by more than this have moved; with noise by more than the second.
ELSEWHERE_MOVED, ELSEWHERE_FAR = 1e-3, 0.05
# Rows of unit length are parallel if the sine of their angle is below this; a row is on a plane likewise.
ELSEWHERE_PARALLEL = 1e-6

# --- proofs.gluing ---------------------------------------------------------------------------------------------------

# Steps of the search for a positive definite matrix, and singular values that count as zero.
GLUING_RANK_TOLERANCE = 1e-9
# A positive definite matrix with a smaller least eigenvalue (of largest 1) is not worth trying.
GLUING_LEAST = 1e-6
# Groups count as joined if the rotation between them is known to this (‖Q − I‖_F).
GLUING_KNOWN = 1e-3

# --- theory.partition ------------------------------------------------------------------------------------------------

# σ_r/σ_1 below this is a rank below r, to rounding.
PARTITION_RANK = 1e-10

# --- theory.cramer_rao -----------------------------------------------------------------------------------------------

# Eigenvalues of the information below this share of the largest are zero but for rounding.
CRAMER_RAO_ZERO = 1e-11

# --- theory.discover -------------------------------------------------------------------------------------------------

# The r-th eigenvalue of a block over its first: below this its rank is not surely r.
DISCOVER_LEAST_SHARE = 1e-6

# --- judge.verdicts --------------------------------------------------------------------------------------------------

# A residual matrix whose lowest eigenvalue is above this share of its norm, below zero, counts as semidefinite.
VERDICTS_OPTIMAL = 1e-6
# Starts that search a small problem through, and the largest relative residual that is then called noise.
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

# --- auto.escalate ---------------------------------------------------------------------------------------------------

# Two starts that end within this share of the same objective have found the same point.
ESCALATE_AGREEMENT = 1e-3
# How far a further start is followed before it is asked whether it leads lower by this share.
ESCALATE_LOWER = 1e-4
# Past the counting limit a perfect fit is one of many: one start, so many iterations, a gradient this small will do.
ESCALATE_PERFECT = {"float64": 1e-9, "float32": 1e-4}
# Relative residual of a fit that has all its digits.
ESCALATE_SHARP = {"float64": 1e-12, "float32": 1e-5}

# --- uncertainty.covariance ------------------------------------------------------------------------------------------

# Eigenvalues below this are zero but for rounding.
COVARIANCE_ZERO = 1e-11
# An entry that the kernel moves by more than this share of what a direction of that length can is open. The kernel is
# known to about rounding over the gap to the next eigenvalue.
COVARIANCE_OPEN = 1e-4

# --- uncertainty.error_bars ------------------------------------------------------------------------------------------

# The row formula counts as accurate while it makes standard errors too small by no more than this share, on average
# over random unseen entries. Each probe is one solve, to this tolerance, for a random combination of n of them; so many
# entries are enough, and two probes at least wherever those are cheap.
ERROR_BARS_ACCURATE, ERROR_BARS_PROBED = 0.03, 1e-3

# --- uncertainty.sensitivity -----------------------------------------------------------------------------------------

# A direction of U with less than this share of its largest singular value is rounding, not part of its span.
SENSITIVITY_SPAN = {"float64": 1e-12, "float32": 1e-5}
# Preconditioned residual at which a solve ends, as a share of the first, and the most steps it may take.
SENSITIVITY_SOLVED = 1e-6
# An entry that a random direction in the kernel moves by more than this share of the direction's own size is open.
SENSITIVITY_OPEN = 1e-3

# --- uncertainty.rivals ----------------------------------------------------------------------------------------------

# Starts; by how many times σ² the squares of a rival may be higher; standard errors by which it must differ.
RIVALS_NEARLY_AS_LOW, RIVALS_APART = 20.0, 4.0

# --- certify ---------------------------------------------------------------------------------------------------------

# An eigenvalue of a seen block beyond the rank, as a share of the first, that no rounding explains.
CERTIFY_BEYOND = 1e-6

# --- judge.likelihood ------------------------------------------------------------------------------------------------

# What noise leaves, as an eigenvalue over 2√n times the root mean square of an entry: 1 for many rows. Measured: up to
# 1.06 at n = 200, 1.14 at 100, 1.22 at 12; and 1.2 and more, growing with √n, where one rank is missing.
LIKELIHOOD_LEFT, LIKELIHOOD_LEFT_OF_FEW = 1.1, 2.0

# A relative residual of the seen entries beyond which a fit by likelihood explains nothing: noise as large as the
# signal leaves 0.7, and nothing but noise 0.95 and more.
LIKELIHOOD_ALL_NOISE = 0.9
# Share of the entries that are sure to be seen, and may be missing by chance or by a fit that is off here and there.
LIKELIHOOD_MISSING = 0.02

# --- auto.refined ----------------------------------------------------------------------------------------------------

# Noise of a smaller share of the seen entries' size moves too few of them across the threshold to bend a fit.
REFINED_NOISE_MATTERS = 0.01
# A relative gradient norm at which a fit by likelihood is known far better than noise allows.
REFINED_CONVERGED = {"float64": 1e-12, "float32": 2e-7}
# Two fits by likelihood are the same if their −log differ by less: a tenth of what a standard error costs.
REFINED_SAME = 0.05
