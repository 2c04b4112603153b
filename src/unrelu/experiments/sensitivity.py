"""``figure-sensitivity``: what it costs to say something wrong of the unseen entries, for each start and each loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from unrelu.base.arrays import Array
from unrelu.base.errors import InputError
from unrelu.complete import complete
from unrelu.data.observations import Observations
from unrelu.data.planted import Planted
from unrelu.data.sampling import thresholded
from unrelu.data.terms import Terms
from unrelu.experiments.base import Experiment, Picture, Result, Row, Setting, Sizes, Task
from unrelu.experiments.sensitivity_figure import draw
from unrelu.experiments.sensitivity_groups import Groups, tables
from unrelu.experiments.sensitivity_words import AS_LIMITS, sentences
from unrelu.experiments.solve import instance, off

__all__ = ["LOSSES", "STARTS", "FigureSensitivity", "told"]

# What `complete` is asked for, by the name that stands in tables and figures. A line here is a row of panels there.
LOSSES: dict[str, dict[str, Any]] = {
    "observed": {"loss": "observed"},
    "one-sided": {"loss": "one-sided"},
    "censored": {"loss": "censored"},
}
STARTS = ("tailored", "random-imputation", "random-spectral", "rank-increasing", "clique", "auto")
# Where absence says nothing there is nothing by which the losses differ: all of them are squares of what was seen.
WITHOUT_A_LIMIT = "observed"
# The share of the entries that is never seen, for whatever reason.
UNSEEN = 0.5


class FigureSensitivity(Experiment):
    """Error of the completion against a misstated threshold, a misstated side and random gaps taken for censored ones.

    The tailored start and all losses but ``observed`` use what is said of the unseen entries. The paper leaves open how
    much hangs on its being right (Section 5, second paragraph). Half of the entries are unseen here. What is said of
    them is told by ``told``:

    ``threshold``
        that they lie below a threshold that is off by ``at`` rms entries (0: the truth);
    ``side``
        that they lie above the true threshold;
    ``censored``
        that all of them lie below the threshold, while the share ``at`` of them is missing by chance;
    ``unknown``
        nothing, of the same entries;
    ``marked``
        the truth of the same entries: those that are missing by chance are marked.

    Entries that were seen on the side where none can be seen are refused. Such a statement is then made with limits of
    the unseen entries alone, so that nothing that was seen has to go.

    Examples
    --------
    >>> from unrelu.experiments import figure_sensitivity
    >>> few = dict(n=40, r=2, sigmas=[0.0], offsets=[-0.3, 0.3], shares=[], starts=["clique"])
    >>> result = figure_sensitivity(trials=1, rng=0, **few)
    >>> errors = {(row["loss"], row["at"]): row["error"] for row in result.rows if row["told"] == "threshold"}
    >>> errors["one-sided", 0.0] < 1e-9, errors["one-sided", -0.3] > 1e-3, errors["observed", -0.3] < 1e-9
    (True, True, True)
    """

    name = "figure-sensitivity"
    title = "When what is said of the unseen entries is wrong"
    where = "asked for in Section 5 (no figure in the paper)"
    full: ClassVar[Sizes] = {
        "trials": 5,
        "n": 200,
        "r": 5,
        "sigmas": [0.0, 0.1],
        "offsets": [-1.0, -0.3, -0.1, -0.03, 0.0, 0.3, 1.0],
        "shares": [0.1, 0.25, 0.5, 0.75, 1.0],
        "starts": list(STARTS),
        "losses": list(LOSSES),
        "most": 40,
    }
    quick: ClassVar[Sizes] = {"trials": 1, "sigmas": [0.1], "offsets": [-1.0, -0.1, 0.0, 1.0], "shares": [0.1, 0.5]}
    extra = True

    def setting(self, sizes: Sizes) -> str:
        """The sizes, and what is misstated."""
        levels = " and ".join(f"{sigma:g}" for sigma in sizes["sigmas"])
        return (
            f"n = {sizes['n']}, r = {sizes['r']}, {UNSEEN:.0%} of the entries unseen, σ = {levels}; threshold, side or "
            f"kind of gaps misstated; matrices of each: {sizes['trials']}"
        )

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """How every fit runs."""
        return (
            Setting("every loss", "method", "Gauss–Newton", "ours", "so that no step decides"),
            Setting(
                "every loss", "cap", f"{sizes['most']} an attempt", "ours", "a fit that needs more has gone astray"
            ),
            Setting("every loss", "start", ", ".join(sizes["starts"]), "ours", "the paper's three, and this library's"),
            Setting("every loss", "unseen", f"{UNSEEN:.0%}", "ours", "as under ReLU sampling"),
        )

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per noise level, statement, loss, start and matrix; the truth is always among the statements."""
        fixed = {name: sizes[name] for name in ("n", "r", "most")}
        return [
            {**fixed, "sigma": sigma, "told": what, "at": at, "loss": loss, "start": start, "seed": sizes["rng"] + k}
            for sigma in sizes["sigmas"]
            for what, at in _statements(sizes)
            for loss in ([WITHOUT_A_LIMIT] if what == "unknown" else sizes["losses"])
            for start in _starts(what, sizes)
            for k in range(sizes["trials"])
        ]

    def cost(self, task: Task) -> float:
        """Limits of each entry are slower, a likelihood is, and so is trying one start after the other."""
        forced = task["told"] == "side" or (task["told"] == "threshold" and task["at"] > 0)
        return (0.4 if forced else 0.1) * (3.0 if task["start"] in ("auto", "rank-increasing") else 1.0)

    def trial(self, task: Task) -> Row:
        """One fit to what is said, its error, and whether it was called an answer."""
        made = instance(task)
        X, said, kept = told(task, made)
        refused = _refused(X, said)
        how = {**LOSSES[task["loss"]], "start": task["start"], "max_iter": task["most"], "rng": task["seed"]}
        try:
            found = complete(X, task["r"], **(kept if refused else said), **how)
        except InputError:
            if task["start"] != "clique":  # a matrix without a fully seen block has no such start
                raise
            return {"error": None, "refused": refused, "answered": False, "code": "no start"}
        return {
            "error": off(found.factor, made.factor),
            "refused": refused,
            "answered": found.verdict.answered,
            "code": found.verdict.code.value,
        }

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """The figure of each noise level, the medians and quartiles, and what they say."""
        groups = Groups.of(sizes, rows)
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=tables(self.name, groups),
            pictures=tuple(
                Picture(
                    f"{self.name}-sigma-{sigma:g}",
                    f"σ = {sigma:g}. Error against M*, median and quartiles over trials ({sizes['trials']}), for every "
                    "loss and start. First the threshold is stated too low or too high, then some of the gaps are "
                    "random, and all of them are told as censored; last the same gaps told as unknown, and the side "
                    f"misstated. Where the background is grey the call as stated is refused; {AS_LIMITS}.",
                    lambda narrow, sigma=sigma: draw(groups, sigma, narrow),  # type: ignore[misc]
                )
                for sigma in sizes["sigmas"]
            ),
            says=sentences(groups),
            notes=(
                "Offsets of the threshold are in units of the rms entry of M*. Of the unseen entries, which are always "
                "half of all, a share is missing by chance and the rest lies below the threshold, which is lower the "
                "larger the share is.",
                f"A fit ends after {sizes['most']} iterations of each attempt. Where the side is misstated start auto "
                "is left out: it tries the other starts in turn.",
            ),
        )


