"""Rules behind the verdicts on distances that could be loosened unseen."""

import pytest

from unrelu.distances.evidence import Evidence, is_noise


@pytest.mark.parametrize(("deviations", "noise"), [(3.8, True), (4.0, False)])
def test_noise_is_taken_for_something_else_once_in_ten_thousand_times(deviations, noise):
    """Of one spare distance, where the level is known: a normal number is beyond 3.89 that often, from tables."""
    assert is_noise(deviations**2, 1, Evidence(level=1.0, freedom=10**9)) is noise


def test_without_noise_in_the_groups_no_misfit_is_noise():
    assert not is_noise(0.0, 20, Evidence(level=0.0, freedom=30))
