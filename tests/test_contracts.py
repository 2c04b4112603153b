"""What every public call keeps, whatever stands behind it: named by ``tests/golden/LEDGER.md``."""

import json
import subprocess
import sys
from dataclasses import dataclass

import matplotlib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import unrelu

matplotlib.use("agg")
RNG = np.random.default_rng(0)
FACTOR = RNG.standard_normal((30, 2))
TRUTH = FACTOR @ FACTOR.T
OBSERVED = np.where(TRUTH >= 0, TRUTH, np.nan)
WIDE = FACTOR[:20] @ FACTOR.T
TABLE = 5 + WIDE + 0.3 * RNG.standard_normal(WIDE.shape)
LIMITS = np.quantile(TABLE, 0.3, axis=0)
CENSORED = np.where(TABLE >= LIMITS, TABLE, np.nan)
POINTS = unrelu.datasets.points_in_cube(40, 2, rng=0)
RANGES = unrelu.datasets.within(POINTS, 0.5)


def calls(**options):
    """Answer one instance by each of the four functions that complete something."""
    return {
        "complete": unrelu.complete(OBSERVED, 2, **options).matrix(),
        "complete_rectangular": unrelu.complete_rectangular(np.where(WIDE >= 0, WIDE, np.nan), 2, **options).matrix(),
        "complete_table": unrelu.complete_table(CENSORED, threshold=LIMITS, **options).filled(),
        "complete_distances": unrelu.complete_distances(RANGES, 2, cutoff=0.5, **options).distances(),
    }


def test_same_seed():
    first, second = calls(rng=3), calls(rng=3)
    for name, answer in first.items():
        np.testing.assert_array_equal(answer, second[name], err_msg=name)
    for estimator, data in (
        (unrelu.PSDCompleter(2, random_state=0), OBSERVED),
        (unrelu.TableCompleter(threshold=LIMITS, random_state=0), CENSORED),
        (unrelu.DistanceCompleter(2, cutoff=0.5, random_state=0), RANGES),
    ):
        first, second = (clone(estimator).fit_transform(data) for _ in range(2))
        np.testing.assert_array_equal(first, second)


def test_progress(capfd):
    shown, quiet = calls(rng=3, progress=True), calls(rng=3)
    for name, answer in shown.items():
        np.testing.assert_array_equal(answer, quiet[name], err_msg=name)
    unrelu.compare(OBSERVED, 2, methods=["gauss-newton"], progress=True)
    assert capfd.readouterr().out == ""  # standard output belongs to the caller


def test_callback():
    records = []
    found = unrelu.complete(OBSERVED, 2, method="gradient-descent", rng=0, callback=records.append)
    assert [record.iteration for record in records] == list(range(len(records)))
    assert [record.objective for record in records] == [record.objective for record in found.history]
    assert records[-1].details["step"] > 0
    assert records[-1].relative_gradient_norm < records[0].relative_gradient_norm
    assert records[-1].gradient_norm < records[0].gradient_norm
    assert records[-1].seconds > records[0].seconds >= 0
    stopped = unrelu.complete(OBSERVED, 2, method="gradient-descent", rng=0, callback=lambda record: True)
    assert stopped.verdict.code == "callback"
    assert not stopped.verdict.answered
    records.clear()
    unrelu.complete_distances(RANGES, 2, cutoff=0.5, rng=0, callback=records.append)
    assert records

    def interrupt(row):
        raise KeyboardInterrupt

    broken_off = unrelu.complete(OBSERVED, 2, method="gradient-descent", rng=0, callback=interrupt)
    assert broken_off.verdict.code == "interrupted"
    assert not broken_off.verdict.answered
    cut = unrelu.compare(OBSERVED, 2, methods=["direct", "gauss-newton"], callback=interrupt)
    assert cut.interrupted
    assert len(cut.rows) == 1