def _statements(sizes: Sizes) -> list[tuple[str, float]]:
    """What is said, and by how much it is wrong; of gaps that are all censored the truth stands under threshold."""
    offsets = sorted({0.0, *sizes["offsets"]})
    shares = sorted(sizes["shares"])
    return [
        *(("threshold", at) for at in offsets),
        ("side", 0.0),
        *(("censored", at) for at in shares),
        *(("unknown", at) for at in [0.0, *shares]),
        *(("marked", at) for at in shares),
    ]


def _starts(what: str, sizes: Sizes) -> list[str]:
    """The starts of a statement: the truth is a yardstick, for which one start is enough."""
    starts = list(sizes["starts"])
    if what == "marked":
        return starts[-1:]
    return [start for start in starts if what != "side" or start != "auto"]


def told(task: Task, made: Planted) -> tuple[Array, dict[str, Any], dict[str, Any]]:
    """What was seen, what is said of the rest, and the same said of unseen entries alone.

    Examples
    --------
    >>> task = {"told": "side", "at": 0.0, "seed": 0}
    >>> M = np.array([[3.0, 1.0], [1.0, 2.0]])
    >>> X, said, kept = told(task, Planted(np.ones((2, 1)), M, M))
    >>> X.tolist(), said["seen"], kept["threshold"].tolist()
    ([[3.0, nan], [nan, 2.0]], 'below', [[inf, 1.5], [1.5, inf]])
    """
    M, at = made.matrix, task["at"]
    if task["told"] in ("threshold", "side"):
        true = float(np.quantile(M, UNSEEN))
        X = thresholded(M, true)
        below = task["told"] == "side"
        stated = true if below else true + at * float(np.sqrt(np.mean(made.truth**2)))
        said = {"threshold": stated, "seen": "below" if below else "above"}
        none = np.inf if below else -np.inf
        return X, said, {**said, "threshold": np.where(np.isnan(X), stated, none)}
    # A share of the unseen is missing by chance: so many lie below the threshold, and so many of the others are gone.
    under = UNSEEN * (1 - at)
    true = float(np.quantile(M, under))
    draw = np.random.default_rng([task["seed"], 29]).random(M.shape)
    gaps = (np.triu(draw) + np.triu(draw, 1).T < UNSEEN * at / (1 - under)) & (true <= M)
    X = np.where(gaps, np.nan, thresholded(M, true))
    says: dict[str, dict[str, Any]] = {
        "censored": {"threshold": true},
        "unknown": {"threshold": None},
        "marked": {"threshold": true, "unknown": gaps},
    }
    return X, says[task["told"]], says[task["told"]]


def _refused(X: Array, said: Mapping[str, Any]) -> bool:
    """Whether what was seen contradicts what is said."""
    try:
        Observations.of(X, Terms(**said))
    except InputError:
        return True
    return False
