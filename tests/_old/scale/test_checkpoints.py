"""A run that was killed goes on to the same answer; what is not its own is refused."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import unrelu
from unrelu import InputError
from unrelu._old.scale.checkpoints import Checkpoint


def dense(n=900, rank=3, sigma=0.2, seed=0):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, rank))
    noise = sigma * rng.standard_normal((n, n))
    X = U @ U.T + np.triu(noise) + np.triu(noise, 1).T
    return np.where(X >= 0, X, np.nan)


class Falling(unrelu.Source):
    """A matrix that can be read so many times, and then no more."""

    stored_whole = True

    def __init__(self, X, reads):
        self.X, self.reads, self.shape, self.dtype = X, reads, X.shape, X.dtype

    def block(self, rows, cols):
        self.reads -= 1
        if self.reads < 0:
            raise KeyboardInterrupt
        both = not isinstance(rows, slice) and not isinstance(cols, slice)
        return self.X[np.ix_(rows, cols)] if both else self.X[rows, cols]


@pytest.mark.parametrize("table", [False, True])
def test_interrupted_anywhere_it_ends_alike(tmp_path, monkeypatch, table):
    monkeypatch.setattr("unrelu._old.scale.checkpoints.SHARE", 1e9)  # save after every block
    X = dense()[:, : 700 if table else 900]
    door = unrelu.complete_rectangular if table else unrelu.complete
    options = dict(method="landmarks", rng=1, peak_memory="40MB")
    whole = door(Falling(X, 10**9), 3, **options)
    path, runs = tmp_path / "run.npz", 0
    for reads in (1, 2, 3, 5, 8, 13, 21, 21, 21, 10**9):
        runs += 1
        try:
            found = door(Falling(X, reads), 3, checkpoint=path, **options)
            break
        except KeyboardInterrupt:
            continue
    assert runs >= 4
    np.testing.assert_allclose(found.factor, whole.factor, rtol=0, atol=1e-12)
    assert found.verdict.code == whole.verdict.code


SCRIPT = """
    import sys, numpy as np, unrelu
    X = np.load(sys.argv[1], mmap_mode="r")
    found = unrelu.complete(X, 3, method="landmarks", rng=1, checkpoint=sys.argv[2], peak_memory="60MB")
    found.save(sys.argv[3])
"""


@pytest.mark.slow
def test_a_kill_at_ten_random_moments_changes_nothing(tmp_path):
    np.save(tmp_path / "X.npy", dense(3000))
    (tmp_path / "run.py").write_text(textwrap.dedent(SCRIPT))
    whole = unrelu.complete(np.load(tmp_path / "X.npy"), 3, method="landmarks", rng=1, peak_memory="60MB")
    command = [sys.executable, "run.py", "X.npy", "run.npz", "found.npz"]
    rng, killed, longest = random.Random(0), 0, 6.0
    for _ in range(10):
        running = subprocess.Popen(command, cwd=tmp_path)
        time.sleep(rng.uniform(0.5, longest))
        if running.poll() is None:
            os.kill(running.pid, signal.SIGKILL)
            killed += 1
        running.wait()
    subprocess.run(command, cwd=tmp_path, check=True)
    assert killed >= 3
    found = unrelu.Completion.load(tmp_path / "found.npz")
    np.testing.assert_allclose(found.factor, whole.factor, rtol=0, atol=1e-12)


def begun(path, X, **more):
    return unrelu.complete(X, 3, method="landmarks", checkpoint=path, **{"rng": 1, **more})


def test_a_finished_run_is_there_at_once(tmp_path):
    X, path = dense(600), tmp_path / "run.npz"
    first = begun(path, X)
    again = begun(path, X)
    np.testing.assert_array_equal(first.factor, again.factor)


def test_a_checkpoint_of_other_data_or_options_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    begun(path, dense(600))
    with pytest.raises(InputError, match="belongs to other data"):
        begun(path, dense(600, seed=1))
    with pytest.raises(InputError, match=r"belongs to another run: its shape is \[600, 600\], and that of this one"):
        begun(path, dense(601))
    with pytest.raises(InputError, match="belongs to another run: its seen is 'above'"):
        begun(path, -dense(600), seen="below")


def test_a_checkpoint_of_another_version_is_refused(tmp_path, monkeypatch):
    path, X = tmp_path / "run.npz", dense(600)
    begun(path, X)
    monkeypatch.setattr(unrelu, "__version__", "99.0")
    with pytest.raises(InputError, match=r"its version is .*, and that of this one '99.0'"):
        begun(path, X)


@pytest.mark.parametrize("left", [0, 10, 0.5, -1])
def test_a_torn_checkpoint_is_a_sentence_and_stays_as_it_is(tmp_path, left):
    path, X = tmp_path / "run.npz", dense(600)
    begun(path, X)
    content = path.read_bytes()
    size = int(left * len(content)) if isinstance(left, float) else left % len(content)
    path.write_bytes(content[:size])
    with pytest.raises(InputError, match=r"is torn or is none .*; delete it to begin anew"):
        begun(path, X)
    assert path.read_bytes() == content[:size]


def test_saving_costs_a_small_share_of_the_time(tmp_path):
    kept = Checkpoint(tmp_path / "run.npz", {})
    kept.save({}, {"a": np.zeros(10)})
    kept._took = 1.0
    assert not kept.due()
    kept._last -= 30
    assert kept.due()
