"""Every method that ``figure-methods`` runs, with each value of what the paper leaves open."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unrelu._old.base.arrays import Array
from unrelu._old.experiments.solve import STEP, STEPS, step_name
from unrelu._old.loop.stopping import AnyOf, DetailBelow, GradientNormBelow, StoppingRule
from unrelu._old.problems.psd import PSDProblem
from unrelu._old.solvers import ADMM, GNMR, PAM, MomentumPAM, ScaledGD, Solver

__all__ = [
    "ADMM_CAP",
    "ERRORS",
    "LOOSE",
    "MAIN",
    "RESTS",
    "VARIANTS",
    "RandomADMM",
    "Variant",
    "bound",
    "printed_rule",
    "short",
    "variants_of",
]

# Whose matrix is compared with which: the paper does not say.
ERRORS = {
    "own_m": "own against M",
    "own_clean": "own against M*",
    "psd_m": "PSD against M",
    "psd_clean": "PSD against M*",
}
# At n = 200, r = 5 every ρ below ends before this, but for the smallest ones with noise: at ρ = 0.01 the error is then
# 5 % above that after 2000 iterations. The shorter one is for a look at what the cap does.
ADMM_CAP, SHORT_CAP = 700, 200
# A stop that GNMR attains, and inner solves that are as loose.
LOOSE = 1e-6


class RandomADMM(ADMM):
    """ADMM from the start that the paper prints: Y and Λ with standard normal entries.

    ``left`` is Y + Λ/ρ and ``right`` is Λ/ρ, both n×n.
    """

    def start(self, problem: PSDProblem, left: Array, right: Array) -> Any:
        """X is the data's nearest to Y + Λ/ρ, and V = X − Λ/ρ."""
        state = super().start(problem, left, np.eye(len(left), dtype=left.dtype))
        return replace(state, V=state.V - right)


@dataclass(frozen=True)
class Variant:
    """A method with one value of what is open.

    ``setting`` tells it from the others of its method. ``rule`` and ``cap`` stand in for the solver's own; ``step`` and
    ``scaled`` are for gradient descent. ``paper``: it runs at the paper's size as well as at that of the readings.
    ``clean``: there only without noise, for it takes long with noise. ``noisy``: it differs from the others only with
    noise. ``seconds`` are those at the paper's size, roughly.
    """

    method: str
    setting: str = ""
    seconds: float = 1.0
    solver: Solver[Any] | None = None
    rule: StoppingRule | None = None
    cap: int | None = None
    step: float | None = None
    scaled: bool = True
    draw: int = 0
    paper: bool = True
    clean: bool = False
    noisy: bool = False

    @property
    def label(self) -> str:
        """Method and setting."""
        return f"{self.method}, {self.setting}" if self.setting else self.method

    def runs(self, sigma: float, *, paper: bool) -> bool:
        """Whether it runs at a noise level, at the paper's size or at that of the readings."""
        here = not paper or (self.paper and (sigma == 0 or not self.clean))
        return here and (sigma > 0 or not self.noisy)


def short(value: float) -> str:
    """A number as tables name it.

    Examples
    --------
    >>> short(1e-6), short(0.003)
    ('1e-6', '0.003')
    """
    return f"{value:g}".replace("e-0", "e-")


def _gd(step: float, setting: str, **more: Any) -> Variant:
    return Variant("GD", setting, 0.45 / step, step=step, **more)


def _pam(weight: float, seconds: float, **more: Any) -> Variant:
    return Variant("PAM", f"α = β = {short(weight)}", seconds, replace(_PAM, alpha=weight, beta=weight), **more)


def _scaled(eta: float, seconds: float) -> Variant:
    return Variant("ScaledGD", f"η = {short(eta)}", seconds, replace(_SCALED, step_size=eta))


def _admm(
    rho: float | None,
    seconds: float,
    words: str = "",
    *,
    kind: type[ADMM] = ADMM,
    projection: str = "ball",
    cap: int = ADMM_CAP,
    **more: Any,
) -> Variant:
    setting = "ρ balanced" if rho is None else f"ρ = {short(rho)}"
    solver = kind(rho=rho, adaptive=rho is None, projection=projection, stopping="paper")
    return Variant("ADMM", setting + words, seconds, solver, cap=cap, **more)


def _gnmr(setting: str, seconds: float, *, tol: float | None = None, paper: bool = True, **more: Any) -> Variant:
    solver = GNMR(stopping="paper", **{"forcing": 0.0, **more})
    rule = None if tol is None else solver.relative_rule(tol)
    return Variant("GNMR", setting, seconds, solver, rule=rule, paper=paper)


def bound(rule: StoppingRule) -> float:
    """The number that the rule which the paper prints asks for."""
    one = printed_rule(rule)
    assert isinstance(one, (DetailBelow, GradientNormBelow))
    return one.bound


