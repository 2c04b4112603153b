"""Passes over a matrix on a device: PyTorch's tiles everywhere, and fused kernels where Triton is."""
