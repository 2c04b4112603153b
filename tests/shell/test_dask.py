"""``unrelu complete --dask``: a matrix in a zarr store, completed by workers."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from unrelu.io.zarr_out import write_zarr

pytest.importorskip("zarr", minversion="3")
distributed = pytest.importorskip("distributed")

PLAIN = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}


@pytest.fixture
def folder(tmp_path):
    U = np.random.default_rng(0).standard_normal((400, 3))
    M = U @ U.T
    write_zarr(tmp_path / "x.zarr", np.where(M >= 0, M, np.nan))
    np.save(tmp_path / "x.npy", M)
    return tmp_path


def unrelu(folder, *arguments):
    command = [sys.executable, "-m", "unrelu", "complete", *arguments, "--factor-out", "f.npz"]
    return subprocess.run(command, cwd=folder, env=PLAIN, capture_output=True, text=True, timeout=100)


def test_a_cluster_of_this_machine(folder):
    done = unrelu(folder, "x.zarr", "-r", "3", "--dask", "local", "--method", "landmarks")
    assert done.returncode == 0, done.stderr
    assert "fitted" in done.stdout
    assert "by dask on" in done.stdout
    assert (folder / "f.npz").exists()
    assert "Traceback" not in done.stderr
    assert "distributed" not in done.stderr


def test_a_scheduler_that_runs_already(folder):
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as cluster:
        done = unrelu(folder, "x.zarr", "-r", "3", "--method", "landmarks", "--dask", cluster.scheduler_address)
    assert done.returncode == 0, done.stderr
    assert "by dask on 1 worker in float64" in done.stdout


def test_a_scheduler_that_does_not_answer(folder):
    began = time.monotonic()
    done = unrelu(folder, "x.zarr", "-r", "3", "--dask", "tcp://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: --dask: no scheduler of dask answers at tcp://127.0.0.1:1 (")
    assert len(done.stderr.splitlines()) == 1
    assert time.monotonic() - began < 30


def test_a_scheduler_without_workers(folder):
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as cluster:
        done = unrelu(folder, "x.zarr", "-r", "3", "--dask", cluster.scheduler_address)
        assert done.returncode == 2
        assert f"error: --dask: the scheduler at {cluster.scheduler_address} has no workers; start some" in done.stderr


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--dask", ""], "--dask takes the address of a scheduler"),
        (["--dask", "local", "-o", "y.zarr", "--mask-out", "m.csv"], "--mask-out has a number for every entry"),
    ],
)
def test_what_cannot_be_is_said_before_a_cluster_starts(folder, more, words):
    done = unrelu(folder, "x.zarr", "-r", "3", *more)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr


def test_only_zarr_is_for_workers(folder):
    done = unrelu(folder, "x.npy", "-r", "3", "--dask", "local")
    assert done.returncode == 2
    assert "error: --dask is for .zarr, which every worker can read, got x.npy; drop it" in done.stderr


def alive(group):
    """Processes of a group, without those that have ended and wait for somebody to notice."""
    lines = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    found = [line.split(maxsplit=2) for line in lines.splitlines()]
    return [line for line in found if line[0] == str(group) and not line[1].startswith("Z")]


def test_ctrl_c_ends_the_command_and_its_workers(folder):
    command = [sys.executable, "-m", "unrelu", "complete", "x.zarr", "-r", "3", "--dask", "local", "-o", "y.zarr"]
    command += ["--method", "landmarks"]
    running = subprocess.Popen(
        command,
        cwd=folder,
        env=PLAIN,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    began = time.monotonic()
    while len(alive(running.pid)) < 3 and time.monotonic() - began < 20:  # until it has started its workers
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the workers, too
    _, words = running.communicate(timeout=30)
    assert (running.returncode, words) == (130, "interrupted; nothing was written\n")
    while alive(running.pid) and time.monotonic() - began < 40:
        time.sleep(0.1)
    assert alive(running.pid) == []
    assert not (folder / "y.zarr").exists()
