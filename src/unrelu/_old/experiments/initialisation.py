"""``table-initialisation``: where gradient descent ends from the paper's three starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.data.observations import Observations
from unrelu._old.data.sampling import relu
from unrelu._old.experiments.base import Cell, Experiment, Judgement, Result, Row, Setting, Sizes, Table, Task, numbers
from unrelu._old.experiments.initialisation_verdicts import (
    COLUMNS,
    JUDGED_UNITS,
    QUANTITIES,
    START_NAMES,
    UNITS,
    Groups,
    arrives,
    compared,
    elsewhere,
    end_of,
    grouped,
    neighbourhood,
    optimal,
    power,
    values,
)
from unrelu._old.experiments.judging import printed, spread_text
from unrelu._old.experiments.solve import (
    AT_REST,
    FITTED,
    RECOVERED,
    STEP,
    STEPS,
    STOP,
    descend,
    instance,
    off,
    over_steps,
    paper_start,
    step_setting,
)

__all__ = ["TableInitialisation", "common_settings"]


def common_settings(sizes: Sizes) -> tuple[Setting, ...]:
    """What Tables 1 and 2 and Figure 5 share."""
    how = "printed: orthonormal right singular vectors; the numbers of our init ask for columns scaled by √λ"
    both = "printed is (Z+Zᵀ)U, twice the gradient of F"
    noise = "the law is not stated; γ_T fits N(0, σ²), β_T one draw for (i, j) and one for (j, i)"
    return (
        step_setting("GD"),
        Setting("GD", "start", "scaled; orthonormal", "inferred", how),
        Setting("GD", "cap", f"{sizes['most']}", "printed" if sizes["most"] == 5000 else "ours", "5000 is printed"),
        Setting("GD", "stop", f"‖gradient‖_F ≤ {STOP:g}", "printed"),
        Setting("GD", "gradient", "(Z+Zᵀ)U; ½(Z+Zᵀ)U", "inferred", both),
        Setting("data", "n, r", f"{sizes['n']}, {sizes['r']}", *_known(sizes, {"n": 200, "r": 5})),
        Setting("data", "noise", "N(0, σ²), not symmetric", "inferred", noise),
    )


def _known(sizes: Sizes, theirs: Mapping[str, int]) -> tuple[str, str]:
    same = all(sizes[name] == value for name, value in theirs.items())
    return ("printed" if same else "ours"), f"printed: {', '.join(map(str, theirs.values()))}"


class TableInitialisation(Experiment):
    """Tables 1 and 2, with every reading of what the text leaves open.

    Readings of the start: columns scaled by the roots of the eigenvalues, or orthonormal as printed. Of the gradient
    on which to stop: as printed, (Z + Zᵀ)U, or the true one, half of it. Of β: F = ¼‖Z‖² as printed, ‖Z‖², or
    ½‖Z + Zᵀ‖², which is what the printed numbers fit. Of the step: every plausible one.

    Examples
    --------
    >>> from unrelu._old.experiments import table_initialisation
    >>> result = table_initialisation(trials=1, rng=0, n=40, r=2, sigmas=[0.0], most=400)
    >>> [(row[1], row[3]) for row in result.tables[0].rows if row[2] == "scaled"][:2]
    [('our init', '1 1 1 of 1'), ('RI init', '0 0 0 of 1')]
    """

    name = "table-initialisation"
    title = "Gradient descent from three starts"
    where = "Tables 1 and 2"
    full: ClassVar[Sizes] = {"trials": 40, "random": 20, "n": 200, "r": 5, "sigmas": [0.0, 1e-4, 1e-2], "most": 5000}
    quick: ClassVar[Sizes] = {"trials": 2, "random": 1, "most": 1000}

    def setting(self, sizes: Sizes) -> str:
        """The sizes, and where a run stops."""
        return (
            f"n = {sizes['n']}, r = {sizes['r']}, σ ∈ {{{', '.join(f'{s:g}' for s in sizes['sigmas'])}}}; stop at a "
            f"gradient norm of {STOP:g} or after {sizes['most']} iterations; {sizes['trials']} matrices for our init, "
            f"{_matrices(sizes, 'random-spectral')} for RI and RS, each at {len(STEPS)} steps"
        )

    def ledger(self, sizes: Sizes) -> tuple[Setting, ...]:
        """Most of what matters is stated; the step is not, and three formulas do not fit the numbers."""
        unit = "¼‖Z‖² is printed; the nine numbers fit ½‖Z+Zᵀ‖², see the table of units"
        several = (
            "20 are printed; our init on more, for “always” needs 20 in odd and in even trials; RI and RS take longer"
        )
        return (
            *common_settings(sizes),
            Setting("GD", "β's unit", "; ".join(JUDGED_UNITS), "inferred", unit),
            Setting("GD", "at rest", f"≤ {AT_REST:g} ‖M_Ω‖₂^(3/2)", "ours", "runs continued from there stay there"),
            Setting(
                "GD", "recovered", f"error < max({RECOVERED:g}, σ)", "ours", "about 1e-9 without noise, 0.1 σ with"
            ),
            Setting("GD", "fit", f"F < {FITTED:g}", "ours", "elsewhere F is in the hundreds"),
            Setting("data", "matrices", f"{sizes['trials']}; {_matrices(sizes, 'random-spectral')}", "ours", several),
        )

    def tasks(self, sizes: Sizes) -> list[Task]:
        """One per noise level, matrix, start, reading of the start and step."""
        fixed = {name: sizes[name] for name in ("n", "r", "most")}
        return [
            {**fixed, "sigma": sigma, "start": start, "scaled": scaled, "step": step, "seed": sizes["rng"] + trial}
            for sigma in sizes["sigmas"]
            for start in START_NAMES
            for trial in range(_matrices(sizes, start))
            for scaled in COLUMNS.values()
            for step in STEPS
        ]

    def cost(self, task: Task) -> float:
        """The other starts rarely converge early."""
        return 0.04 / task["step"] if task["start"] == "tailored" else task["most"] / 6000

    def trial(self, task: Task) -> Row:
        """One run, read off where either gradient says stop."""
        made = instance(task)
        X = relu(made.matrix)
        start, _ = paper_start(task["start"], X, task["r"], [task["seed"], 7], scaled=task["scaled"])
        # The true gradient is half of the printed one.
        found = descend(
            Observations.of(X), start, truth=made.matrix, step=task["step"], gradient=STOP / 2, most=task["most"]
        )
        last = len(found.gradient) - 1
        true = int(np.argmax(found.gradient <= STOP)) if (found.gradient <= STOP).any() else last
        return {
            "alpha": 2 * found.gradient[last],
            "alpha_true": found.gradient[true],
            "beta": found.objective[last],
            "beta_true": found.objective[true],
            "skew": _skew(X, found.factor),
            "gamma": found.error[last],
            "gamma_true": found.error[true],
            "gamma_clean": off(found.factor, made.factor),
            "rest": found.rest,
            "iterations": int(last),
            "iterations_true": true,
        }

    def judge(self, sizes: Sizes, rows: Sequence[Row]) -> list[Judgement]:
        """The printed numbers under every reading, and what the text says of the runs."""
        groups = grouped(rows)
        return [
            *(
                compared(key, sigma, start, quantity, groups)
                for sigma in sizes["sigmas"]
                for start in START_NAMES
                for quantity in QUANTITIES
                if (key := f"init/{sigma:g}/{start}/{quantity}") in printed()["numbers"]
            ),
            over_steps(lambda step: arrives("init/ours-global", groups, True, step)),
            over_steps(lambda step: arrives("init/ours-printed", groups, False, step)),
            optimal(rows),
            *(elsewhere("init/others-spurious", 0.0, start, groups) for start in START_NAMES if start != "tailored"),
            *(
                elsewhere("init/others-distant", sigma, start, groups)
                for sigma in _noisy(sizes)
                for start in START_NAMES
                if start != "tailored"
            ),
            *(neighbourhood(sigma, groups) for sigma in _noisy(sizes)),
            over_steps(lambda step: power(_noisy(sizes), groups, step)),
        ]

    def conclude(self, sizes: Sizes, rows: Sequence[Row], others: Mapping[str, Result]) -> Result:
        """A table for where runs end, one for each quantity, and one for the unit of β."""
        groups = grouped(rows)
        lines = [(sigma, start, name) for sigma in sizes["sigmas"] for start in START_NAMES for name in COLUMNS]
        steps = ", ".join(f"{step:g}" for step in STEPS)
        inferred = f"Step {STEP:g}"
        spread = "Mean ± deviation over the matrices."
        return Result(
            self.name,
            sizes,
            tuple(rows),
            tables=(
                Table.of(
                    self.name,
                    "Runs that reach the planted matrix, that come to rest elsewhere (gradient norm at most "
                    f"{AT_REST:g} ‖M_Ω‖₂^(3/2)) and that are cut off before, at the steps {steps}; median iterations.",
                    [_ends_line(*line, groups) for line in lines],
                ),
                Table.of(
                    f"{self.name}-alpha",
                    f"α_T of the gradient as printed, at each step. {spread}",
                    [_line(*line, _alphas(line, groups), "alpha") for line in lines],
                ),
                Table.of(
                    f"{self.name}-beta",
                    f"β_T in three units, end of a run by the gradient as printed. {inferred}. {spread}",
                    [_line(*line, _betas(line, groups), "beta") for line in lines],
                ),
                Table.of(
                    f"{self.name}-gamma",
                    "γ_T where a run ends by the gradient as printed and where it ends by the true gradient; γ*_T is "
                    f"measured against M* (printed gradient). {inferred}. {spread}",
                    [_line(*line, _gammas(line, groups), "gamma") for line in lines],
                ),
                Table.of(
                    f"{self.name}-units",
                    f"Printed β_T over the measured mean, lowest to highest noise level. {inferred}, scaled columns.",
                    _units(sizes, groups),
                ),
            ),
            judgements=self.judged(sizes, rows),
            notes=(
                _unit_note(sizes, groups),
                "The step was inferred from α_T of our init, which is therefore no evidence for it: every step ends a "
                f"run just below {STOP:g}.",
            ),
        )


def _matrices(sizes: Sizes, start: str) -> int:
    """RI and RS take all their iterations, and run on fewer matrices."""
    return int(sizes["trials"] if start == "tailored" else min(sizes["random"], sizes["trials"]))


def _noisy(sizes: Sizes) -> list[float]:
    return sorted(sigma for sigma in sizes["sigmas"] if sigma > 0)


def _skew(X: Array, factor: Array) -> float:
    """½‖Z − Zᵀ‖²_F. It is that of the noise, and changes along a run only where one of a pair is seen."""
    Z = np.where(np.isnan(X), 0.0, factor @ factor.T - np.nan_to_num(X))
    return float(np.sum((Z - Z.T) ** 2)) / 2


def _ends_line(sigma: float, start: str, columns: str, groups: Groups) -> dict[str, Cell]:
    runs = [groups.get((sigma, start, COLUMNS[columns], step), ()) for step in STEPS]
    ends = [Counter(map(end_of, group)) for group in runs]
    told = {name: " ".join(str(found[name]) for found in ends) for name in ("planted", "elsewhere", "cut off")}
    iterations = [numbers(group, "iterations") for group in runs]
    return {
        "σ": sigma,
        "start": START_NAMES[start],
        "columns": columns,
        "planted": f"{told['planted']} of {max(map(len, runs))}",
        "elsewhere": told["elsewhere"],
        "cut off": told["cut off"],
        "iterations": " ".join(f"{np.median(found):.0f}" if found else "–" for found in iterations),
    }


Line = tuple[float, str, str]


def _alphas(line: Line, groups: Groups) -> dict[str, Cell]:
    sigma, start, columns = line
    found = {step: values(groups.get((sigma, start, COLUMNS[columns], step), ()), "alpha") for step in STEPS}
    return {f"step {step:g}": spread_text(measured) for step, measured in found.items()}


def _inferred(line: Line, groups: Groups) -> Sequence[Row]:
    sigma, start, columns = line
    return groups.get((sigma, start, COLUMNS[columns], STEP), ())


def _betas(line: Line, groups: Groups) -> dict[str, Cell]:
    return {unit: spread_text(values(_inferred(line, groups), "beta", unit=unit)) for unit in JUDGED_UNITS}


def _gammas(line: Line, groups: Groups) -> dict[str, Cell]:
    names = {"γ_T": "gamma", "γ_T true": "gamma_true", "γ*_T": "gamma_clean"}
    return {label: spread_text(values(_inferred(line, groups), name)) for label, name in names.items()}


def _line(sigma: float, start: str, columns: str, found: Mapping[str, Cell], quantity: str) -> dict[str, Cell]:
    entry = printed()["numbers"].get(f"init/{sigma:g}/{start}/{quantity}")
    shown = "–" if entry is None else f"{entry['value']:.3g} ± {entry['spread']:.2g}"
    return {"σ": sigma, "start": START_NAMES[start], "columns": columns, "printed": shown, **found}


def _needed(sizes: Sizes, groups: Groups, unit: str, start: str, columns: str, step: float) -> list[float]:
    """Printed β over the measured mean, for each noise level; 1 throughout if the unit is the paper's."""
    found = []
    for sigma in sizes["sigmas"]:
        entry = printed()["numbers"].get(f"init/{sigma:g}/{start}/beta")
        betas = values(groups.get((sigma, start, COLUMNS[columns], step), ()), "beta", unit=unit)
        mean = float(np.mean(betas)) if betas else 0.0
        if entry is not None and 0 < mean < np.inf:
            found.append(float(entry["value"]) / mean)
    return found


