"""The theory on the page: errata, theorems, thresholds, growth, noise and sectors."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from unrelu import InputError
from unrelu._old.experiments import errata
from unrelu._old.experiments.errata import IMPRECISE, WRONG, TableErrata, evaluate
from unrelu._old.experiments.judging import printed
from unrelu._old.experiments.noise import TableNoise, slopes_of
from unrelu._old.experiments.rules import DEPENDS, NOT_REPRODUCED, NOT_TESTED, REPRODUCED, VERDICTS
from unrelu._old.experiments.scaling import TableScaling
from unrelu._old.experiments.sectors import FigureSectors
from unrelu._old.experiments.theorems import LEMMAS, TableTheorems, hessian_on_quotient, worst_pair
from unrelu._old.experiments.threshold import FigureThreshold
from unrelu._old.theory.assumptions import check_assumption_1, check_assumption_2
from unrelu._old.theory.bounds import (
    error_constant,
    factor_constant,
    lemma_1,
    lemma_2,
    noisy_bounds,
    root_lemma,
    tu_lemma,
)
from unrelu._old.theory.geometry import Landscape, curvature, quotient_distance
from unrelu._old.theory.partition import orthant_partition
from unrelu._old.theory.propositions import cone_probability, cone_second_moment
from unrelu._old.theory.thresholds import convexity_limit

TINY = {
    TableErrata: {},
    TableTheorems: dict(trials=2, sizes=[[16, 2]], noisy=[[50, 2]], starts=2, search=60),
    FigureThreshold: dict(
        trials=2,
        ns=[60, 80],
        large=[120],
        ranks=[2, 3],
        quantiles=[0.5, 0.6, 0.9],
        families=["gaussian", "sphere"],
        share_ns=[60, 120],
        share_ranks=[2, 3],
    ),
    TableScaling: dict(trials=2, ns=[60, 120], ranks=[2], cone_ranks=[2, 3]),
    TableNoise: dict(trials=2, n=60, ranks=[2], sigmas=[1e-6, 1e-4, 1e-2]),
    FigureSectors: dict(trials=2, n=200, multiples=[0.0, 0.5, 1.5]),
}


@pytest.fixture(scope="module")
def results():
    return {kind: kind()(**sizes) for kind, sizes in TINY.items()}


def verdicts(experiment, rows, **sizes):
    return {(j.key, j.case): j.verdict for j in experiment.judge(experiment.sizes(**sizes), rows)}


# Any sample


@pytest.mark.parametrize("kind", TINY)
def test_any_sample_is_judged_with_the_same_lines(results, kind):
    result, experiment = results[kind], kind()
    lines = [(j.key, j.case) for j in result.judgements]
    assert len(set(lines)) == len(lines)
    rows = list(result.rows)
    junk = [math.nan, math.inf, -1.0, 0.0, 1e300, None]
    samples = [[], rows[:1], rows[-1:], rows[::2], rows[1::2]]
    samples += [[{k: j if isinstance(v, float) else v for k, v in row.items()} for row in rows] for j in junk]
    samples += [[{k: False if isinstance(v, bool) else v for k, v in row.items()} for row in rows]]
    for sample in samples:
        found = experiment.judge(result.sizes, sample)
        assert [(j.key, j.case) for j in found] == lines
        assert all(j.verdict in VERDICTS and j.measured for j in found)
        assert all(j.why for j in found if j.verdict in (NOT_TESTED, NOT_REPRODUCED))
    assert {j.verdict for j in experiment.judge(result.sizes, [])} <= {NOT_TESTED}


@pytest.mark.parametrize("kind", TINY)
def test_verdicts_rest_on_lines_of_the_ledger_and_headings_say_the_sizes(results, kind):
    result, experiment = results[kind], kind()
    ledger = experiment.ledger(result.sizes)
    open_ = {setting.name for setting in ledger if setting.origin != "printed"}
    assert all(setting.how for setting in ledger if setting.origin != "printed")
    assert all(set(judgement.rests) <= open_ for judgement in result.judgements)
    if kind is not TableErrata:
        assert experiment.setting(result.sizes) != experiment.setting(experiment.sizes())
        assert experiment.setting(experiment.sizes(quick=True)) != experiment.setting(experiment.sizes())


@pytest.mark.parametrize("kind", TINY)
def test_figures_fit_a_phone(results, kind):
    for picture in results[kind].pictures:
        for narrow, width in ((False, 7.4), (True, 3.6)):
            drawn = picture.draw(narrow)
            drawn.draw_without_rendering()
            assert drawn.get_size_inches()[0] <= width
            canvas, ink = drawn.bbox, drawn.get_tightbbox().transformed(drawn.dpi_scale_trans)
            assert ink.x0 >= canvas.x0 - 1
            assert ink.x1 <= canvas.x1 + 1


# Errata


@pytest.mark.parametrize("erratum", WRONG, ids=lambda e: e.key)
def test_the_line_contradicts_what_is_printed(erratum):
    left, right = evaluate(erratum.code)
    assert not errata._holds(left, erratum.relation, right)
    # By far more than rounding.
    assert abs(left - right) > 0.1 * max(abs(left), abs(right))
    assert "\n" not in erratum.code
    assert erratum.key in printed()["claims"]


@pytest.mark.parametrize("erratum", IMPRECISE, ids=lambda e: e.key)
def test_the_line_shows_what_is_imprecise(erratum):
    left, right = evaluate(erratum.code)
    assert errata._holds(left, erratum.relation, right)
    assert erratum.key not in printed()["claims"]


def test_a_line_that_agrees_with_the_print_refutes_nothing():
    experiment = TableErrata()
    rows = [{"erratum": erratum.key, "left": 1.0, "right": 1.0} for erratum in WRONG]
    assert set(verdicts(experiment, rows).values()) == {NOT_TESTED}
    found = {j.key: j.verdict for j in experiment().judgements}
    assert set(found.values()) == {NOT_REPRODUCED}
    assert set(found) == {key for key in printed()["claims"] if key.startswith("errata/")}


def test_lines_run_as_the_page_shows_them():
    result = TableErrata()()
    names = {}
    exec(errata.PREAMBLE, names)
    assert all(line in result.notes[0] for line in errata.PREAMBLE.strip().splitlines())
    column = result.tables[0].columns.index("line of code")
    for row in result.tables[0].rows:
        left, right = eval(row[column], dict(names))
        assert f"{float(left):.4g}" in row[-1]
        assert f"{float(right):.4g}" in row[-1]
        assert row[-1].endswith(": false")


def test_what_is_said_to_be_right_is_right():
    # c of the last line of the proof, on the instance on which the printed one fails, for all small noise.
    for noise in 10.0 ** np.arange(-8, 0):
        assert noise <= error_constant(1, 1, 1, noise) * noise
    # The projection onto a ball.
    W, M, delta = np.array([2.0, 1.0]), np.array([0.5, 0.0]), 0.3
    t = np.linalg.norm(W - M) / math.sqrt(delta) - 1
    assert np.linalg.norm((W + t * M) / (1 + t) - M) == pytest.approx(math.sqrt(delta))
    # Bernstein below the mean, the union bound, and the chance of a cone.
    for n, r, t in itertools.product((16, 100, 400), (1, 2), (1, 2, 5)):
        mean = n / 2**r
        assert binom.cdf(mean - t, n, 1 / 2**r) <= math.exp(-(t**2) / 2 / (mean + t / 3))
    wrong = []
    for r in range(2, 51):
        assert cone_probability(r) >= math.sin(math.pi / 12) ** r / (math.sqrt(math.pi) * r)
        if cone_probability(r) < math.sin(math.pi / 12) ** (r - 1) / (math.sqrt(math.pi) * (r - 1)):
            wrong.append(r)
        assert math.gamma((r + 1) / 2) <= r / 2 * math.gamma(r / 2)
    assert wrong == [2, 3]
    # The limit of Theorem 4 with K = √n groups, and λ and γ like √n.
    limits = []
    for n in (81**2, 81**4):
        root = math.sqrt(n)
        c0 = math.sqrt(8 * root) * (n**0.25 + n**0.25 + root + root * root * (3 + 1 / 4))
        assert factor_constant(root, int(root), root, 0.0) < c0
        limits.append(root * n**0.25 / (4 * c0 * (1 + (n**0.25 + 2 * root) / (2 * root))) / n**0.25)
    code = next(e.code for e in WRONG if e.key == "errata/noise-level")
    assert evaluate(code)[0] == pytest.approx(limits[1] / limits[0])
    bounds = noisy_bounds(np.eye(4) * 3.0, 4, 9.0, 9.0, 0.0)
    assert bounds.limits[2] == pytest.approx(9 * 3 / (4 * bounds.c0_tilde * (1 + (3 + 2 * 3) / math.sqrt(36))))


# Theory that is new


@pytest.mark.parametrize("seed", range(20))
def test_the_root_lemma_holds_and_makes_lemma_2_true_as_printed(seed):
    rng = np.random.default_rng(seed)
    for _ in range(30):
        n = int(rng.integers(1, 6))
        r = int(rng.integers(1, n + 1))
        U, V = (
            10.0 ** rng.uniform(-3, 2) * rng.standard_normal((n, k)) @ rng.standard_normal((k, r))
            for k in rng.integers(1, r + 1, 2)
        )
        apart, root = quotient_distance(U, V), root_lemma(U, V)
        assert apart <= root * (1 + 1e-9)
        assert root <= lemma_2(U, V, printed=True) * (1 + 1e-12)
        assert root <= lemma_2(U, V) * (1 + 1e-12)
    assert root_lemma(U, 0 * U) == pytest.approx(lemma_1(np.eye(2), np.zeros((2, 2))) * 0 + root_lemma(0 * U, U))
    assert root_lemma(0 * U, 0 * U) == 0


def test_moments_in_a_cone_are_those_of_samples():
    rng = np.random.default_rng(0)
    for r in (2, 3):
        u = rng.standard_normal((400_000, r))
        u = u[u[:, 0] >= math.cos(math.pi / 12) * np.linalg.norm(u, axis=1)]
        along, across = cone_second_moment(r)
        moments = u.T @ u / len(u)
        assert moments[0, 0] == pytest.approx(along, rel=0.03)
        assert np.diag(moments)[1:] == pytest.approx([across] * (r - 1), rel=0.06)
    assert cone_second_moment(2)[1] == pytest.approx(1 - math.sin(math.pi / 6) / (math.pi / 6))
    assert cone_second_moment(300)[1] == pytest.approx(math.sin(math.pi / 12) ** 2, rel=0.01)
    # A cone of a right angle is a half-space, in which nothing is known but one sign.
    assert cone_second_moment(5, math.pi / 2) == pytest.approx((1, 1))
    with pytest.raises(InputError, match="rank must be at least 2"):
        cone_second_moment(1)


@pytest.mark.parametrize(("n", "r"), [(12, 2), (20, 3), (30, 8)])
def test_strong_convexity_ends_where_it_is_said_to(n, r):
    ended_early = 0
    for seed in range(4):
        U = np.random.default_rng(seed).standard_normal((n, r))
        M = U @ U.T
        M = (M + M.T) / 2
        limit = convexity_limit(U)
        assert curvature(limit.threshold <= M, U).positive
        assert not curvature(limit.threshold < M, U).positive
        assert ((limit.rows <= M).sum(axis=1) >= r).all()
        assert ((limit.rows < M).sum(axis=1) < r).any()
        assert limit.threshold <= limit.rows
        ended_early += not limit.by_rows
    # Near the counting limit it ends before a row is left with fewer than r entries.
    assert ended_early >= 3 or r < 8


# Theorems


def test_the_dense_hessian_is_that_of_the_library():
    from unrelu._old.data.observations import Observations

    rng = np.random.default_rng(0)
    U, V, D = rng.standard_normal((3, 15, 2))
    M = V @ V.T + 0.1 * rng.standard_normal((15, 15))
    seen = M >= 0
    landscape = Landscape.of(Observations.of(np.where(seen, M, np.nan)), 2)
    whole, across = hessian_on_quotient(U, M, seen)
    assert whole @ D.ravel() == pytest.approx(landscape.euclidean_hessian(U, D).ravel())
    assert np.linalg.eigvalsh(across)[0] == pytest.approx(landscape.smallest_eigenvalue(U))
    assert len(across) == 15 * 2 - 1


def test_a_search_finds_what_is_wrong_with_a_lemma():
    rng = np.random.default_rng(1)
    assert worst_pair(lambda U, V: 0.9 * lemma_1(U, V), (2, 1, 1, 1), rng, 300) > 1
    assert worst_pair(lambda U, V: tu_lemma(U, V) / 1.0987, (2, 1, 1, 1), rng, 400) > 1.05
    for key, bound in LEMMAS.items():
        assert worst_pair(bound, (2, 1, 1, 1), rng, 300) <= 1 + 1e-9, key


def test_instances_of_theorems_satisfy_their_assumptions():
    from unrelu._old.experiments.theorems import DRAWN, _drawn

    for family in DRAWN:
        U = _drawn(np.random.default_rng(0), 16, 2, family)
        groups = orthant_partition(U)
        assert check_assumption_1(groups).holds
        assert check_assumption_2(groups, U @ U.T >= 0).holds
    # Two columns so different that orthants see nothing of each other: no draw will do.
    assert _drawn(np.random.default_rng(0), 8, 3, "condition-100") is None


def test_one_violation_is_enough():
    rows = [
        *({"of": "theorems/1", "holds": True, "fits": 3, "same": 3, "unique": True, "seed": k} for k in range(30)),
        *(
            {"of": "theorems/2", "holds": True, "positive": True, "ratio": 1.0, "euclidean": 0.5, "seed": k}
            for k in range(30)
        ),
        *({"of": of, "ratio": 0.7, "seed": k} for of in ["theorems/4", *LEMMAS] for k in range(30)),
    ]
    experiment = TableTheorems()
    assert set(verdicts(experiment, rows).values()) == {REPRODUCED}
    changes = {
        "theorems/1": {"same": 2},
        "theorems/2": {"positive": False},
        "theorems/euclidean": {"euclidean": 1.001},
        "theorems/4": {"ratio": -0.5},  # the Hessian has a negative eigenvalue
        **{of: {"ratio": 1.001} for of in LEMMAS},
    }
    for key, change in changes.items():
        own = {"theorems/euclidean": "theorems/2"}.get(key, key)
        place = next(k for k, row in enumerate(rows) if row["of"] == own)
        changed = [*rows[:place], {**rows[place], **change}, *rows[place + 1 :]]
        found = verdicts(experiment, changed)
        assert found[key, ""] == NOT_REPRODUCED
        assert {v for k, v in found.items() if k[0] != key} <= {REPRODUCED, NOT_REPRODUCED}
        assert sum(v == NOT_REPRODUCED for v in found.values()) == (2 if change == {"positive": False} else 1)


def test_a_start_that_fits_elsewhere_is_told():
    from unrelu._old.experiments.theorems import _unique

    # Rows A | S | B, where A and B see only S and themselves and S has rank 1: B may be reflected.
    U = np.array([[1.0, 3.0], [1.0, 2.0], [1.0, 0.0], [2.0, 0.0], [1.0, -3.0], [1.0, -2.0], [0.1, 1.0], [0.1, -1.0]])
    found = _unique(U, np.random.default_rng(0), 20)
    assert not found["unique"]
    assert found["same"] < found["fits"]
    assert found["farthest"] > 0.1


# Thresholds


def gamma_row(seed, positive, r=2, n=100, **more):
    return {"of": "gamma", "n": n, "r": r, "quantiles": [0.5, 0.6, 0.9], "positive": positive, "seed": seed, **more}


def test_a_threshold_at_which_convexity_has_ended_makes_the_verdict_depend():
    experiment = FigureThreshold()
    sizes = dict(ranks=[2], quantiles=[0.5, 0.6, 0.9])
    key = ("threshold/convex", "r = 2")
    assert verdicts(experiment, [gamma_row(k, [True, True, True]) for k in range(20)], **sizes)[key] == REPRODUCED
    assert verdicts(experiment, [gamma_row(k, [True, True, False]) for k in range(20)], **sizes)[key] == DEPENDS
    assert verdicts(experiment, [gamma_row(k, [True, False, False]) for k in range(20)], **sizes)[key] == NOT_REPRODUCED
    # What happens at or below zero says nothing of positive thresholds.
    assert verdicts(experiment, [gamma_row(k, [False, True, True]) for k in range(20)], **sizes)[key] == REPRODUCED
    few = verdicts(experiment, [gamma_row(k, [True, True, True]) for k in range(5)], **sizes)
    assert few[key] == NOT_TESTED


def test_assumption_3_and_the_rows_at_the_end():
    experiment = FigureThreshold()
    rows = [gamma_row(k, [True] * 3, within=True, by_rows=k > 0) for k in range(20)]
    found = verdicts(experiment, rows)
    assert found["threshold/within", ""] == REPRODUCED
    assert found["threshold/rows", ""] == REPRODUCED
    rows[3]["within"] = False
    assert verdicts(experiment, rows)["threshold/within", ""] == NOT_REPRODUCED
    assert printed()["claims"]["threshold/rows"]["ours"]


def test_shares_that_change_with_n_are_not_constant():
    experiment = FigureThreshold()
    key = ("threshold/share", "Gaussian factors")
    rows = [{"of": "share", "family": "gaussian", "r": 2, "change": 1.1, "seed": k} for k in range(20)]
    assert verdicts(experiment, rows)[key] == REPRODUCED
    assert verdicts(experiment, [{**row, "change": 2.0} for row in rows])[key] == NOT_REPRODUCED
    assert verdicts(experiment, rows)["threshold/share", "sphere factors"] == NOT_TESTED
    from unrelu._old.experiments.threshold import _change

    assert _change([[0.5, 0.2], [0.5, 0.1]]) == pytest.approx(2)
    assert _change([[0.5], [0.0]]) == math.inf


def test_the_numbers_of_a_trial_with_a_threshold():
    row = FigureThreshold().trial({"of": "gamma", "n": 200, "r": 2, "quantiles": [0.0, 0.5, 0.9], "seed": 0})
    assert row["positive"] == [True, True, False]
    assert row["gammas"] == sorted(row["gammas"], reverse=True)
    assert 0.5 < row["quantile"] < 0.9
    assert 0 < row["example"] < row["end"]
    assert row["within"]
    shares = FigureThreshold().trial(
        {"of": "share", "family": "gaussian", "r": 2, "ns": [200, 400], "etas": [0.0, 1.0], "seed": 0}
    )
    # uᵀv has Laplace's distribution at r = 2: a share of ½ e^(−√2) lies above its deviation.
    assert shares["shares"][-1] == pytest.approx([0.5, 0.5 * math.exp(-math.sqrt(2))], abs=0.02)


# Growth


def growth_rows(limit, gamma=1.0, lam=1.0, seeds=20):
    return [
        {
            "of": "growth",
            "n": n,
            "r": 2,
            "seed": seed,
            "gamma": n**gamma * (1 + 0.01 * math.sin(seed + n)),
            "lambda": n**lam / 10,
            "smallest": n // 5,
            "limit": 1e-6 * n**limit * (1 + 0.01 * math.cos(seed * n)),
            "moments": [1.0, 2 / math.pi, 2 / math.pi, 1.0],
        }
        for seed in range(seeds)
        for n in (200, 400, 800, 1600)
    ]


@pytest.mark.parametrize(
    ("power", "verdict"), [(6.0, NOT_TESTED), (1.0, REPRODUCED), (0.25, NOT_TESTED), (0.1, NOT_REPRODUCED)]
)
def test_a_growth_that_cannot_last_proves_nothing(power, verdict):
    found = TableScaling().judge(TableScaling().sizes(ranks=[2]), growth_rows(power))
    judgement = next(j for j in found if j.key == "scaling/noise-level")
    # At the bound itself the interval reaches over it; none is ever "better".
    assert judgement.verdict == verdict
    assert f"n^{power:.2f}" in judgement.measured
    if power == 6:
        assert "cannot last" in judgement.why


def test_powers_come_from_every_seed():
    found = verdicts(TableScaling(), growth_rows(1.0), ranks=[2])
    assert found["scaling/gamma-root", "r = 2"] == REPRODUCED
    assert found["scaling/gamma-power", "r = 2"] == NOT_REPRODUCED
    assert found["scaling/lambda-power", "r = 2"] == REPRODUCED
    assert found["scaling/blocks", "r = 2"] == REPRODUCED
    assert found["scaling/moments", ""] == REPRODUCED
    assert verdicts(TableScaling(), growth_rows(1.0, seeds=3), ranks=[2])["scaling/gamma-root", "r = 2"] == NOT_TESTED
    assert verdicts(TableScaling(), growth_rows(1.0, gamma=2.0), ranks=[2])["scaling/gamma-root", "r = 2"] != REPRODUCED
    off = [{**row, "moments": [1.0, 0.0, 0.0, 1.0]} for row in growth_rows(1.0)]
    assert verdicts(TableScaling(), off, ranks=[2])["scaling/moments", ""] == NOT_REPRODUCED
    poor = [{**row, "smallest": 1} for row in growth_rows(1.0)]
    assert verdicts(TableScaling(), poor, ranks=[2])["scaling/blocks", "r = 2"] == NOT_REPRODUCED


def test_cones_are_judged_over_all_ranks():
    experiment = TableScaling()
    rows = [{**task, **experiment.trial(task)} for task in experiment.tasks(experiment.sizes(ns=[]))]
    assert [row["r"] for row in rows] == list(range(2, 51))
    assert verdicts(experiment, rows)["scaling/cones", ""] == REPRODUCED
    rows[10]["across"] = 0.04
    assert verdicts(experiment, rows)["scaling/cones", ""] == NOT_REPRODUCED


# Noise and sectors


def noise_rows(power=1.0, bound=1e5, seeds=10):
    return [
        {
            "n": 200,
            "r": 5,
            "sigma": sigma,
            "seed": seed,
            "noise": 200 * sigma,
            "seen_noise": 150 * sigma,
            "error": (200 * sigma) ** power * (1 + 0.01 * seed),
            "bound": bound * (200 * sigma) ** power,
            "limit": 1e-4,
            "holds": True,
        }
        for seed in range(seeds)
        for sigma in (1e-6, 1e-4, 1e-2, 1.0)
    ]


def test_slopes_are_of_each_matrix_and_bounds_of_every_one():
    experiment = TableNoise()
    slope, bound, beyond = ("noise/slope", "r = 5"), ("noise/bound", ""), ("noise/beyond", "")
    found = verdicts(experiment, noise_rows(), ranks=[5])
    assert found[slope] == found[bound] == found[beyond] == REPRODUCED
    assert verdicts(experiment, noise_rows(power=1.2), ranks=[5])[slope] == NOT_REPRODUCED
    assert verdicts(experiment, noise_rows(seeds=3), ranks=[5])[slope] == NOT_TESTED
    near = verdicts(experiment, noise_rows(bound=3.0), ranks=[5])
    assert (near[bound], near[beyond]) == (REPRODUCED, NOT_REPRODUCED)
    assert verdicts(experiment, noise_rows(bound=0.5), ranks=[5])[bound] == NOT_REPRODUCED
    assert slopes_of(noise_rows(), 5) == pytest.approx([1.0] * 10)
    assert slopes_of(noise_rows(), 2) == []


def test_sectors_are_judged_where_each_has_two_rows():
    experiment = FigureSectors()
    rows = [{"smallest": 3, "printed_holds": True, "limit": 2.0, "printed": 1.0, "seed": k} for k in range(20)]
    assert verdicts(experiment, rows)["sectors/holds", ""] == REPRODUCED
    assert verdicts(experiment, [{**row, "smallest": 1} for row in rows])["sectors/holds", ""] == NOT_TESTED
    rows[0]["printed_holds"] = False
    assert verdicts(experiment, rows)["sectors/holds", ""] == NOT_REPRODUCED
    rows[0]["smallest"] = 1
    assert verdicts(experiment, rows)["sectors/holds", ""] == NOT_TESTED  # nineteen are left


def test_odd_and_even_trials_are_told_apart():
    rows = [gamma_row(k, [True, True, True], within=k % 2 == 0) for k in range(40)]
    marked = {j.key: j for j in FigureThreshold().judged(FigureThreshold().sizes(), rows)}
    assert marked["threshold/within"].near
    assert replace(marked["threshold/within"], near=False) in FigureThreshold().judge(FigureThreshold().sizes(), rows)
