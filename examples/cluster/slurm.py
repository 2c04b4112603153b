"""Complete a zarr store with workers that SLURM starts: ``python slurm.py similarities.zarr 20``.

Needs ``pip install 'unrelu[dask,zarr]' dask-jobqueue`` on every node, and a folder that all nodes see.
``--show`` prints the job of 16 workers, and submits nothing.
"""

import sys


def cluster():
    """Workers with one core each: a chunk is one task, and NumPy's own threads would quarrel with them."""
    from dask_jobqueue import SLURMCluster

    return SLURMCluster(
        cores=16,
        processes=16,
        memory="64GB",
        walltime="02:00:00",
        job_name="unrelu",
        job_script_prologue=["export OPENBLAS_NUM_THREADS=1", "export OMP_NUM_THREADS=1"],
        scheduler_options={"dashboard_address": ":0"},
    )


def main(store, rank, jobs=4):
    from distributed import Client

    import unrelu

    with cluster() as machines, Client(machines) as client:
        machines.scale(jobs=jobs)
        client.wait_for_workers(1)
        found = unrelu.complete(unrelu.DaskSource(store), rank=rank, checkpoint="unrelu.checkpoint", progress=True)
        print(found.verdict.reason)
        found.save("factors.npz")


if __name__ == "__main__":
    if "--show" in sys.argv:
        with cluster() as machines:
            print(machines.job_script())
    else:
        main(sys.argv[1], int(sys.argv[2]))
