"""Tolerances of the distances' room: what counts as the same place, the same length, as rigid."""

from __future__ import annotations

import numpy as np

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
# More dimensions show where squares drop further than noise would let them once in a million times.
EVIDENCE_RARE = 1e-6
# Two fits are compared at a gradient, relative to the data, that leaves their squares right to more than its square;
# fits of a few points, which cost nothing, go on to rounding.
EVIDENCE_COMPARED, EVIDENCE_FITTED = 1e-9, 1e-12
# Eigenvalues below this share of the largest are zero: they are squares of singular values, so that 1e-5 of a
# direction is left.
EVIDENCE_RANK = 1e-10

# --- distances.search ------------------------------------------------------------------------------------------------

# Gradients, relative to the data, at which a fit on the way is good enough, one to squared distances is a start for
# the next, and one with noise is finished.
SEARCH_ROUGH, SEARCH_SMOOTH, SEARCH_NOISY_TOL = 1e-5, 1e-6, 1e-9
# Two starts have found the same place if their misfits differ by less than this share: far less than another place,
# which folds some points, would cost, and more than descents leave that end early.
SEARCH_AGREE = 1e-3
# Noise up to this share of the typical distance still lets points be placed one after the other; up to the second so
# well that this comes first.
SEARCH_LITTLE, SEARCH_TINY = 0.02, 0.002

# --- distances.trilateration -----------------------------------------------------------------------------------------

# A bound this large, in units of the typical distance, proves nothing.
TRILATERATION_LOST = 1e-3
# A cloud of neighbours is at least this share as thick as long: squared, as equations have it, that still counts.
TRILATERATION_THIN = 1e-9

# --- distances.rigidity ----------------------------------------------------------------------------------------------

# Eigenvalues below this share of the largest count as zero; a motion that weak is not told apart from none.
RIGIDITY_NULL = 1e-10
# A vector is affine, or a rigid motion, on a point if it is so to this share of its size.
RIGIDITY_AFFINE = 1e-5
# A clique that is thinner than this share of its length is no seed: errors would be a thousand times larger across.
RIGIDITY_SEED = 1e-3
# Distances below this, in units of the typical one, count as this where a stress is divided by them.
RIGIDITY_SHORTEST = 1e-12
# Where no stress exists, only rounding of the random one is left, which has entries of size one.
RIGIDITY_STRESSLESS = 1e-8
# Points whose shapes have a singular value below this share of the first lie too special to tell how others move.
RIGIDITY_REFERENCE = 1e-9

# --- distances.refine ------------------------------------------------------------------------------------------------

# A gradient below this share of the data has vanished, whatever was asked for.
REFINE_VANISHED = 1e-10
# Relative gradients below this are asked for by default: rounding of the sums leaves about this much.
REFINE_TOL = 1e-14
# Gaps below this, in units of the typical distance, are rounding: nothing is left that could be concentrated.
REFINE_CONCENTRATED = 1e-12

# --- distances.candidate ---------------------------------------------------------------------------------------------

# Misfits below this share of the typical distance need no noise to explain them.
CANDIDATE_EXACT = 1e-9

# --- distances.grading -----------------------------------------------------------------------------------------------

# Trilateration whose steps were all thicker than this keeps its digits; a place may be off by this share of a distance.
GRADING_THICK, GRADING_SHARP = 0.005, 1e-9
# A relative gradient at which the fit that others are compared with is known well enough, where there is noise.
GRADING_TOL = 1e-6
# A lower misfit than the first answer's is another answer if it is lower by this share.
GRADING_LOWER = 1e-3

# --- distances.second ------------------------------------------------------------------------------------------------

# Two distances that agree to this share of the size of the set are the same.
SECOND_SAME = 1e-6
# With noise, descents end a little apart in the same place.
SECOND_ALIKE = 1e-2
# Distances, and places, that coincide to this share are no accident.
SECOND_COINCIDENCE = 1e-7
# Distances that are the same to this share of the largest were made the same; by accident few are.
SECOND_EQUAL = 1e-9
# Neighbours in one line or plane to this share of their extent are so by design.
SECOND_FLAT = 1e-5
# Curvatures below this share of the largest are those of motions of the whole.
SECOND_SOFT = 1e-9

