"""GIR: the kernel as loops over moves and computations, its text, its rewrites, and the bytes it moves."""
