"""The file for Kubernetes is what its operator accepts, as far as one machine can say."""

from pathlib import Path

import pytest

FILES = Path(__file__).parents[1] / "examples" / "cluster"


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
