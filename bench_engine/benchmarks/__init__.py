"""What is measured: one module each, with `run(trial)`."""
