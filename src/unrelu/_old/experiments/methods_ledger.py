"""The ledger of ``figure-methods``: with which settings every method runs, and where they come from."""

from __future__ import annotations

from typing import Any

from unrelu._old.experiments.base import Setting
from unrelu._old.experiments.methods_readings import ADMM_CAP, LOOSE, MAIN, VARIANTS, bound, short, variants_of
from unrelu._old.experiments.solve import step_setting
from unrelu._old.loop.stopping import AnyOf, DetailBelow
from unrelu._old.solvers import GNMR, GaussNewton, GradientDescent
from unrelu._old.solvers.admm import THRESHOLD
from unrelu._old.solvers.gnmr import VARIANTS as GNMR_VARIANTS

__all__ = ["methods_ledger"]

THEIRS, SILENT = "its authors' code", "not stated"


def methods_ledger() -> tuple[Setting, ...]:
    """Every setting, from the fields that the solvers run with.

    Examples
    --------
    >>> found = {(s.method, s.name): s.value for s in methods_ledger()}
    >>> found["PAM", "α, β"], found["ADMM", "stop"]
    ('0, 0.1, 1', '‖X − Y‖_F ≤ 0.0001')
    """
    return (*_all(), *_descents(), *_alternating(), *_admm(), *_gnmr(), *_ours())


def _solver(method: str) -> Any:
    return VARIANTS[MAIN[method]].solver


def _values(method: str, name: str) -> str:
    """The values of a solver's field over the variants of its method, each once."""
    found = {getattr(variant.solver, name) for variant in variants_of(method, 1.0, paper=False).values()}
    return ", ".join(short(value) for value in sorted(value for value in found if value is not None))


def _stop(method: str) -> str:
    return short(bound(_solver(method).paper_rule()))


def _all() -> tuple[Setting, ...]:
    whose = (
        "γ is printed for UUᵀ against M. Of methods with two factors it may be that of LRᵀ (own) or of the nearest PSD "
        "matrix of rank r (PSD); and M may be the noisy matrix or M*"
    )
    draws = "how often a random start is drawn is not stated"
    return (
        Setting("all", "error", "own, PSD; M, M*", "ours", whose),
        Setting("all", "matrix", "the last iterate", "ours", "also of a run that was cut off; of ADMM it is Y"),
        Setting("all", "draw", "1 a matrix; readings 2", "ours", draws),
        Setting("all", "CPU", "start + iterations", "ours", "what was timed is not stated; one thread"),
    )


def _descents() -> tuple[Setting, ...]:
    stop = short(bound(GradientDescent(stopping="paper").paper_rule()))
    scaled = _solver("ScaledGD")
    start = "printed with orthonormal columns; scaled by the roots of the eigenvalues it recovers more often"
    return (
        step_setting("GD"),
        Setting("GD", "start", "scaled; as printed", "inferred", start),
        Setting("GD", "stop", f"‖(Z + Zᵀ)U‖_F ≤ {stop}", "printed", "of the gradient as printed, twice the true one"),
        Setting("GD", "cap", f"{GradientDescent.max_iter}", "inferred", f"{SILENT} here; printed for Table 1"),
        Setting("ScaledGD", "η", _values("ScaledGD", "step_size"), "inferred", f"{SILENT}; 0.5 in {THEIRS}"),
        Setting("ScaledGD", "start", "tailored, scaled", "printed", "scaled as that of GD"),
        Setting("ScaledGD", "stop", f"‖∇H‖_F ≤ {_stop('ScaledGD')}", "printed"),
        Setting("ScaledGD", "cap", f"{scaled.max_iter}", "ours", SILENT),
    )