def test_history():
    found = unrelu.complete(OBSERVED, 2, method="gradient-descent", truth=TRUTH, rng=0)
    error, objective = found.history.column("error"), found.history.column("objective")
    assert error[0] > 0.01
    np.testing.assert_allclose(error[-1], np.linalg.norm(found.matrix() - TRUTH) / np.linalg.norm(TRUTH), rtol=1e-6)
    assert (np.diff(objective) <= 0).all()
    assert found.objective == objective[found.iteration]
    assert [row["objective"] for row in found.history.as_rows()] == objective.tolist()
    attempt = unrelu.complete(OBSERVED, 2, rng=0).attempts[-1]
    assert (attempt.start, attempt.code, attempt.loss) == ("clique", "converged", "one-sided")


def test_time_limit():
    """The best answer so far comes back, and says so."""
    late = unrelu.MaxSeconds(1e-6)
    completion = unrelu.complete(OBSERVED, 2, method="gradient-descent", tol=late, rng=0)
    points = unrelu.complete_distances(RANGES, 2, cutoff=0.5, max_seconds=1e-6, rng=0)
    table = unrelu.complete_table(CENSORED, threshold=LIMITS, max_seconds=1e-6, rng=0)
    for answer in (completion, points, table):
        assert answer.verdict.code == "max-seconds"
        assert not answer.verdict.answered
    assert completion.matrix().shape == TRUTH.shape
    assert points.points.shape == POINTS.shape
    assert not points.determined.any()
    assert np.isfinite(table.filled()).all()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (OBSERVED, ["complete", "--rank", "2", "--method", "gradient-descent"]),
        (CENSORED, ["table"]),
        (RANGES, ["locate", "--dim", "2", "--cutoff", "0.5"]),
        (OBSERVED, ["certify", "--rank", "2"]),
    ],
)
def test_commands_end_in_time(data, words, tmp_path):
    """The best answer so far is written; nothing is proved."""
    given, written = tmp_path / "given.csv", tmp_path / "written.csv"
    np.savetxt(given, data, delimiter=",")
    command, *options = words
    options += [] if command == "certify" else ["-o", str(written)]
    line = [sys.executable, "-m", "unrelu", command, str(given), *options, "--max-seconds", "1e-6"]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1, ended.stderr
    if command != "certify":
        assert len(np.genfromtxt(written, delimiter=",")) >= len(data)


def run(*words, code=0):
    """Run a command and return what it printed."""
    ended = subprocess.run([sys.executable, "-m", "unrelu", *map(str, words)], capture_output=True, timeout=120)
    assert ended.returncode == code, ended.stderr.decode()
    return ended.stdout.decode()


def test_commands_read_alike(tmp_path):
    """Marks, labels, masks, thresholds and sides have the same options everywhere; misread, no answer is right."""
    given, mask, truth, out = (tmp_path / name for name in ("given.csv", "mask.csv", "truth.csv", "out.csv"))
    unknown = np.zeros(TRUTH.shape, bool)
    unknown[3, 4] = unknown[4, 3] = True
    observed = (TRUTH <= 0.5) & ~unknown
    names = [f"c{k}" for k in range(30)]
    cells = [[repr(float(v)) for v in row] for row in np.where(observed, TRUTH, -999)]
    lines = [["name", *names]] + [[name, *row] for name, row in zip(names, cells, strict=True)]
    given.write_text("\n".join(",".join(line) for line in lines))
    np.savetxt(mask, unknown, fmt="%d", delimiter=",")
    np.savetxt(truth, TRUTH, fmt="%.17g", delimiter=",")
    options = ["--threshold", 0.5, "--seen", "below", "--unknown", mask, "--missing", -999]
    options += ["--header", "--labels", "--format", "matrix"]

    proved = json.loads(run("certify", given, "--rank", 2, *options, "--entry-range=-20,20", "--json"))
    assert proved["unique"]
    assert proved["groups"] == [names]
    proved = json.loads(run("certify", given, "--rank", 2, "--table", "--no-threshold", "--missing", -999, "--json"))
    assert (proved["unique"], proved["determined_columns"]) == (True, 30)
    found = run("inspect", given, *options, "--table")
    assert f"{observed.sum()} of 30×30 entries" in found
    assert "Rank 2 with no noise" in found
    assert "--table" in found.splitlines()[-1]
    limits = ["--methods", "gauss-newton", "--trials", 2, "--budget", 60, "--truth", truth]
    for words in (options, ["--no-threshold", "--missing", -999]):
        run("compare", given, "--rank", 2, *words, *limits, "--csv", out)
        rows = out.read_text().splitlines()
        errors = [float(row.split(",")[rows[0].split(",").index("error")]) for row in rows[1:]]
        assert len(errors) == 2
        assert max(errors) < 1e-10
    run("table", given, "--rank", 2, *options, "-o", out)
    filled = np.genfromtxt(out, delimiter=",", skip_header=1)[:, 1:]
    np.testing.assert_allclose(filled, TRUTH, atol=1e-8)


