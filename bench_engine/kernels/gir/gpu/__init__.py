"""Kernels for a GPU: blocks, Triton, and what a kernel will take."""
