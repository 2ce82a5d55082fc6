"""Kernels that a sweep needs are compiled ahead of it, and only then."""

import pytest

from bench_engine.kernels.native import extension
from bench_engine.registry import readiness


@pytest.mark.parametrize(
    ("built", "methods", "builds"),
    [(False, ["dense", "hashed"], 1), (False, ["dense"], 0), (True, ["hashed"], 0)],
)
def test_kernels_are_compiled_ahead_where_a_method_needs_them(
    monkeypatch: pytest.MonkeyPatch, built: bool, methods: list[str], builds: int
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(extension, "built", lambda: built)
    monkeypatch.setattr(extension, "build", lambda: asked.append("build"))
    readiness.build_ahead(methods, pytest.fail)
    assert len(asked) == builds


def test_why_they_cannot_be_compiled_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise extension.CompilerMissingError("No C++ compiler was found.")

    said: list[str] = []
    monkeypatch.setattr(extension, "built", lambda: False)
    monkeypatch.setattr(extension, "build", refuse)
    readiness.build_ahead(["hashed"], said.append)
    assert said == ["No C++ compiler was found."]