def test_version():
    assert run("--version").strip() == f"unrelu {unrelu.__version__}"
    assert "--install-completion" in run("--help")


def test_tensors():
    torch = pytest.importorskip("torch")
    found = unrelu.complete(torch.as_tensor(OBSERVED), 2, device="cpu", rng=0)
    for answer in (found.matrix(), found.filled(), found.entries(0, np.arange(30))):
        assert isinstance(answer, torch.Tensor)
        assert answer.dtype == torch.float64
    np.testing.assert_allclose(found.filled().numpy(), TRUTH, atol=1e-8)
    table = unrelu.complete_rectangular(torch.as_tensor(np.where(WIDE >= 0, WIDE, np.nan)), 2, device="cpu", rng=0)
    np.testing.assert_allclose(table.matrix().numpy(), WIDE, atol=1e-8)


def test_tables_by_blocks(tmp_path):
    factor = RNG.standard_normal((200, 2))
    table = factor @ RNG.standard_normal((150, 2)).T
    np.save(tmp_path / "table.npy", np.where(table >= 0, table, np.nan))
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
    options = dict(peak_memory="20MB", checkpoint=tmp_path / "so_far.npz", rng=0)
    first, again = (unrelu.complete_rectangular(mapped, 2, **options) for _ in range(2))
    np.testing.assert_allclose(first.matrix(), table, atol=1e-8)
    np.testing.assert_array_equal(first.matrix(), again.matrix())


@pytest.mark.parametrize("symmetric", [False, True])
def test_scaled_gd_options(symmetric):
    def iterations(step_size):
        solver = unrelu.ScaledGD(step_size=step_size, symmetric=symmetric)
        found = unrelu.complete(OBSERVED, 2, method=solver, tol=1e-11, rng=0)
        np.testing.assert_allclose(found.matrix(), TRUTH, atol=1e-5)
        return len(found.history)

    assert iterations(0.2) > iterations(0.5)


def test_save_and_load(tmp_path):
    for name, completion in {
        "symmetric": unrelu.complete(OBSERVED, 2, rng=0),
        "table": unrelu.complete_rectangular(np.where(WIDE >= 0, WIDE, np.nan), 2, rng=0),
    }.items():
        path = tmp_path / f"{name}.npz"
        completion.save(path)
        loaded = type(completion).load(path)
        np.testing.assert_array_equal(loaded.matrix(), completion.matrix())
        assert loaded.verdict == completion.verdict
        assert len(loaded.history) == len(completion.history)


def test_own_solver():
    @dataclass(frozen=True)
    class Given(unrelu.Solver):
        """Gauss-Newton under another name."""

        stopping: str = "relative"
        name, max_iter = "given", 200
        inner = unrelu.GaussNewton()

        def start(self, problem, left, right):
            return self.inner.start(problem, left, right)

        def step(self, problem, state):
            return self.inner.step(problem, state)

    found = unrelu.complete(OBSERVED, 2, method=Given(), rng=0)
    assert found.method == "given"
    np.testing.assert_allclose(found.matrix(), TRUTH, atol=1e-8)


