"""One distribution for all entries, the scale of it, and whether a similarity is a kernel."""

import json

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import unrelu
from unrelu import Stop
from unrelu._old.auto.divisible import divisible
from unrelu._old.auto.no_structure import NoStructure
from unrelu._old.auto.rehearsal import alone, alone_beside, top_of
from unrelu._old.data.observations import Observations
from unrelu._old.model.links import Scale

ROWS = 60


def kernel(points, power=2.0):
    """exp(−d^power), the median of which is 1/e."""
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    return np.exp(-((distances / np.median(distances[np.triu_indices(len(points), 1)])) ** power))


def kept(matrix, share):
    cut = float(np.quantile(matrix[np.triu_indices(len(matrix), 1)], share))
    X = np.where(matrix >= cut, matrix, np.nan)
    np.fill_diagonal(X, np.diag(matrix))
    return X, cut


def cosines(rows):
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


def tables():
    for loader in (load_iris, load_wine, load_breast_cancer):
        rows = np.random.default_rng(0).permutation(loader().data)[:ROWS]
        yield (rows - rows.mean(axis=0)) / rows.std(axis=0)


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_kernels_are_told_from_cosines_and_correlations(share):
    others = [np.corrcoef(load_breast_cancer().data, rowvar=False)]
    for rows in tables():
        X, cut = kept(kernel(rows), share)
        few = rows.shape[1] < 20 or share < 0.5  # thirty columns need larger blocks than were seen
        assert divisible(Observations.of(X, threshold=cut), 1.0, np.random.default_rng(0)) is few
        others += [cosines(rows), cosines(rows - rows.min(axis=0))]
    for matrix in others:
        X, cut = kept(matrix, share)
        assert not divisible(Observations.of(X, threshold=cut), 1.0, np.random.default_rng(0))


def test_kernels_that_are_rounded_or_of_another_power():
    points = np.random.default_rng(0).standard_normal((30, 3))
    for power, rounding, expected in ((1.0, 16, False), (2.0, 16, True), (4.0, 16, False), (2.0, 2, False)):
        for top in (1.0, 1e-3, 700.0):
            seen = Observations.of(top * kernel(points, power).round(rounding), threshold=0.0)
            assert divisible(seen, top, np.random.default_rng(0)) is expected
    spoilt = kernel(points)
    spoilt[3, 4] = spoilt[4, 3] = spoilt[3, 4] * (1 + 1e-6)
    assert not divisible(Observations.of(spoilt, threshold=0.0), 1.0, np.random.default_rng(0))
    spare = np.random.default_rng(0).standard_normal((8, 6))  # one dimension fewer than eight points may have
    assert not divisible(Observations.of(kernel(spare), threshold=0.0), 1.0, np.random.default_rng(0))
    seen = Observations.of(kernel(points).astype(np.float32), threshold=0.0)
    assert divisible(seen, 1.0, np.random.default_rng(0))


def test_points_in_general_position_show_nothing():
    """Correlations by one factor, and of neighbours in time, are of that kind as well."""
    points = np.random.default_rng(0).standard_normal((12, 20))
    load = np.random.default_rng(1).uniform(0.6, 0.9, 15)
    time = np.arange(15)
    for matrix in (kernel(points), np.outer(load, load), 0.8 ** np.abs(time[:, None] - time)):
        np.fill_diagonal(matrix, 1.0)
        assert not divisible(Observations.of(matrix, threshold=0.0), 1.0, np.random.default_rng(0))
    same = Observations.of(np.ones((12, 12)), threshold=0.0)
    assert not divisible(same, 1.0, np.random.default_rng(0))


def test_items_that_are_turned_round_have_negative_correlations():
    """One factor with loadings of both signs: every block that was seen in full is of one sign."""
    rng = np.random.default_rng(1)
    load = rng.uniform(0.6, 0.9, 30) * rng.choice([-1, 1], 30)
    scores = rng.standard_normal((400, 1)) * load + np.sqrt(1 - load**2) * rng.standard_normal((400, 30))
    truth = np.corrcoef(scores, rowvar=False)
    X = np.where(truth >= 0.3, truth, np.nan)
    hidden = np.isnan(X)
    found = unrelu.complete(X, threshold=0.3, rng=0)
    assert found.rehearsal is None or found.rehearsal.none.scale.range[0] < 0
    assert found.rehearsal.damping == 1  # the nearest rehearsal shows that fits are right
    low, high = found.predict(*np.nonzero(hidden))
    assert np.mean((low <= truth[hidden]) & (truth[hidden] <= high)) > 0.9
    assert np.sqrt(np.mean((found.filled() - truth)[hidden] ** 2)) < 0.05


def test_who_says_a_range_knows_it():
    points = np.random.default_rng(0).standard_normal((24, 3))
    matrix = kernel(points)
    X = np.where(matrix >= 0.3, matrix, np.nan)
    for said, least in ((None, 0.0), ((-1.0, 1.0), -np.inf)):
        seen = Observations.of(X, threshold=0.3, entry_range=said)
        assert alone(seen, np.random.default_rng(0)).scale.range[0] == least


def test_values_that_are_rounded_to_ties_can_be_rehearsed():
    """Most pairs that a level hides have one value."""
    matrix = np.corrcoef(load_breast_cancer().data, rowvar=False).round(1)
    found = unrelu.complete(np.where(matrix >= 0.3, matrix, np.nan), threshold=0.3, rng=0)
    assert np.isfinite(found.rehearsal.gains).all()
    assert found.rehearsal.sigma > 1e-3


