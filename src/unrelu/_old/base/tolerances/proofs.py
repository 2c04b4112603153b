"""Tolerances of what may be called proved: of ``proofs``, ``theory`` and ``certify``.

A bound that is claimed is moved by the rounding of what it rests on, so that it holds whatever rounding does.
"""

from __future__ import annotations

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
# |x_ij| ≤ ‖u_i‖‖u_j‖ with this share more, for the rounding of the two sizes.
INTERVALS_SIZES = 1e-12

# --- proofs.order ----------------------------------------------------------------------------------------------------

# A row points in a direction of its own if this share of it does.
ORDER_INDEPENDENT = 1e-2

# --- proofs.determine ------------------------------------------------------------------------------------------------

# Eigenvalues of a seen block beyond the rank may be this many times its rounding; larger ones are noise.
DETERMINE_BEYOND = 1e3
# A fit with a smaller relative misfit is no fit to noise: it is exact, but was not finished. A row of it counts if its
# bound is at most the same share of its size. Verdicts call half of this rounding, but they count entries. Here pairs
# are counted, and an entry whose mirror was not seen counts twice.
DETERMINE_NEARLY = 2e-6

# --- proofs.programs -------------------------------------------------------------------------------------------------

# A constraint counts as violated by more than this share of its terms.
PROGRAMS_FEASIBLE = 1e-12
# What is left of c beyond this share is not explained by the constraints.
PROGRAMS_EXPLAINED = 1e-9
# A bound is lowered by this share of its terms, so that rounding of their sum cannot make it wrong.
PROGRAMS_ROUNDING = 1e-14
# A pivot below this share of the largest is rounding; a step along it would leave the numbers.
PROGRAMS_FALLING = 1e-11

# --- proofs.direct ---------------------------------------------------------------------------------------------------

# A row counts if its bound is at most this share of its size, unless less is asked for.
DIRECT_LARGEST_SHARE = 1e-3
# Eigenvalues of a normal matrix are known to this share of its trace, at least.
DIRECT_GRAM_ROUNDING = 1e-13
# Rounding of one product of doubles, for data with an error bound of their own.
DIRECT_ROUNDING = 2e-16
# Singular values are wrong by at most this share of the largest for each row; bounds are lowered by that.
DIRECT_SVD_ROUNDING = 1e-15

# --- proofs.movable --------------------------------------------------------------------------------------------------

# Of rows of unit length: entries fitted to this are fitted.
MOVABLE_FITTED = 1e-8
# Directions of a row that the body sees by less than this share count as free, with noise by less than the second: what
# was seen along them may be fitted elsewhere, too.
MOVABLE_UNSEEN, MOVABLE_WEAKLY_SEEN = 1e-5, 0.1

# --- proofs.stress ---------------------------------------------------------------------------------------------------

# Conjugate gradients on singular but consistent equations end at this relative residual; on the way to a positive
# semidefinite stress at the second, for the next round projects again.
STRESS_TIGHT, STRESS_LOOSE = 1e-11, 1e-4
# Eigenvalues of a random stress below this share of the largest count as zero.
STRESS_KERNEL = 1e-7
# Singular values of the equations of small motions below this share of the first count as zero.
STRESS_MOTIONLESS = 1e-7
# Singular values of the conic equations below this share of the first count as zero.
STRESS_CONIC = 1e-6
# Most that a certified stress may leave open of a row.
STRESS_REACH = 1e-2
# Keeps the blocks of a preconditioner invertible, whatever a row sees; the answer does not depend on it.
STRESS_INVERTIBLE = 1e-8
# Below this share of the matrix that is projected a right-hand side is rounding.
STRESS_ROUNDING = 1e-15
# What is left of a random matrix of size one where there is no stress at all.
STRESS_NONE = 1e-9
# The least eigenvalue, of largest 1, beyond the kernel of a stress that counts as positive; and what a stress of that
# size may leave of its equations.
STRESS_POSITIVE, STRESS_VIOLATED = 5e-4, 1e-9

# --- proofs.rows_outside ---------------------------------------------------------------------------------------------