def _alternating() -> tuple[Setting, ...]:
    mpam, pam = _solver("MPAM"), _solver("PAM")
    rules = mpam.paper_rule()
    assert isinstance(rules, AnyOf)
    second = rules.rules[1]
    assert isinstance(second, DetailBelow)
    kind = "the formula has W and H, as 3B-NMD has; A-NMD has not"
    return (
        Setting("MPAM", "variant", "3B-NMD; A-NMD", "inferred", kind),
        Setting("MPAM", "momentum", _values("MPAM", "momentum"), "inferred", f"{THEIRS}: the first is fixed"),
        Setting("MPAM", "start", f"{mpam.default_start} W, H", "inferred", THEIRS),
        Setting("MPAM", "stop", f"misfit ≤ {_stop('MPAM')} ‖M_Ω‖_F", "printed"),
        Setting(
            "MPAM",
            "second rule",
            f"change in 10 ≤ {short(second.bound)} ‖M_Ω‖_F; none",
            "inferred",
            f"{THEIRS} has it, and the paper does not print it",
        ),
        Setting("MPAM", "cap", f"{mpam.max_iter}", "inferred", THEIRS),
        Setting("PAM", "α, β", _values("PAM", "alpha"), "ours", f"{SILENT}; both the same, 0 is the fastest"),
        Setting("PAM", "start", "normal entries", "printed"),
        Setting("PAM", "stop", f"‖ΔX‖_F + ‖ΔΘ‖_F ≤ {_stop('PAM')}", "printed"),
        Setting("PAM", "cap", f"{pam.max_iter}", "ours", SILENT),
    )


def _admm() -> tuple[Setting, ...]:
    others = sorted({v.cap for v in variants_of("ADMM", 1.0, paper=False).values() if v.cap != ADMM_CAP and v.cap})
    balanced = (
        f"{SILENT}. Balanced begins with 1/ρ = {THRESHOLD:g} ‖M_Ω‖_F and doubles or halves ρ where residuals differ; "
        "at the paper's size with noise it runs alone, for a fixed ρ takes long there"
    )
    square = "the printed t has a square too many and lands inside the ball; as printed in the readings"
    first = "normal is printed; the problem is convex and has one answer"
    return (
        Setting("ADMM", "ρ", f"balanced; {_values('ADMM', 'rho')}", "ours", balanced),
        Setting("ADMM", "X-update", "projection; as printed", "inferred", square),
        Setting("ADMM", "δ", "‖Δ‖_F²", "printed"),
        Setting("ADMM", "first Y, Λ", "0; normal", "ours", first),
        Setting("ADMM", "stop", f"‖X − Y‖_F ≤ {_stop('ADMM')}", "printed"),
        Setting("ADMM", "cap", f"{ADMM_CAP}; readings {', '.join(map(str, others))}", "ours", SILENT),
    )


def _gnmr() -> tuple[Setting, ...]:
    gnmr: GNMR = _solver("GNMR")
    inner = f"{SILENT}; {short(gnmr.inner_tol)} in {THEIRS}"
    forcing = f"0 in {THEIRS}; above 0 an inner solve is as exact as the outer residual deserves"
    outer = f"{SILENT}; {_stop('GNMR')} in {THEIRS}, below rounding: most runs then end when they stall"
    return (
        Setting("GNMR", "variant", f"α = {GNMR_VARIANTS[gnmr.variant]:g}", "inferred", THEIRS),
        Setting("GNMR", "start", "SVD of M_Ω", "inferred", THEIRS),
        Setting("GNMR", "inner tolerance", _values("GNMR", "inner_tol"), "inferred", inner),
        Setting("GNMR", "forcing", _values("GNMR", "forcing"), "ours", forcing),
        Setting("GNMR", "outer tolerance", f"{_stop('GNMR')}, {short(LOOSE)}", "inferred", outer),
        Setting("GNMR", "cap", f"{gnmr.max_iter}; inner {gnmr.max_inner}", "inferred", THEIRS),
    )


def _ours() -> tuple[Setting, ...]:
    return (
        Setting("unrelu default", "options", "none", "ours", "this library beside the paper"),
        Setting("unrelu default", "cap", f"{GaussNewton.max_iter} a run", "ours", "the library's own"),
    )
