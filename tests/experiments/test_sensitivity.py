"""What is said wrongly, and what the sentences make of it."""

import numpy as np
import pytest

from unrelu.base.errors import InputError
from unrelu.complete import complete
from unrelu.data.planted import planted
from unrelu.experiments import figure_sensitivity
from unrelu.experiments.sensitivity import LOSSES, STARTS, told
from unrelu.experiments.sensitivity_groups import Groups
from unrelu.experiments.sensitivity_words import sentences
from unrelu.model.losses import LOSSES as KNOWN_LOSSES
from unrelu.starts import STARTS as KNOWN_STARTS

SMALL = dict(n=40, r=2, sigmas=[0.0], offsets=[-0.3, 0.3], shares=[0.5], starts=["tailored", "clique"])


@pytest.fixture(scope="module")
def found():
    return figure_sensitivity(trials=2, rng=0, **SMALL)


@pytest.fixture(scope="module")
def made():
    return planted(60, 3, sigma=0.1, rng=4)


def worst(found, what, at, loss):
    rows = [r for r in found.rows if (r["told"], r["at"], r["loss"]) == (what, at, loss)]
    assert len(rows) == 2 * len({r["start"] for r in rows})
    return max(r["error"] for r in rows)


def test_every_loss_is_there_and_every_start_is_known():
    # huber is for wrong entries, not for wrong statements about the unseen ones.
    assert {words["loss"] for words in LOSSES.values()} == set(KNOWN_LOSSES) - {"huber"}
    assert set(STARTS) <= {*KNOWN_STARTS, "auto"}


def test_the_truth_is_exact_and_a_threshold_too_low_is_not(found):
    for loss in LOSSES:
        assert worst(found, "threshold", 0.0, loss) < 1e-9
    assert worst(found, "threshold", -0.3, "observed") < 1e-9
    assert worst(found, "threshold", -0.3, "one-sided") > 1e-3
    assert worst(found, "threshold", -0.3, "censored") > 1e-3


def test_random_gaps_cost_nothing_if_they_are_marked_and_much_if_they_are_called_censored(found):
    assert worst(found, "marked", 0.5, "one-sided") < 1e-9
    assert worst(found, "censored", 0.5, "one-sided") > 0.1
    assert worst(found, "censored", 0.5, "observed") < 1e-9


def test_only_what_the_seen_entries_contradict_is_refused(found):
    refused = {(r["told"], r["at"]) for r in found.rows if r["refused"]}
    assert refused == {("threshold", 0.3), ("side", 0.0)}
    assert all(r["refused"] for r in found.rows if (r["told"], r["at"]) in refused)


@pytest.mark.parametrize("what", [{"told": "threshold", "at": 0.3}, {"told": "side", "at": 0.0}])
def test_a_refused_statement_is_made_of_the_unseen_entries_alone(made, what):
    X, said, kept = told({**what, "seed": 0}, made)
    with pytest.raises(InputError, match="every seen entry must be"):
        complete(X, 3, **said)
    unseen = np.isnan(X)
    np.testing.assert_array_equal(kept["threshold"][unseen], said["threshold"])
    assert np.isinf(kept["threshold"][~unseen]).all()
    np.testing.assert_array_equal(X[~unseen], made.matrix[~unseen])


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_half_is_unseen_and_the_share_of_it_is_random(share):
    made = planted(200, 5, sigma=0.1, rng=4)
    X, said, _ = told({"told": "marked", "at": share, "seed": 3}, made)
    unseen, gaps = np.isnan(X), said["unknown"]
    assert unseen.mean() == pytest.approx(0.5, abs=0.02)
    assert gaps.sum() / unseen.sum() == pytest.approx(share, abs=0.02)
    assert (made.matrix[unseen & ~gaps] < said["threshold"]).all()
    assert (made.matrix[gaps] >= said["threshold"]).all()


