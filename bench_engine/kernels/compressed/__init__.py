"""Embedding bags in plain PyTorch: the dense one, and those that keep fewer or shorter vectors."""
