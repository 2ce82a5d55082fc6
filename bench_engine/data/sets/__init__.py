"""The data sets: one module each, with `load() -> bench_engine.data.ClickData`. From outside: every module."""