def test_the_diagonal_says_how_large_entries_are():
    points = np.random.default_rng(0).standard_normal((12, 3))
    matrix = 3.0 * kernel(points)
    assert top_of(Observations.of(matrix, threshold=0.0)) == pytest.approx(3.0)
    matrix[2, 2] *= 1.0001
    assert top_of(Observations.of(matrix, threshold=0.0)) is None
    matrix[2, 2] = np.nan
    assert top_of(Observations.of(matrix, threshold=0.0)) is None


def test_hidden_entries_of_a_kernel_are_not_negative():
    """With one normal distribution they would be: most seen entries are far above the cut-off."""
    rows = next(tables())[:36]
    truth = kernel(rows)
    X, cut = kept(truth, 0.3)
    hidden = np.isnan(X)
    known = alone(Observations.of(X, threshold=cut), np.random.default_rng(0))
    assert known.scale.range[0] == 0
    found = unrelu.complete(X, threshold=cut, rng=0)
    filled = found.filled()[hidden]
    assert filled.min() >= 0
    values = X[np.triu_indices(36, 1)]
    normal = NoStructure.of(values[~np.isnan(values)], (-np.inf, cut), int(np.isnan(values).sum()))
    plain = normal.given((np.full(1, -np.inf), np.full(1, cut))).expectation()
    assert plain < 0
    errors = [np.sqrt(np.mean((one - truth[hidden]) ** 2)) for one in (filled, plain, cut / 2)]
    assert errors[0] < 0.5 * errors[1]
    assert errors[0] < 1.1 * errors[2]
    low, high = found.predict(*np.nonzero(hidden))
    assert low.min() >= 0
    assert np.mean((low <= truth[hidden]) & (truth[hidden] <= high)) >= 0.8


@pytest.mark.parametrize(("scale", "backward"), [(Scale("fisher", 1.0), np.tanh), (Scale("logit", 1.0), expit)])
def test_mean_and_spread_are_found_on_every_scale(scale, backward):
    drawn = backward(np.random.default_rng(2).normal(0.3, 0.8, 40_000))
    cut = 0.2
    found = NoStructure.of(drawn[drawn >= cut], (-np.inf, cut), int(np.count_nonzero(drawn < cut)), scale)
    np.testing.assert_allclose([found.mean, found.sigma], [0.3, 0.8], atol=0.03)
    np.testing.assert_allclose([found.centre, found.spread], [drawn.mean(), drawn.std()], rtol=0.03)
    again = NoStructure.read(json.loads(json.dumps(found.as_dict())))
    assert (again.mean, again.sigma, again.scale) == (found.mean, found.sigma, found.scale)


@pytest.mark.parametrize(("drawn", "link"), [("fisher", "fisher"), ("plain", "plain"), ("logit", "plain")])
def test_a_scale_must_be_clearly_likelier(drawn, link):
    """And a tail that looks like that of shares is no proof that nothing is negative."""
    z = np.random.default_rng(1).normal(0.0, 1.0, 4000)
    values = {"fisher": np.tanh(z), "plain": 0.25 * z, "logit": expit(z)}[drawn]
    values = values[np.abs(values) < 1]
    cut = float(np.quantile(values, 0.5)) + 0.05
    seen = values[values >= cut]
    ends = np.full(len(values) - len(seen), -np.inf), np.full(len(values) - len(seen), cut)
    assert NoStructure.likeliest(seen, ends, 1.0, 90).scale.link == link
    assert NoStructure.likeliest(seen, ends, None, 90).scale.link == "plain"
    known = NoStructure.likeliest(seen, ends, 1.0, 90, positive=True)
    assert known.scale.range[0] == 0
    assert known.scale.link == ("plain" if drawn == "plain" else "logit")
    assert known.centre > 0


def test_what_exact_data_leave_open_is_one_of_its_places_as_far_as_any_entry_is_there():
    """Cosines of flowers in pieces that were never seen together."""
    rows = next(tables())
    truth = cosines(rows)
    X, cut = kept(truth, 0.7)
    with pytest.warns(unrelu.CompletionWarning):
        found = unrelu.complete(X, threshold=cut, rng=0)
    assert found.verdict.code is Stop.FITTED
    open_ = np.isnan(found.filled(undetermined="nan"))
    assert open_.any()
    seen = found.observed()
    blanked = found.filled(undetermined="nan")
    known = alone_beside(lambda i, j: blanked[i, j], seen, np.random.default_rng(0))
    assert known.scale.link == "fisher"
    low, high = known.given((np.full(1, -np.inf), np.full(1, cut))).interval(0.95)
    filled, fit = found.filled(), found.matrix()
    assert low - 1e-12 <= filled[open_].min()
    assert filled[open_].max() <= high + 1e-12
    within = open_ & (fit >= low) & (fit <= high)
    np.testing.assert_allclose(filled[within], fit[within], atol=1e-12)
    least, most = found.predict(*np.nonzero(open_), 0.5)
    assert ((least <= filled[open_] + 1e-12) & (filled[open_] <= most + 1e-12)).all()


def test_a_file_brings_back_what_is_filled_in(tmp_path):
    rows = next(tables())
    X, cut = kept(cosines(rows), 0.7)
    with pytest.warns(unrelu.CompletionWarning):
        found = unrelu.complete(X, threshold=cut, rng=0)
    found.save(tmp_path / "found.npz")
    again = unrelu.Completion.load(tmp_path / "found.npz")
    np.testing.assert_array_equal(again.filled(X), found.filled())
    for one, other in zip(again.predict(0, np.arange(9), X=X), found.predict(0, np.arange(9)), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(unrelu.InputError, match="does not hold the seen entries"):
        again.filled()
