"""Modules and tests that cannot be collected where an extra is missing."""

from importlib.util import find_spec

NEEDS = {
    "torch": [
        "src/unrelu/_old/kernels/device/arrays.py",
        "src/unrelu/_old/kernels/device/feed.py",
        "src/unrelu/_old/kernels/device/kernel.py",
        "src/unrelu/_old/kernels/device/operands.py",
        "src/unrelu/_old/kernels/device/plain.py",
        "src/unrelu/_old/kernels/device/undisturbed.py",
        "src/unrelu/_old/scale/engines/torch.py",
        "src/unrelu/_old/results/tensors.py",
        "src/unrelu/_old/data/tensor_source.py",
    ],
    "triton": [
        "src/unrelu/_old/kernels/device/fused.py",
        "src/unrelu/_old/kernels/device/fused_look.py",
        "src/unrelu/_old/kernels/device/fused_parts.py",
        "src/unrelu/_old/kernels/device/fused_passes.py",
        "tests/_old/kernels/fused_cases.py",
        "tests/_old/kernels/test_fused.py",
    ],
}

collect_ignore = [path for package, paths in NEEDS.items() if find_spec(package) is None for path in paths]
