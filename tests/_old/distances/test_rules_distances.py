"""Rules behind the verdicts on distances that could be loosened unseen."""

import numpy as np
import pytest

from unrelu._old.distances import evidence
from unrelu._old.distances.evidence import Evidence, is_noise
from unrelu._old.distances.second import searched, special
from unrelu._old.distances.swarm import Springs
from unrelu._old.problems.network import Misfit, Network


@pytest.mark.parametrize(("deviations", "noise"), [(3.8, True), (4.0, False)])
def test_noise_is_taken_for_something_else_once_in_ten_thousand_times(deviations, noise):
    """Of one spare distance, where the level is known: a normal number is beyond 3.89 that often, from tables."""
    assert is_noise(deviations**2, 1, Evidence(level=1.0, freedom=10**9)) is noise


def test_without_noise_in_the_groups_no_misfit_is_noise():
    assert not is_noise(0.0, 20, Evidence(level=0.0, freedom=30))


def test_what_rounding_leaves_of_exact_distances_is_no_dimension(monkeypatch):
    """Whatever signs the eigenvalues of exact data beyond their dimension have."""
    points = np.random.default_rng(0).random((12, 2))
    i, j = np.triu_indices(12, 1)
    monkeypatch.setattr(evidence, "lopsided", lambda _: True)
    for third, higher in ((0.0, False), (0.3, True)):
        height = third * np.random.default_rng(1).random(12)
        d = np.hypot(np.linalg.norm(points[i] - points[j], axis=1), height[i] - height[j])
        told = evidence.gather(Network(12, 2, i, j, d, np.ones(len(d))), np.random.default_rng(0), 1e-9)
        assert told.higher is higher


def drawn(X, hidden=()):
    """The distances of some points in the plane."""
    i, j = np.array([pair for pair in zip(*np.triu_indices(len(X), 1), strict=True) if pair not in hidden]).T
    d = np.linalg.norm(X[i] - X[j], axis=1)
    return Network(len(X), 2, i, j, d, np.ones(len(d)))


@pytest.mark.parametrize(("height", "allowed"), [(0.03, None), (0.2, 1e-6)])
def test_a_flip_of_some_percent_is_a_second_answer(height, allowed):
    """Point 3 sees two points of three: without noise a flip by a thirtieth counts, with noise one by a third."""
    X = np.array([[0.0, 0], [1, 0], [0.5, -1], [0.5, height]])
    springs = Springs.of(drawn(X, [(2, 3)]), Misfit(absence=False), 1e-9)
    others = searched(springs, X, np.random.default_rng(0), allowed=allowed)
    assert len(others.places) == 1
    assert np.linalg.norm(np.subtract(*others.places[0][[2, 3]])) == pytest.approx(1 - height, abs=1e-5)


@pytest.mark.parametrize(("apart", "accident"), [(1e-4, True), (1e-9, False)])
def test_points_close_to_each_other_are_special_only_if_they_coincide(apart, accident):
    X = np.random.default_rng(0).random((6, 2))
    X[1] = X[0] + [apart, 0.3 * apart]
    network = drawn(X)
    assert special(network, X) is not accident
