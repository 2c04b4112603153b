"""Every experiment, two trials as small as still means something, and what its verdicts make of any sample."""

import inspect
import json
import random

import numpy as np
import pytest

import unrelu
import unrelu._old.experiments
import unrelu._old.experiments.rules
from unrelu._old.data.observations import Observations
from unrelu._old.experiments import EXPERIMENTS
from unrelu._old.experiments.base import Experiment, Result
from unrelu._old.experiments.judging import printed
from unrelu._old.experiments.rank import counting_limit
from unrelu._old.experiments.rules import NOT_TESTED, RULES, VERDICTS
from unrelu._old.experiments.solve import descend, paper_start

# Two trials of everything, as small as still means something.
TINY = {
    "figure-landscape": dict(n=40, r=2, share=0.5, most=400),
    "figure-orthants": dict(n=60),
    "figure-observed": dict(n=60),
    "figure-sectors": dict(n=200, multiples=[0.0, 0.5, 1.5]),
    "figure-threshold": dict(
        ns=[60, 80],
        large=[120],
        ranks=[2, 3],
        quantiles=[0.5, 0.6, 0.9],
        families=["gaussian", "sphere"],
        share_ns=[60, 120],
        share_ranks=[2, 3],
    ),
    "table-theorems": dict(sizes=[[16, 2]], noisy=[[50, 2]], starts=2, search=60),
    "table-errata": {},
    "table-assumptions": dict(ns=[60, 120], first=[5000], second=[[6561, 2]], ranks=[1, 2]),
    "table-ordering": dict(cases=[[40, 2], [40, 10]], small=[[10, 2]]),
    "table-initialisation": dict(n=50, r=2, most=600),
    "figure-initialisation": dict(n=50, r=2, sigmas=[0.0, 1e-2], most=400),
    "figure-methods": dict(n=16, r=1, readings=[12, 1]),
    "figure-rank": dict(ns=[40], shares=[0.05, 0.32], caps=[300, 600]),
    "figure-distances": dict(n=40, dims=[2], clouds=["cube"], fractions=[0.5, 0.9], most=600, reading_dims=[2]),
    "figure-basin": dict(n=40, r=2, distances=[0.01, 2.0], most=400),
    "table-noise": dict(n=60, ranks=[2], sigmas=[1e-6, 1e-4, 1e-2]),
    "table-scaling": dict(ns=[60, 120], ranks=[2], cone_ranks=[2, 3]),
    "table-open-problems": dict(
        n=30,
        r=2,
        samplings=["ReLU", "random"],
        unknown={"ns": [30], "ranks": [2], "sigmas": [0.0, 0.1]},
        tables=[[30, 20, [2, 4]]],
        weaker=[["ReLU", 20, 3], ["two caps", 42, 3]],
    ),
}


@pytest.fixture(scope="module")
def results():
    found = {name: EXPERIMENTS[name](trials=2, rng=0, **sizes) for name, sizes in TINY.items()}
    claims = EXPERIMENTS["table-claims"]
    found["table-claims"] = claims.conclude(claims.sizes(quick=True), [], found)
    return found


# Each experiment


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_result_is_whole(results, name):
    result = results[name]
    assert isinstance(result, Result)
    assert result.name == name
    assert result.tables
    for table in result.tables:
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert all(judgement.verdict in VERDICTS for judgement in result.judgements)
    assert all(judgement.measured for judgement in result.judgements)
    if name.startswith("figure"):
        assert result.pictures


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name.startswith("figure")])
def test_figures_have_labelled_axes(results, name):
    for picture in results[name].pictures:
        axes = picture.draw(False).axes
        assert axes
        assert len(picture.draw(True).axes) == len(axes)
        assert any(ax.get_xlabel() for ax in axes)
        assert any(ax.get_ylabel() or ax.get_yticklabels() for ax in axes)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_is_a_function_of_trials_and_rng_with_an_example(name):
    function = getattr(unrelu._old.experiments, name.replace("-", "_"))
    assert list(inspect.signature(function).parameters)[:2] == ["trials", "rng"]
    assert f">>> from unrelu._old.experiments import {name.replace('-', '_')}" in inspect.getdoc(type(function))


def test_every_printed_number_and_claim_is_judged_by_an_experiment(results):
    judged = {judgement.key for result in results.values() for judgement in result.judgements}
    known = {**printed()["numbers"], **printed()["claims"]}
    assert judged == set(known)


# What verdicts make of any sample


