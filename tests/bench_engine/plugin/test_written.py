"""Code of a notebook as a module that other processes can import, and what cannot be one."""

import importlib
import linecache
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from bench_engine.plugin import PluginError, declared, plugin_of
from db.installation import python_path

Cells = Callable[[str], dict]


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cells]:
    """Runs the text of a cell as a notebook does: one module without a file, the source known to linecache."""
    session = ModuleType("session")
    monkeypatch.setitem(sys.modules, "session", session)
    names: list[str] = []

    def run(text: str) -> dict:
        names.append(f"<cell {len(names)}>")
        linecache.cache[names[-1]] = (len(text), None, text.splitlines(keepends=True), names[-1])
        exec(compile(text, names[-1], "exec"), vars(session))
        return vars(session)

    yield run
    for name in names:
        del linecache.cache[name]


def written(value: object, folder: Path, name: str = "") -> dict:
    """The names of the module that is written for a value, imported as such."""
    plugin = plugin_of(value, name, folder)
    found: dict = {"__name__": "elsewhere"}
    exec(compile(Path(plugin.target).read_text(), plugin.target, "exec"), found)
    return found


def test_a_class_takes_along_what_it_names_and_no_more(cells: Cells, tmp_path: Path) -> None:
    cells("import math\nfrom pathlib import Path as P\nLIMITS = (1, 2.5)\nopened = open(__import__('os').devnull)")
    cells("def root(x):\n    return math.sqrt(x) * LIMITS[1]\n\ndef unused():\n    return opened")
    session = cells(
        "class Base:\n    factor = LIMITS[0]\n    def __len__(self):\n        return 1\n\n"
        "class MyBag(Base):\n    '''A text.'''\n"
        "    def run(self, x):\n        return self.factor * root(x), P('a').name, unknown if x < 0 else x"
    )
    found = written(session["MyBag"], tmp_path)
    assert found["MyBag"]().run(16.0) == session["MyBag"]().run(16.0) == (10.0, "a", 16.0)
    assert "unused" not in found
    assert plugin_of(session["MyBag"], "", tmp_path).name == "my_bag"
    assert plugin_of(session["MyBag"], "other", tmp_path).name == "other"
    session["opened"].close()


def test_a_cell_that_is_changed_is_another_file(cells: Cells, tmp_path: Path) -> None:
    files = [
        plugin_of(cells(f"def bag(n):\n    return n * {factor}")["bag"], "", tmp_path).target for factor in (1, 2, 1)
    ]
    assert files[0] == files[2] != files[1]


def test_functions_that_call_each_other_and_decorators_come_along(cells: Cells, tmp_path: Path) -> None:
    session = cells(
        "import functools\n\n@functools.lru_cache\ndef odd(n):\n    return n > 0 and even(n - 1)\n\n"
        "def even(n):\n    return n == 0 or odd(n - 1)"
    )
    found = written(session["even"], tmp_path)
    assert [found["even"](n) for n in range(4)] == [True, False, True, False]
    assert found["odd"].cache_info().misses


def test_a_module_beside_the_notebook_is_found_and_part_of_the_kernel(
    cells: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "near_helper.py").write_text("import near_deeper\nvalue = near_deeper.value\n")
    (tmp_path / "near_deeper.py").write_text("value = 7\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    session = cells("import near_helper\ndef bag():\n    return near_helper.value")
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != str(tmp_path)])
    for name in ("near_helper", "near_deeper"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "near_helper", session["near_helper"])
    found = written(session["bag"], tmp_path / "kept")
    assert found["bag"]() == 7
    assert {Path(p).name for p in found["__sources__"]} == {"near_helper.py", "near_deeper.py"}


def test_a_function_of_torch_is_not_made_of_all_its_modules() -> None:
    """They are thousands, read at every declaration, and torch's version is part of the kernel anyway."""
    importlib.import_module("torch")
    assert declared.files_of("torch") == (declared.file_of("torch"),)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "table = [object()]\nclass Bag:\n    def f(self):\n        return table",
            "Bag uses table, a list that only this",
        ),
        ("def make():\n    class Bag:\n        pass\n    return Bag\nBag = make()", "lies within other code"),
        ("Bag = lambda *a: 1", "lies within other code"),
        ("Bag = 3", "A method is a class or a function, not 3"),
        ("import functools\nBag = functools.partial(print, 1)", "A method is a class or a function"),
        ("exec('class Bag:\\n    def f(self): pass')", "The source of Bag is not known"),
        ("class Bag: pass", "The source of Bag is not known"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(cells: Cells, tmp_path: Path, text: str, told: str) -> None:
    value = cells(text)["Bag"]
    with pytest.raises(PluginError, match=told) as raised:
        plugin_of(value, "", tmp_path)
    assert len(str(raised.value).splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_cached_function_of_a_script_comes_along(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import functools, sys\nfrom pathlib import Path\nfrom bench_engine.plugin import plugin_of\n"
        "@functools.cache\ndef bound(n):\n    return n ** -0.5\n\n"
        "class Half:\n    def run(self, n):\n        return bound(n)\n\n"
        "print(Path(plugin_of(Half, '', Path(sys.argv[1])).target).read_text())\n"
    )
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], env={**os.environ, "PYTHONPATH": python_path()},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "@functools.cache\ndef bound" in done.stdout
    assert "__main__" not in done.stdout
