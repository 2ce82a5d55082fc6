"""The ways into Parallel OP: untouched scripts, torch.compile, Inductor; and which of them a model takes."""