def test_own_loss():
    """A loss that grows linearly is hardly moved by a gross error."""

    @dataclass(frozen=True)
    class SoftAbsolute(unrelu.Loss):
        name = "soft-absolute"

        def heard(self, limits):
            return unrelu.Limits()

        def seen(self, fit, value, cost, slope, curvature):
            np.subtract(fit, value, out=slope)
            np.hypot(1.0, slope, out=cost)
            np.divide(slope, cost, out=slope)
            np.divide(1.0, cost**3, out=curvature)
            np.subtract(cost, 1.0, out=cost)

    wrong = TRUTH.copy()
    wrong[2, 5] = wrong[5, 2] = 40.0
    options = dict(threshold=None, method="gauss-newton", rng=0)
    robust = unrelu.complete(wrong, 2, loss=SoftAbsolute(), **options)
    squares = unrelu.complete(wrong, 2, **options)
    assert robust.loss == "soft-absolute"
    assert abs(robust.entries(2, 5) - TRUTH[2, 5]) < 0.5 < abs(squares.entries(2, 5) - TRUTH[2, 5])


def test_edges(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("value,from,to\n0.8,anna,ben\n0.4,ben,carl\n1,carl,carl\n")
    found = unrelu.edges(path, columns=["from", "to", "value"], labels=["carl", "ben", "anna"])
    everything = slice(0, 3), slice(0, 3)
    matrix = np.array([[1, 0.4, np.nan], [0.4, np.nan, 0.8], [np.nan, 0.8, np.nan]])
    assert found.labels == ("carl", "ben", "anna")
    np.testing.assert_array_equal(found.block(*everything), matrix)
    path.write_text("0,1,0.5\n2,0,0.25\n")
    one_way = unrelu.edges(path, shape=(3, 3), mirror=False).block(*everything)
    assert one_way[0, 1] == 0.5
    assert np.isnan(one_way[1, 0])
    path.write_text("anna,ben,0.8\nben,carl,0.4\n")
    table = unrelu.edges(path, table=True)
    assert (table.labels, table.column_labels) == (("anna", "ben"), ("ben", "carl"))


def test_unwritten_chunks(tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(tmp_path / "some.zarr", shape=(4, 4), chunks=(2, 2), dtype="f8", fill_value=np.nan)
    array[:2] = 1.5
    with pytest.raises(unrelu.InputError, match="2 of its 4 chunks"):
        unrelu.ZarrSource(array)
    source = unrelu.ZarrSource(array, missing="unseen")
    np.testing.assert_array_equal(source.block(slice(1, 3), slice(0, 2)), [[1.5, 1.5], [np.nan, np.nan]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: unrelu.complete(OBSERVED, 2, threshold="high"), "threshold"),
        (lambda: unrelu.complete(OBSERVED, 0), "rank"),
        (lambda: unrelu.complete(OBSERVED, 2, seen="left"), "seen"),
        (lambda: unrelu.complete_table(CENSORED, threshold=LIMITS[:3]), "threshold"),
        (lambda: unrelu.complete_distances(-RANGES, 2), "negative|must"),
        (lambda: unrelu.compare(OBSERVED, 2, trials=0), "trials"),
    ],
)
def test_input_errors(call, words):
    with pytest.raises(unrelu.InputError, match=words) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


def test_estimators():
    pandas = pytest.importorskip("pandas")
    names = [f"c{k}" for k in range(30)]
    for estimator, data in (
        (unrelu.PSDCompleter(2, random_state=0), OBSERVED),
        (unrelu.TableCompleter(threshold=LIMITS, random_state=0), CENSORED),
        (unrelu.DistanceCompleter(2, random_state=0), RANGES[:30, :30]),
    ):
        frame = pandas.DataFrame(data, columns=names, index=names if len(data) == 30 else None)
        fitted = clone(estimator).fit(frame)
        assert fitted.n_features_in_ == 30
        assert list(fitted.feature_names_in_) == names
        assert fitted.get_params().keys() == estimator.get_params().keys()
    completer = unrelu.PSDCompleter(2, threshold="auto", random_state=0).fit(OBSERVED)
    np.testing.assert_allclose(completer.factor_ @ completer.factor_.T, TRUTH, atol=1e-8)
    assert completer.threshold_ == pytest.approx(0, abs=0.1)
    with pytest.warns(ConvergenceWarning, match="7 iterations"):
        assert completer.set_params(method="gradient-descent", max_iter=7).fit(OBSERVED).n_iter_ == 7
    noisy = unrelu.datasets.within(POINTS, 0.5, noise=0.01, rng=0)
    assert unrelu.DistanceCompleter(2, random_state=0).fit(noisy).n_iter_ > 0
    points = unrelu.DistanceCompleter(2, random_state=0).fit(RANGES)
    apart = np.linalg.norm(points.embedding_[:, None] - points.embedding_, axis=2)
    np.testing.assert_allclose(apart, np.linalg.norm(POINTS[:, None] - POINTS, axis=2), atol=1e-8)
    assert set(points.determinacy_) == {"proved"}


def test_datasets():
    datasets = unrelu.datasets
    planted = datasets.planted(20, 2, sigma=0.1, scales=[1, 10], symmetric_noise=True, rng=0)
    np.testing.assert_allclose(planted.truth, planted.factor @ planted.factor.T)
    np.testing.assert_array_equal(planted.matrix, planted.matrix.T)
    assert 0.05 < np.std(planted.matrix - planted.truth) < 0.2
    scales = np.linalg.norm(planted.factor, axis=0)
    assert scales[1] > 5 * scales[0]
    for name in datasets.FAMILIES:
        instance = datasets.family(name, 20, 2, noise=0.01, symmetric_noise=False, rng=0)
        assert np.linalg.matrix_rank(instance.truth) <= 2, name
        assert not np.array_equal(instance.matrix, instance.matrix.T)
    points = datasets.points_in_cube(20, 3, rng=0)
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    observed, cutoff = datasets.shortest(points, 0.3)
    assert np.nanmax(observed) <= cutoff <= distances[np.isnan(observed)].min()
    noisy = datasets.within(points, 0.5, noise=0.01, rng=0)
    assert 0 < np.nanmax(abs(noisy - distances)) < 0.1
    chain = datasets.chain(40, step=2.0, apart=1.2, filling=0.7, rng=0)
    np.testing.assert_allclose(np.linalg.norm(np.diff(chain, axis=0), axis=1), 2.0)
    assert np.linalg.norm(chain[:, None] - chain, axis=2)[np.triu_indices(40, 1)].min() >= 1.2


def test_plots(tmp_path):
    """The matrix that was given and the answer are in the picture."""
    completion = unrelu.complete(OBSERVED, 2, rng=0)
    pictures = {
        "completion": unrelu.plots.draw_completion(completion, OBSERVED, truth=TRUTH),
        "beside": unrelu.plots.draw_beside(OBSERVED, {"ours": completion}, truth=TRUTH),
        "comparison": unrelu.plots.draw_comparison(unrelu.compare(OBSERVED, 2, methods=["direct", "gauss-newton"])),
    }
    for name, figure in pictures.items():
        assert len(figure.axes) > 1, name
        unrelu.plots.save_figure(figure, tmp_path / f"{name}.png", dpi=50)
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
    order = unrelu.plots.angular_order(FACTOR)
    assert sorted(order) == list(range(30))


def test_factors():
    completion = unrelu.complete(OBSERVED, 2, rng=0)
    assert (completion.method, completion.start, completion.loss) == ("gauss-newton", "clique", "one-sided")
    assert completion.seconds > 0
    np.testing.assert_allclose(completion.factor @ completion.factor.T, TRUTH, atol=1e-8)
    table = unrelu.complete_rectangular(np.where(WIDE >= 0, WIDE, np.nan), 2, rng=0)
    np.testing.assert_allclose(table.left @ table.right.T, WIDE, atol=1e-8)
    difference = FACTOR * [1, -1] @ FACTOR.T
    signed = unrelu.complete(np.where(difference >= 0, difference, np.nan), 2, structure="indefinite", rng=0)
    for found, truth in ((completion, TRUTH), (table, WIDE), (signed, difference)):
        factors = found.factors
        assert factors.rank == 2
        np.testing.assert_allclose(factors.dense(), truth, atol=1e-8)
        np.testing.assert_allclose(factors.entries(3, [0, 4]), truth[3, [0, 4]], atol=1e-8)
    for factors, truth in ((completion.factors, TRUTH), (table.factors, WIDE)):
        np.testing.assert_allclose(factors.left @ factors.right.T, truth, atol=1e-8)
    np.testing.assert_array_equal(completion.factors.factor, completion.factor)


def test_verdicts():
    """What a verdict, and a caution beside the error bars, say of a fit."""
    noise = np.triu(0.1 * np.random.default_rng(1).standard_normal(TRUTH.shape))
    noisy = TRUTH + noise + np.triu(noise, 1).T
    noisy[noisy < 0] = np.nan
    right, low = (unrelu.complete(noisy, rank, rng=0) for rank in (2, 1))
    assert (right.verdict.answered, right.verdict.converged, right.verdict.determines) == (True, True, True)
    assert (low.verdict.code, low.verdict.answered, low.verdict.converged) == ("best-of-rank", True, False)
    assert "not of rank 1" in low.verdict.reason
    assert "not of rank 1" in low.error_bars().caution
    bars = right.error_bars()
    assert bars.caution is None
    assert "noise of standard deviation 0.09" in right.noise.description
    assert bars.noise == right.noise
    np.testing.assert_allclose(bars.standard_errors(0, [1, 2]), right.standard_errors(0, [1, 2]))
    np.testing.assert_allclose(bars.interval(0, [1, 2], 0.8), right.interval(0, [1, 2], 0.8))
    stopped = unrelu.complete(noisy, 2, method="gradient-descent", max_iter=3, rng=0)
    assert (right.at_floor, stopped.at_floor) == (True, False)
    assert not stopped.verdict.answered
    with pytest.warns(unrelu.CompletionWarning):
        sparse = unrelu.complete(np.where(TRUTH >= 1.5, TRUTH, np.nan), 2, threshold=1.5, rng=0)
    np.testing.assert_array_equal(sparse.undetermined_rows, np.flatnonzero(~sparse.determined))
    assert 0 < len(sparse.undetermined_rows) < 30


def test_options_of_methods():
    disturbed = OBSERVED + 1e-3 * np.random.default_rng(2).standard_normal(TRUTH.shape)
    answers = [unrelu.complete(disturbed, 2, method=unrelu.Direct(seed=seed), rng=0).matrix() for seed in (0, 1, 0)]
    np.testing.assert_array_equal(answers[0], answers[2])
    assert not np.array_equal(answers[0], answers[1])
    stalled = unrelu.complete(OBSERVED, 2, method=unrelu.SDP(time_limit=0.01, eps=1e-12), rng=0)
    assert stalled.verdict.code == "stalled"
    assert "time_limit" in stalled.verdict.reason
    assert not stalled.verdict.answered


def test_held_out_scores():
    """What is hidden on purpose, with too few pairs for it and where nothing predicts."""
    noise = np.triu(np.random.default_rng(0).standard_normal((20, 20)))
    noise += np.triu(noise, 1).T
    few, none = (unrelu.complete(np.where(M >= 0, M, np.nan), rng=0).rehearsal for M in (noise[:7, :7], noise))
    assert (few.few, none.few) == (True, False)
    assert "too few pairs" in few.doubt
    assert "no model" in none.doubt
    assert not none.extrapolates
    assert abs(none.none.mean) < 0.3
    assert 0.8 < none.none.sigma < 1.2
    chosen = none.trials[none.chosen]
    assert chosen.gain == max(trial.gain for trial in none.trials)
    assert len(chosen.sigmas) == len(chosen.gains) == len(none.levels)
    assert min(chosen.sigmas) > 0
    assert {trial.diagonal for trial in none.trials} > {"data"}
    assert {trial.rank for trial in none.trials if not trial.shrinkage} >= {1, 2}


def test_entries_that_nothing_determines():
    """Without a named rank they are filled in, and have intervals, by what is known of all entries."""
    halves = np.full((60, 60), np.nan)
    halves[:30, :30] = halves[30:, 30:] = OBSERVED
    i, j = np.arange(30), np.arange(30, 60)
    apart, named = (unrelu.complete(halves, rank, threshold=None, rng=0) for rank in (None, 2))
    (low,), (high,) = (np.unique(end) for end in apart.predict(i, j))
    assert low < apart.alone.mean < high
    fit, filled = apart.matrix()[i, j], apart.filled()[i, j]
    assert fit.min() < low
    np.testing.assert_allclose(filled, np.clip(fit, low, high))
    assert named.alone is None
    assert np.isinf(named.predict(i, j)).all()


def test_draws():
    truth = np.outer(FACTOR[:12, 0], FACTOR[:12, 0])
    noise = np.triu(0.2 * np.random.default_rng(3).standard_normal(truth.shape))
    X = truth + noise + np.triu(noise, 1).T
    X[X < 0] = np.nan
    found = unrelu.complete(X, 1, method="gibbs", rng=0, tol=0.1)
    posterior = found.posterior
    assert found.drawn is posterior.kept
    assert posterior.draws.shape[2:] == (12, 1)
    entries = posterior.draws[..., 0, :] * posterior.draws[..., 1, :]
    np.testing.assert_allclose(posterior.mean(0, 1), entries.mean())
    assert posterior.sigma.shape == posterior.draws.shape[:2]
    np.testing.assert_allclose(posterior.noise.sigma, posterior.sigma.mean(), rtol=0.1)
    np.testing.assert_array_equal(posterior.filled(), found.filled())
    i, j = np.triu_indices(12, 1)
    assert 1 <= posterior.r_hat(i, j).max() <= posterior.worst[0]
    assert posterior.effective_sample_size(i, j).min() >= posterior.worst[1]
    hidden = np.isnan(X[i, j])
    assert (posterior.spread(i, j)[hidden] > 0).all()
    assert (posterior.spread(i, j)[~hidden] == 0).all()


def test_certificates():
    """What is proved, by what, and what the rest needs."""
    proof = unrelu.certify(np.where(TRUTH >= 1.2, TRUTH, np.nan), 2, threshold=1.2, rng=0)
    assert (proof.unique, proof.uses_absence) == (False, True)
    assert not unrelu.certify(OBSERVED, 2, rng=0).uses_absence
    assert len(proof.reasons) == len(proof.failed) > 0
    open_rows = np.flatnonzero(~proof.determined)
    np.testing.assert_array_equal(np.flatnonzero(proof.determinacy.level == "no"), open_rows)
    shortage = proof.shortages[0]
    assert shortage.agrees
    assert shortage.explain(None).startswith(f"row {shortage.row} sees {shortage.seen} ")
    for reason in proof.reasons:
        assert reason in proof.explain()
    assert proof.summary()["reasons"] == list(proof.reasons)
    parts = np.full((21, 31), np.nan)
    parts[:12, :18], parts[12:20, 18:30] = WIDE[:12, :18], WIDE[12:, 18:]
    parts[20, 0] = parts[0, 30] = 1.0
    completion = unrelu.complete_rectangular(parts, 2, threshold=None, rng=0)
    for proof in (unrelu.certify_rectangular(completion), type(unrelu.certify_rectangular(completion)).of(completion)):
        about = proof.summary()
        assert (proof.unique, len(proof.groups)) == (False, 2)
        assert about["not_determined"] == np.flatnonzero(~proof.determined).tolist()
        short = {(one.what, one.name): one for one in proof.shortages}
        assert (short["row", 20].seen, short["row", 20].independent, short["row", 20].needed) == (1, 1, 2)
        assert short["column", 30].seen == 1
        assert short["row", 20].explain() == "row 20 sees 1 entry of determined columns; rank 2 needs 2"
        assert "Between two bodies nothing is proved" in proof.explain()
        assert (proof.determinacy.rank_of == 0).sum() == 2


def test_comparison(tmp_path):
    found = unrelu.compare(OBSERVED, 2, methods=["gradient-descent"], trials=2, budget=1e-6, truth=TRUTH, rng=5)
    assert [(row.method, row.trial, row.code) for row in found.rows] == [
        ("gradient-descent", 0, "max-seconds"),
        ("gradient-descent", 1, "max-seconds"),
    ]
    assert len({row.seed for row in found.rows}) == 2
    for row in found.rows:
        assert not row.converged
        assert row.error > 0.01
        assert row.seconds > 0
        assert "the time was over" in row.reason
    assert (found.about["size"], found.about["trials"], found.about["budget"]) == (30, 2, 1e-6)
    found.to_csv(tmp_path / "runs.csv")
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 3
    found.to_json(tmp_path / "runs.json")
    written = json.loads((tmp_path / "runs.json").read_text())
    assert [row["seed"] for row in written["rows"]] == [row.seed for row in found.rows]


def test_diagnosis():
    """Everything that is found is in the sentences, and in the call that these lead to."""
    noise = np.random.default_rng(4).standard_normal(TRUTH.shape)
    X = TRUTH + 0.05 * np.triu(noise) + 0.05 * np.triu(noise, 1).T
    by_chance = np.triu(np.random.default_rng(5).random(X.shape) < 0.1)
    X[(X < 0.3) | by_chance | by_chance.T] = np.nan
    i, j = np.argwhere(np.triu(~np.isnan(X), 1))[7]
    X[i, j] = X[j, i] = X[i, j] + 8
    found = unrelu.diagnose(X, 2, rng=0)
    assert found.recommended == "unrelu.complete(X, rank=2, threshold='auto', gaps='mixed', loss='huber')"
    assert found.conclusion == f"Recommended: {found.recommended}"
    command = "unrelu complete f.csv --rank 2 --threshold auto --gaps mixed --loss huber -o g.csv"
    assert found.command("f.csv", "g.csv") == command
    said = " ".join(found.sentences())
    assert (found.counted.seen, found.counted.unseen) == ((~np.isnan(X)).sum(), np.isnan(X).sum())
    assert f"{found.counted.seen} of 30×30 entries" in said
    assert (found.held_out, found.untold) == (True, "")
    assert (found.verdict.code, found.extrapolates) == ("fitted-to-noise", None)
    structure = found.structures[0]
    assert (structure.name, structure.fits) == ("psd", True)
    assert structure.reason in said
    worst = found.contradicted[0]
    assert {worst.row, worst.column} == {i, j}
    assert worst.value == X[i, j]
    assert abs(worst.expected) < worst.value
    assert worst.deviations > 10
    detection = found.detection
    assert (detection.kind, detection.best.curve.kind) == ("mixed", "mixed")
    others = {other.curve.kind: other.score for other in detection.others if other.curve.kind != "mixed"}
    assert detection.told
    np.testing.assert_allclose(detection.margin, detection.best.score - max(others.values()))
    np.testing.assert_allclose(-detection.margin, max(detection.scores()[kind] for kind in others))
    low, high = detection.random_interval
    assert 0 < low <= detection.random_share <= high < 1
    about = found.as_dict()
    assert (about["gaps"], about["gaps_told"], about["rank"]) == ("mixed", True, 2)
    assert about["sentences"] == found.sentences()
    complete = unrelu.diagnose(TRUTH, rng=0)
    assert "Everything was seen" in complete.untold
    assert (complete.recommended, complete.command("f.csv")) == ("", "")
    masked = unrelu.diagnose(OBSERVED, 2, unknown=np.isnan(OBSERVED), rng=0)
    assert (masked.counted.unseen, masked.counted.unknown) == (0, np.isnan(OBSERVED).sum())


def test_words_on_points():
    found = unrelu.complete_distances(RANGES, "auto", cutoff=0.5, rng=0)
    assert (found.start, found.loss, found.framed, found.notes) == ("trilateration", "one-sided", False, ())
    assert found.residual < 1e-12
    assert found.seconds > 0
    assert "40 points in 2 dimensions" in found.explain()
    assert found.summary()["determined"] == found.determined.sum() == 40
    choice = found.dimension
    assert choice.why.startswith("2 dimensions meet all distances")
    assert choice.summary()["why"] == choice.why
    assert [fit["dim"] for fit in choice.summary()["tried"]] == [fit.dim for fit in choice.tried]


def test_words_on_tables():
    found = unrelu.complete_table(CENSORED, threshold=LIMITS, rng=0)
    cut = unrelu.complete_table(CENSORED, threshold=LIMITS, max_seconds=1e-6, rng=0)
    assert found.rehearsal.chosen == found.model
    assert found.model in [tried.name for tried in found.rehearsal.tried]
    assert found.model in found.rehearsal.verdict.reason
    assert (found.rehearsal.cut, cut.rehearsal.cut) == (None, "max-seconds")
    assert len(cut.rehearsal.tried) < len(found.rehearsal.tried)
    assert found.seconds > 0