def printed_rule(rule: StoppingRule) -> StoppingRule:
    """The rule that the paper prints, without the one that its authors' code has beside it."""
    return rule.rules[0] if isinstance(rule, AnyOf) else rule


_MPAM, _PAM, _SCALED = MomentumPAM(momentum=0.7, stopping="paper"), PAM(stopping="paper"), ScaledGD(stopping="paper")

_FORCING = GNMR().forcing

# By the name that tasks carry.
VARIANTS: dict[str, Variant] = {
    "default": Variant("unrelu default"),
    **{f"gd {step:g}": _gd(step, step_name(step)) for step in STEPS},
    "gd printed": _gd(STEP, "start as printed", scaled=False),
    "mpam": Variant("MPAM", "two rules", 0.4, _MPAM),
    "mpam one": Variant("MPAM", "one rule", 3.0, _MPAM, rule=printed_rule(_MPAM.paper_rule())),
    "pam 0": _pam(0.0, 1.5),
    "pam 1": _pam(1.0, 3.3),
    "scaled-gd 0.5": _scaled(0.5, 0.5),
    "scaled-gd 0.3": _scaled(0.3, 0.8),
    "scaled-gd 0.7": _scaled(0.7, 0.4),
    "admm balanced": _admm(None, 7.0),
    "admm 0.003": _admm(0.003, 11.0, clean=True),
    "gnmr": _gnmr("as its authors", 14.0),
    "gnmr stop": _gnmr(f"stop {short(LOOSE)}", 4.5, tol=LOOSE),
    "gnmr loose": _gnmr(f"inner and stop {short(LOOSE)}", 2.0, tol=LOOSE, inner_tol=LOOSE),
    # At the size of the readings only.
    "pam 0.1": _pam(0.1, 2.0, paper=False),
    "mpam adaptive": Variant("MPAM", "A-NMD", 0.5, replace(_MPAM, variant="adaptive", momentum=0.9), paper=False),
    "admm 0.01": _admm(0.01, 18.0, paper=False),
    "admm 0.1": _admm(0.1, 60.0, paper=False),
    "admm 1": _admm(1.0, 120.0, paper=False),
    "admm short": _admm(0.01, 9.0, f" with cap {SHORT_CAP}", cap=SHORT_CAP, paper=False, noisy=True),
    "admm random": _admm(0.1, 60.0, " from a random start", kind=RandomADMM, paper=False),
    "admm square": _admm(None, 110.0, " with X as printed", projection="printed", paper=False, noisy=True),
    "admm square 1": _admm(1.0, 70.0, " with X as printed", projection="printed", paper=False, noisy=True),
    "gnmr 1e-10": _gnmr("inner 1e-10", 11.0, inner_tol=1e-10, paper=False),
    "gnmr forced": _gnmr(f"forcing {short(_FORCING)}", 10.0, forcing=_FORCING, paper=False),
    "gnmr forced stop": _gnmr(
        f"forcing {short(_FORCING)} with stop {short(LOOSE)}", 1.3, tol=LOOSE, forcing=_FORCING, paper=False
    ),
    "gd draw": _gd(STEP, "another draw", draw=1, paper=False),
    "mpam draw": Variant("MPAM", "another draw", 0.4, _MPAM, draw=1, paper=False),
    "pam draw": Variant("PAM", "another draw", 1.5, _PAM, draw=1, paper=False),
    "scaled-gd draw": Variant("ScaledGD", "another draw", 0.5, _SCALED, draw=1, paper=False),
}
# The one that stands for each method of the paper.
MAIN = {
    "GD": f"gd {STEP:g}",
    "MPAM": "mpam",
    "PAM": "pam 0",
    "ScaledGD": "scaled-gd 0.5",
    "ADMM": "admm balanced",
    "GNMR": "gnmr",
}
# The lines of the ledger that tell a method's variants apart: at the paper's size, and what the readings add.
RESTS = {
    "GD": (("step", "start"), ("draw",)),
    "MPAM": (("second rule",), ("variant", "draw")),
    "PAM": (("α, β",), ("draw",)),
    "ScaledGD": (("η",), ("draw",)),
    "ADMM": (("ρ", "cap"), ("X-update", "first Y, Λ")),
    "GNMR": (("inner tolerance", "outer tolerance"), ("forcing",)),
}


def variants_of(method: str, sigma: float = 0.0, *, paper: bool = True) -> dict[str, Variant]:
    """The variants of a method that run at a noise level, at the paper's size or at that of the readings.

    Examples
    --------
    >>> list(variants_of("PAM")), list(variants_of("PAM", paper=False))
    (['pam 0', 'pam 1'], ['pam 0', 'pam 1', 'pam 0.1', 'pam draw'])
    """
    return {
        name: variant
        for name, variant in VARIANTS.items()
        if variant.method == method and variant.runs(sigma, paper=paper)
    }
