"""Which ready sweep measures a value."""

from pathlib import Path

import pytest

from mirror.schema.ready_sweeps import measuring


def test_values_of_axes_and_methods() -> None:
    assert measuring("cache", "cold") == {"caches": ("lookup",)}
    assert measuring("method", "zentorch") == {"rivals": ("lookup",)}
    assert measuring("method", "jax")["memory_ops"] == ("memory_ops",)
    assert measuring("method", "hashed")["quick"] == ("lookup", "training")
    assert "caches" in measuring("zipf_s", 0)
    assert measuring("cache", "tepid") == measuring("auc", 1) == {}


@pytest.mark.parametrize(
    "text",
    ["a: [", "- 1", "", "parameters: 3", "parameters: {cache: cold}", "parameters: {cache: {low: 0}}", "methods: jax"],
)
def test_a_file_that_is_no_sweep_measures_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_text(text)
    (tmp_path / "odder.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "right.yaml").write_text("{benchmark: lookup, parameters: {cache: {value: cold}}}")
    assert measuring("cache", "cold", tmp_path) == {"right": ("lookup",)}
    assert measuring("method", "jax", tmp_path) == {}