def _units(sizes: Sizes, groups: Groups) -> list[dict[str, Cell]]:
    lines: list[dict[str, Cell]] = []
    for unit in UNITS:
        line: dict[str, Cell] = {"unit": unit}
        for start, name in START_NAMES.items():
            found = _needed(sizes, groups, unit, start, "scaled", STEP)
            line[name] = ", ".join(f"{ratio:.2f}" for ratio in found) or "–"
        lines.append(line)
    return lines


def _unit_note(sizes: Sizes, groups: Groups) -> str:
    """In which unit β is printed, as far as this run tells: the start as printed does not arrive, and is left out."""
    told = []
    for unit in JUDGED_UNITS:
        ours = [r for step in STEPS for r in _needed(sizes, groups, unit, "tailored", "scaled", step)]
        others = [
            ratio
            for start in START_NAMES
            if start != "tailored"
            for columns in COLUMNS
            for step in STEPS
            for ratio in _needed(sizes, groups, unit, start, columns, step)
        ]
        words = [
            f"{min(found):.2g} to {max(found):.2g} for {name}"
            for name, found in (("our init", ours), ("RI and RS", others))
            if found
        ]
        told += [f"{unit}: {', '.join(words)}"] if words else []
    return (
        "β_T is printed as F = ¼‖Z‖². Another unit comes nearer: ½‖Z + Zᵀ‖², of the matrix that stands in the printed "
        "gradient (Z + Zᵀ)U. It is 2‖Z‖² where Z is symmetric, and about ‖Z‖² where Z is noise that differs between "
        "(i, j) and (j, i), for half of that cancels. Noise drawn once per pair would not cancel, and β_T of our init "
        "would be twice as large. Printed over measured, all steps and noise levels, RI and RS in both readings of the "
        "start: "
        f"{'; '.join(told) or 'nothing'}."
    )
