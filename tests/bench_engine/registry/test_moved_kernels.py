"""The tool that finds out which kernels were only moved: what a move may change, and what it may not."""

from tests.shows.moved_kernels import covered, differences, parts

MODULE = '''"""A kernel."""
from pathlib import Path
import torch
from bench_engine.kernels import _ops, extension

_SIZE = 8  # rows at once
_ROOT = Path(__file__).resolve().parents[2]


class Bag(torch.nn.Module):
    """A bag; see csrc/ops.cpp."""

    def forward(self, ids):
        """Pools."""
        _ops.load()
        return _ops.pool(ids, _SIZE)
'''
MOVED = '''"""The kernel of a bag."""
from pathlib import Path
import torch
from bench_engine.kernels.bag import ops
from bench_engine.kernels.bag.sizes import SIZE

_SIZE = 8
_ROOT = Path(__file__).resolve().parents[3]


class Bag(torch.nn.Module):
    """A bag; see csrc/bag/ops.cpp."""

    def forward(self, ids):
        ops.load()
        return ops.pool(ids, _SIZE)
'''
SOURCE = '// Pools.\n#include "ops.h"\n#include <vector>\nint pool(int x) { return x; /* all */ }\n'
STARTED = {"started": ["Bag"]}


def test_a_move_may_change_imports_paths_comments_and_docstrings() -> None:
    assert parts("a.py", MODULE) == parts("b/c.py", MOVED)
    moved = '#include "bag/ops.h"\n\n// See csrc/bag/ops.h.\n#include <vector>\nint pool(int x) {\n  return x;\n}\n'
    assert parts("a.cpp", SOURCE) == parts("bag/a.cpp", moved)


def test_all_else_is_another_kernel() -> None:
    for old, new in (
        ("= 8", "= 9"),
        ("import torch", "import other as torch"),
        ("pool(", "sum("),
        ("[2]", "[2] / 'x'"),
    ):
        assert old in MODULE
        assert parts("a.py", MODULE) != parts("a.py", MODULE.replace(old, new))
    for old, new in (("return x", "return 2"), ("<vector>", "<array>")):
        assert parts("a.cpp", SOURCE) != parts("a.cpp", SOURCE.replace(old, new))
    assert parts("a.cpp", 'char* x = "// no";') != parts("a.cpp", 'char* x = "";')


def test_a_file_may_be_split_and_joined() -> None:
    one, two = ("a = 1",), ("b = 2",)
    both = one + two
    assert covered(one, [], [both])
    assert covered(both, [], [one, two])
    assert not covered(both, [], [one])
    assert not covered(("a = 2",), [], [both])


def test_a_method_is_refused_where_a_file_is_new_or_gone() -> None:
    before = {"bag.py": ("a = 1",), "build.py": ("b = 2",), "flags.py": ()}
    old = {"files": ["bag.py", "build.py"], **STARTED}
    now = {"bags/bag.py": ("a = 1",), "build.py": ("b = 3",)}
    new = {"files": ["bags/bag.py"], **STARTED}
    assert differences(old, new, before, now) == ["nothing is what build.py was"]
    assert differences(old, new, before, now, left_out=["build.py"]) == []
    assert differences(old, {**new, "started": ["Other"]}, before, now, ["build.py"]) != []
    more = {"files": ["bags/bag.py", "build.py"], **STARTED}
    assert differences(old, more, before, now, ["build.py"]) == ["build.py is not what it was"]
