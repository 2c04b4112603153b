"""The files for SLURM and Kubernetes are what those who read them accept, as far as one machine can say."""

import subprocess
import sys
from pathlib import Path

import pytest

FILES = Path(__file__).parents[1] / "examples" / "cluster"


def test_the_job_for_slurm_is_a_script_with_workers_of_one_core():
    pytest.importorskip("dask_jobqueue")
    job = subprocess.run(
        [sys.executable, FILES / "slurm.py", "--show"], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert "#SBATCH -J unrelu" in job
    assert "--nthreads 1" in job
    assert "--nworkers 16" in job
    assert subprocess.run(["bash", "-n"], input=job, text=True, timeout=60, check=False).returncode == 0


def test_the_cluster_for_kubernetes_has_what_its_operator_asks_for():
    yaml = pytest.importorskip("yaml")
    spec = yaml.safe_load((FILES / "kubernetes.yaml").read_text())
    assert (spec["apiVersion"], spec["kind"]) == ("kubernetes.dask.org/v1", "DaskCluster")
    service = spec["spec"]["scheduler"]["service"]
    (scheduler,) = spec["spec"]["scheduler"]["spec"]["containers"]
    assert {port["targetPort"] for port in service["ports"]} == {port["name"] for port in scheduler["ports"]}
    assert service["selector"]["dask.org/cluster-name"] == spec["metadata"]["name"]
    worker = spec["spec"]["worker"]["spec"]
    (container,) = worker["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in worker["volumes"]}