def test_the_offset_is_in_units_of_the_rms_entry(made):
    _, right, _ = told({"told": "threshold", "at": 0.0, "seed": 0}, made)
    _, low, _ = told({"told": "threshold", "at": -0.5, "seed": 0}, made)
    rms = np.sqrt(np.mean(made.truth**2))
    assert right["threshold"] == pytest.approx(np.median(made.matrix))
    assert right["threshold"] - low["threshold"] == pytest.approx(0.5 * rms)


def test_tables_have_the_medians_of_the_trials(found):
    threshold, gaps, every = found.tables
    line = dict(zip(threshold.columns, threshold.rows[0], strict=True))
    rows = [r for r in found.rows if (r["told"], r["loss"], r["start"]) == ("side", line["loss"], line["start"])]
    assert line["wrong side"] == pytest.approx(np.median([r["error"] for r in rows]))
    assert {"−0.3", "0", "+0.3"} <= set(threshold.columns)
    assert {"0%", "50%"} <= set(gaps.columns)
    first = dict(zip(gaps.columns, gaps.rows[0], strict=True))
    assert (first["loss"], first["start"]) == (line["loss"], line["start"])
    assert first["0%"] == line["0"] < 1e-9  # no gap is random: told the truth
    assert sum(row[every.columns.index("trials")] for row in every.rows) == len(found.rows)


def test_an_added_loss_gets_its_panels_and_lines(monkeypatch):
    monkeypatch.setitem(LOSSES, "told noise", {"loss": "censored", "sigma": 0.1})
    few = {**SMALL, "sigmas": [0.1], "shares": [], "starts": ["clique"], "losses": ["observed", "told noise"]}
    result = figure_sensitivity(trials=1, rng=0, **few)
    assert {row["loss"] for row in result.rows} == {"observed", "told noise"}
    titles = [ax.get_title() for ax in result.pictures[0].draw(False).axes]
    assert titles.count("loss told noise") == 2


# Sentences, of rows made up so that they are known


def rows(told, at, errors, *, loss="observed", refused=False, answered=False, code="stationary"):
    fixed = {"told": told, "at": at, "sigma": 0.0, "loss": loss, "refused": refused, "answered": answered, "code": code}
    return [{**fixed, "start": start, "error": error} for start, error in errors.items()]


def said_of(*groups):
    sizes = {"sigmas": [0.0], "losses": ["observed"], "starts": ["tailored", "clique"], "trials": 1}
    return sentences(Groups.of(sizes, [row for group in groups for row in group]))


TRUTH = rows("threshold", 0.0, {"tailored": 1e-12, "clique": 1e-12}, answered=True)


def test_the_start_that_carries_a_wrong_statement_is_named():
    moved = said_of(TRUTH, rows("threshold", 1.0, {"tailored": 0.4, "clique": 1e-12}, refused=True))
    assert "Some wrong threshold or side changes the error from tailored, none that from clique." in moved[2]
    assert "2 of 2 calls are refused as stated" in moved[1]
    assert "observed exact, but 0.4 from tailored" in moved[1]
    still = said_of(TRUTH, rows("side", 0.0, {"tailored": 1e-12, "clique": 1e-13}))
    assert still[2].endswith("No start does.")


def test_wrong_answers_that_were_called_answers_are_counted():
    wrong = rows("threshold", -1.0, {"tailored": 0.4}, answered=True) + rows("side", 0.0, {"clique": 0.4})
    cut = rows("side", 0.0, {"tailored": 0.4}, code="max-iterations")
    assert said_of(TRUTH, wrong, cut)[-1].startswith("Of 3 fits with more than 2 times the error")
    assert "truth, 1 (33%) were called an answer by their verdict; 1 were cut off" in said_of(TRUTH, wrong, cut)[-1]
    assert not any("called an answer" in sentence for sentence in said_of(TRUTH))


def test_gaps_told_as_unknown_are_held_to_the_best_start():
    unknown = rows("unknown", 0.0, {"tailored": 0.5, "clique": 1e-12})
    (sentence,) = [s for s in said_of(TRUTH, unknown) if s.startswith("All gaps")]
    assert sentence.endswith("0% of the gaps random: exact, but 0.5 from tailored.")
