"""Which SQL may run."""
