"""What cannot be looked at where an extra is missing: modules that are made of it, and examples in them."""

from importlib.util import find_spec

NEEDS = {
    "torch": [
        "src/unrelu/kernels/device/arrays.py",
        "src/unrelu/kernels/device/feed.py",
        "src/unrelu/kernels/device/kernel.py",
        "src/unrelu/kernels/device/operands.py",
        "src/unrelu/kernels/device/plain.py",
        "src/unrelu/kernels/device/undisturbed.py",
        "src/unrelu/scale/engines/torch.py",
        "src/unrelu/results/tensors.py",
        "src/unrelu/data/tensor_source.py",
    ],
    "triton": [
        "src/unrelu/kernels/device/fused.py",
        "src/unrelu/kernels/device/fused_look.py",
        "src/unrelu/kernels/device/fused_parts.py",
        "src/unrelu/kernels/device/fused_passes.py",
        "tests/kernels/fused_cases.py",
        "tests/kernels/test_fused.py",
    ],
}

collect_ignore = [path for package, paths in NEEDS.items() if find_spec(package) is None for path in paths]