# --- distances.anchors -----------------------------------------------------------------------------------------------

# Anchors in one plane to this share of their extent are in one plane: they were measured, or written, to a few digits.
ANCHORS_FLAT = 1e-6

# --- distances.ranges ------------------------------------------------------------------------------------------------

# A deviation below this share of the largest counts as this share: weights then differ by a million at most, and sums
# keep ten digits.
RANGES_SHARPEST = 1e-3

# --- distances.paths -------------------------------------------------------------------------------------------------

# Eigenvalues of landmarks below this share of the largest count as this share, for points are divided by them.
PATHS_SMALLEST_SHARE = 1e-12

# --- distances.careful -----------------------------------------------------------------------------------------------

# A relative gradient at which points may be grown on: noise moves them far more.
CAREFUL_TOL = 1e-8

# --- distances.handedness --------------------------------------------------------------------------------------------

# A relative gradient at which a mirrored part has shown whether it fits.
HANDEDNESS_TOL = 1e-6

# --- distances.held --------------------------------------------------------------------------------------------------

# Singular values of the rigidity matrix, whose rows have length one or two, below this are zero; as EVIDENCE_RANK.
HELD_RANK = 1e-5

# --- distances.patches -----------------------------------------------------------------------------------------------

# A relative gradient at which a fit to squared distances is a start.
PATCHES_ROUGH = 1e-5
# A mirror image is better if it lowers the misfit, in units of the typical distance squared, by more than rounding.
PATCHES_LOWER = 1e-12
# Neighbours are in one plane to this share of their extent; and in less than a plane to the second, for a point that is
# nearly free to turn about a line has no other place but many.
PATCHES_FLAT, PATCHES_THIN = 1e-9, 1e-6

# --- distances.solve -------------------------------------------------------------------------------------------------

# A further start has led lower if its misfit is lower by this share; as GRADING_LOWER.
SOLVE_LOWER = 1e-3

# --- distances.starts ------------------------------------------------------------------------------------------------

# Points nearer to a mirror than this share of the extent lie on it, as far as fits to rounding tell.
STARTS_ON_MIRROR = 1e-7

# --- distances.swarm -------------------------------------------------------------------------------------------------

# A descent that ten iterations have lowered by less than this share has ended.
SWARM_IDLE = 1e-3

# --- distances.uncertainty -------------------------------------------------------------------------------------------

# Curvatures below this share of the largest are zero: the distances do not hold the points that way.
UNCERTAINTY_ZERO = 1e-10
# Error bars from random draws need no more digits of each than this: the draws themselves leave two.
UNCERTAINTY_SOLVED = 1e-3

# --- distances.dimension ---------------------------------------------------------------------------------------------

# Fits in different dimensions are compared at a gradient, relative to the data, that leaves their squares right to far
# more digits than are compared; on the way there, a rough one will do.
DIMENSION_COMPARED, DIMENSION_ROUGH = 1e-6, 1e-4
# Gaps below this, in units of the typical distance, may be those of exact distances, and then fall to rounding.
DIMENSION_NEARLY, DIMENSION_EXACT = 1e-3, 1e-12

# --- distances.reliability -------------------------------------------------------------------------------------------

# Stiffnesses below this share of the largest are those of motions of the whole, or of points that nothing holds.
RELIABILITY_ZERO = 1e-10
# A range that such a motion changes by this share, squared, is left free by the others.
RELIABILITY_FREE = 1e-8
# Motions of the whole have no stiffness; this share of the mean one keeps equations solvable.
RELIABILITY_DAMPED = 1e-12

# --- distances.consensus ---------------------------------------------------------------------------------------------

# A relative gradient at which the next scale may be tried: weights change more than places then.
CONSENSUS_TOL = 1e-6
# At the last scale places must be sharp enough for exact distances to be met to rounding.
CONSENSUS_SHARP = 1e-12
# Two starts have a point at the same place if it is nearer than this share of a typical distance.
CONSENSUS_SAME = 1e-4
# Shares of the mean stiffness that are added, so that a point which few ranges hold takes no wild step; and where no
# range counts, so that it takes none.
CONSENSUS_DAMPED, CONSENSUS_STILL = 1e-3, 1e-12