# A factor with a weaker direction than this has a lower rank, to rounding: its square is lost beside one.
ROWS_OUTSIDE_DEFICIENT = 1e-6
# So many roots of the rounding of the data, and the root of what a fit leaves that is not noise but unfinished.
ROWS_OUTSIDE_ROOTS, ROWS_OUTSIDE_UNFINISHED = 3.0, 1e-6
# The search for the frame in which most rows are still begins with a few rows; the others have this weight at first.
ROWS_OUTSIDE_FAINT = 1e-5
# A motion below this is none.
ROWS_OUTSIDE_NOTHING = 1e-20
# Kernel vectors below this on a row do not move it.
ROWS_OUTSIDE_UNMOVED = 1e-6
# No row weighs more, in that search, than one that moves by this share of what the fastest does.
ROWS_OUTSIDE_SLOWEST = 1e-9
# Motions below this share of the random direction they come from count as none.
ROWS_OUTSIDE_STILL = 1e-5
# A motion this small, of rows of any size, is rounding of the equations that it solves.
ROWS_OUTSIDE_ROUNDING = 1e-9
# What is left of a unit row below this is rounding: it depends on those that were chosen before.
ROWS_OUTSIDE_DEPENDENT = 1e-12

# --- proofs.elsewhere ------------------------------------------------------------------------------------------------

# Of rows of unit length: rows and entries changed by more than this have moved; with noise by more than the second.
ELSEWHERE_MOVED, ELSEWHERE_FAR = 1e-3, 0.05
# Rows of unit length are parallel if the sine of their angle is below this; a row is on a plane likewise.
ELSEWHERE_PARALLEL = 1e-6

# --- proofs.gluing ---------------------------------------------------------------------------------------------------

# Singular values of the equations of a rotation below this count as zero.
GLUING_RANK_TOLERANCE = 1e-9
# A positive definite matrix with a smaller least eigenvalue (of largest 1) is not worth trying.
GLUING_LEAST = 1e-6
# Groups count as joined if the rotation between them is known to this (‖Q − I‖_F).
GLUING_KNOWN = 1e-3
# The combination of equations that makes a matrix leaves out directions below this share; what it misses is counted.
GLUING_COMBINED = 1e-12
# Bounds are lowered by the rounding of what they rest on: an eigenvalue of a matrix of norm 1, for each dimension, and
# a singular value, for the root of the number of equations.
GLUING_EIGENVALUE, GLUING_SINGULAR = 1e-15, 1e-14

# --- theory.geometry -------------------------------------------------------------------------------------------------

# Residual of an eigenpair over the size of the operator; the eigenvalue is then right to its square over the gap.
GEOMETRY_RESIDUAL = 1e-8
# Below this share of the operator's size an eigenvalue is zero to rounding.
GEOMETRY_ZERO = 1e-12
# Two factors of one matrix agree to this share once one is turned onto the other.
GEOMETRY_SAME = 1e-6
# Keeps the blocks of a preconditioner invertible; the answer does not depend on it.
GEOMETRY_INVERTIBLE = 1e-10
# A vector of which a smaller share is new to a basis has nothing new but rounding.
GEOMETRY_NEW = 1e-10

# --- theory.bounds ---------------------------------------------------------------------------------------------------

# Singular values below this share of the first are zero to rounding.
BOUNDS_ZERO = 1e-12

# --- theory.partition ------------------------------------------------------------------------------------------------

# σ_r/σ_1 below this is a rank below r, to rounding.
PARTITION_RANK = 1e-10

# --- theory.discover -------------------------------------------------------------------------------------------------

# The r-th eigenvalue of a block over its first: below this its rank is not surely r.
DISCOVER_LEAST_SHARE = 1e-6

# --- theory.nets -----------------------------------------------------------------------------------------------------

# A whole number of steps around the circle stays that number when rounding has made it a little more.
NETS_ROUNDING = 1e-12

# --- certify ---------------------------------------------------------------------------------------------------------

# An eigenvalue of a seen block beyond the rank, as a share of the first, that no rounding explains.
CERTIFY_BEYOND = 1e-6
# Directions in which rows have less than this share of the strongest are not spanned by them: fits leave 1e-12 of
# directions that are not there.
CERTIFY_SPANNED = 1e-9

# --- proofs.table ----------------------------------------------------------------------------------------------------

# A fit agrees with the data if it misses no seen entry by more than this share of the lengths of its row and column.
TABLE_AGREES = {"float64": 1e-9, "float32": 1e-3}
# A fit that ended before it agrees has the entries of a body if it is this near to where the data place them.
TABLE_UNFINISHED = 1e-4
# A row or column is placed if rounding moves it by no more than this share of its length; a block starts a body if its
# r-th singular value is above this share of its first.
TABLE_PLACED = 1e-6
# A row or column is zero if no seen entry of it is beyond so many roundings of the root mean square of all: sums of
# dozens of products leave that where zeros belong.
TABLE_DUST = 64.0
# Two bodies have one frame if the equations between them have no direction weaker than this share of the strongest.
TABLE_GLUED = 1e-6
