"""Kernels for the processor: strategies, C++, what the machine gives and what a kernel will take."""
