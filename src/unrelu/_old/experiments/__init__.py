"""Every table and figure of the paper as a function of ``trials`` and ``rng``.

``unrelu reproduce all`` runs them in parallel processes and writes one page; here each can be called by itself::

    from unrelu._old.experiments import table_initialisation
    result = table_initialisation(trials=2, rng=0, n=60, r=3)
    result.tables, result.judgements, result.pictures[0].draw()
"""

from unrelu._old.experiments.base import Experiment, Judgement, Picture, Result, Table
from unrelu._old.experiments.registry import EXPERIMENTS

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Judgement",
    "Picture",
    "Result",
    "Table",
    "figure_basin",
    "figure_distances",
    "figure_initialisation",
    "figure_landscape",
    "figure_methods",
    "figure_observed",
    "figure_orthants",
    "figure_rank",
    "figure_sectors",
    "figure_threshold",
    "table_assumptions",
    "table_claims",
    "table_errata",
    "table_initialisation",
    "table_noise",
    "table_open_problems",
    "table_ordering",
    "table_scaling",
    "table_theorems",
]

figure_landscape = EXPERIMENTS["figure-landscape"]
figure_orthants = EXPERIMENTS["figure-orthants"]
figure_observed = EXPERIMENTS["figure-observed"]
figure_sectors = EXPERIMENTS["figure-sectors"]
table_assumptions = EXPERIMENTS["table-assumptions"]
table_initialisation = EXPERIMENTS["table-initialisation"]
figure_initialisation = EXPERIMENTS["figure-initialisation"]
figure_methods = EXPERIMENTS["figure-methods"]
figure_rank = EXPERIMENTS["figure-rank"]
figure_distances = EXPERIMENTS["figure-distances"]
figure_basin = EXPERIMENTS["figure-basin"]
table_noise = EXPERIMENTS["table-noise"]
table_scaling = EXPERIMENTS["table-scaling"]
table_claims = EXPERIMENTS["table-claims"]
figure_threshold = EXPERIMENTS["figure-threshold"]
table_theorems = EXPERIMENTS["table-theorems"]
table_errata = EXPERIMENTS["table-errata"]
table_ordering = EXPERIMENTS["table-ordering"]
table_open_problems = EXPERIMENTS["table-open-problems"]
