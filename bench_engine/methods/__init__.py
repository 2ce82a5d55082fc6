"""The methods as benchmarks call them: modules with their optimizers, grouped lookups, and rivals."""