def samples(rows):
    """Samples from which nothing follows, and some that no run would give."""
    draw = random.Random(0)
    yield "one", rows[:1]
    yield "odd", [row for row in rows if row.get("seed", 0) % 2]
    for name, junk in {"nan": float("nan"), "inf": float("inf"), "zero": 0.0, "large": 1e300, "negative": -1.0}.items():
        yield name, [{k: junk if isinstance(v, float) else v for k, v in row.items()} for row in rows]
    yield "none", [{k: None if isinstance(v, float) else v for k, v in row.items()} for row in rows]
    yield "failed", [{k: False if isinstance(v, bool) else v for k, v in row.items()} for row in rows]
    yield "shuffled", draw.sample(list(rows), len(rows))
    yield "some", draw.sample(list(rows), (len(rows) + 1) // 2)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_empty_sample_has_no_verdict(results, name):
    experiment, result = EXPERIMENTS[name], results[name]
    empty = experiment.judge(result.sizes, [])
    assert {j.verdict for j in empty} <= {NOT_TESTED}
    assert {(j.key, j.case) for j in empty} == {(j.key, j.case) for j in result.judgements}
    assert len({(j.key, j.case) for j in empty}) == len(empty)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_any_sample_is_judged_and_junk_confirms_nothing(results, name):
    experiment, result = EXPERIMENTS[name], results[name]
    lines = {(j.key, j.case) for j in result.judgements}
    for kind, rows in samples(result.rows):
        found = experiment.judge(result.sizes, rows)
        assert {(j.key, j.case) for j in found} == lines, kind
        assert all(j.verdict in VERDICTS and j.rule in RULES and j.measured for j in found), kind


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_one_trial_confirms_nothing_but_what_one_instance_shows(results, name):
    experiment, result = EXPERIMENTS[name], results[name]
    seed = min((row["seed"] for row in result.rows if "seed" in row), default=None)
    rows = [row for row in result.rows if row.get("seed", seed) == seed]
    sizes = {**result.sizes, "trials": 1}
    for judgement in experiment.judge(sizes, rows):
        if judgement.verdict in ("reproduced", "better"):
            assert judgement.rule in ("witness", "always", "bounded", "with probability"), judgement


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_nothing_is_turned_down_without_a_reason(results, name):
    experiment, result = EXPERIMENTS[name], results[name]
    for kind, rows in samples(result.rows):
        for judgement in experiment.judge(result.sizes, rows):
            if judgement.verdict in ("not reproduced", NOT_TESTED):
                assert judgement.why, (kind, judgement.key)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_verdicts_rest_on_lines_of_the_ledger_that_the_paper_does_not_print(results, name):
    result = results[name]
    ledger = EXPERIMENTS[name].ledger(result.sizes)
    assert all(setting.origin in ("printed", "inferred", "ours") for setting in ledger)
    assert all(setting.how for setting in ledger if setting.origin != "printed"), (
        "inferred from what, ours for which reason"
    )
    assert len({(s.method, s.name) for s in ledger}) == len(ledger)
    open_ = {setting.name for setting in ledger if setting.origin != "printed"}
    for judgement in result.judgements:
        assert set(judgement.rests) <= open_, judgement.key


def test_lines_on_which_odd_and_even_trials_disagree_are_marked():
    class Coin(Experiment):
        def judge(self, sizes, rows):
            good = sum(row["good"] for row in rows)
            return [unrelu._old.experiments.rules.generally("landscape/relu", good, len(rows), otherwise="few")]

    def near(odd, even):
        rows = [{"seed": k, "good": odd if k % 2 else even} for k in range(40)]
        return Coin().judged({}, rows)[0].near

    assert near(True, False)
    assert not near(True, True)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_findings_are_what_json_says_and_of_few_digits(results, name):
    for row in results[name].rows:
        assert json.loads(json.dumps(row)) == row or "nan" in repr(row)
        assert all(v == float(f"{v:.6e}") for v in row.values() if isinstance(v, float) and v == v)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_heading_says_the_sizes_of_this_run(results, name):
    experiment = EXPERIMENTS[name]
    words, full = experiment.setting(results[name].sizes), experiment.setting(experiment.sizes())
    assert words == full if name in ("table-claims", "table-errata") else words != full


def test_no_text_of_a_figure_is_cut_off(results):
    for picture, narrow in [(p, narrow) for r in results.values() for p in r.pictures for narrow in (False, True)]:
        drawn = picture.draw(narrow)
        drawn.draw_without_rendering()
        assert drawn.get_size_inches()[0] <= (3.6 if narrow else 7.4)
        canvas, ink = drawn.bbox, drawn.get_tightbbox().transformed(drawn.dpi_scale_trans)
        assert ink.x0 >= canvas.x0 - 1, picture.name
        assert ink.y0 >= canvas.y0 - 1, picture.name
        assert ink.x1 <= canvas.x1 + 1, picture.name
        assert ink.y1 <= canvas.y1 + 1, picture.name


def test_claims_are_the_verdicts_of_the_others(results):
    theirs, ours = results["table-claims"].tables
    where = theirs.columns.index("experiment")
    assert {row[where] for row in theirs.rows} >= {"figure-landscape", "figure-methods", "table-noise", "figure-basin"}
    assert {row[where] for row in ours.rows} >= {"figure-methods", "table-open-problems"}
    needed = {other.name for other in EXPERIMENTS["table-claims"].needs}
    assert needed == set(EXPERIMENTS) - {"table-claims"}


def test_same_seed_same_trials_and_other_seed_others(results):
    sizes = TINY["figure-landscape"]
    again = EXPERIMENTS["figure-landscape"](trials=2, rng=0, **sizes)
    assert again.rows == results["figure-landscape"].rows
    other = EXPERIMENTS["figure-landscape"](trials=2, rng=np.random.default_rng(5), **sizes)
    assert other.rows[0]["seed"] != again.rows[0]["seed"]


def test_printed_reading_of_the_start_has_orthonormal_columns_and_scaled_ones_do_not():
    X = unrelu.datasets.planted(30, 2, rng=1).matrix
    X = np.where(X >= 0, X, np.nan)
    plain, cpu = paper_start("tailored", X, 2, 0, scaled=False)
    np.testing.assert_allclose(plain.T @ plain, np.eye(2), atol=1e-12)
    assert cpu >= 0
    scaled, _ = paper_start("tailored", X, 2, 0, scaled=True)
    assert np.linalg.norm(scaled) > 2
    with_data, _ = paper_start("random-imputation", X, 2, 0, scaled=False)
    without, _ = paper_start("random-spectral", X, 2, 0, scaled=False)
    Y = np.random.default_rng(0).standard_normal((30, 2))
    np.testing.assert_allclose(without @ without.T @ Y, Y, atol=1e-10)  # the span of Y, of which the data are no part
    assert np.linalg.norm(with_data @ with_data.T @ Y - Y) > 0.1


def test_descent_is_the_papers_iteration():
    made = unrelu.datasets.planted(25, 2, rng=3)
    X = np.where(made.matrix >= 0, made.matrix, np.nan)
    start = np.random.default_rng(4).standard_normal((25, 2))
    found = descend(Observations.of(X), start, truth=made.matrix, most=3, step=0.5)
    seen = ~np.isnan(X)
    step = 0.5 / max(np.abs(np.linalg.eigvalsh(np.where(seen, X, 0))).max(), np.linalg.norm(start, 2) ** 2)
    U = start.copy()
    for t in range(4):
        Z = np.where(seen, U @ U.T - made.matrix, 0)
        gradient = 0.5 * (Z + Z.T) @ U
        assert found.gradient[t] == pytest.approx(np.linalg.norm(gradient), rel=1e-3)
        assert found.error[t] == pytest.approx(
            np.linalg.norm(U @ U.T - made.matrix) / np.linalg.norm(made.matrix), rel=1e-3
        )
        U = U - step * gradient


def test_the_counting_limit_is_where_unknowns_meet_entries():
    for n, pairs in ((200, 10150), (37, 500)):
        r = counting_limit(n, pairs)
        assert n * r - r * (r - 1) / 2 == pytest.approx(pairs)


def test_same_orthant_is_seen_and_the_opposite_one_never(results):
    for row in results["figure-observed"].rows:
        assert [row["seen"][f"{k}{k}"] for k in range(4)] == [1.0] * 4
        assert row["seen"]["20"] == row["seen"]["31"] == 0.0
        assert sum(row["sizes"]) == 60


def test_conditions_stop_holding_just_past_the_largest_threshold(results):
    for row in results["figure-sectors"].rows:
        assert row["failed"][0] == row["failed"][1] == []
        assert row["failed"][2]
        assert row["printed"] <= row["limit"]


def test_noise_has_slope_one_and_the_bound_holds(results):
    rows = results["table-noise"].rows
    ratio = [r["error"] / r["noise"] for r in rows]
    assert max(ratio) / min(ratio) < 3
    assert all(r["error"] <= r["bound"] for r in rows if r["bound"] is not None)
