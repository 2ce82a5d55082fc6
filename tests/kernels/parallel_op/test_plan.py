"""The text of a plan."""

import pytest
import torch

from bench_engine.kernels.parallel_op.plan import (
    Branch,
    Extra,
    Input,
    Output,
    Plan,
    Source,
    Table,
    View,
    branches_text,
)

TEXT = """\
table deep.0.weight ids=0@1:3:4 offsets=- weights=- mode=sum padding=- last=0 sparse=0
table deep.1.weight ids=1 offsets=0@0:5 weights=0 mode=mean padding=0 last=1 sparse=0
table wide.weight ids=0@1:7 offsets=- weights=- mode=row padding=- last=0 sparse=1
out 2
cat 0 1 x0
"""
PLAN = Plan(
    (
        Table("deep.0.weight", Source(0, View(1, 3, 4))),
        Table("deep.1.weight", Source(1), Source(0, View(0, 5)), Source(0), "mean", 0, last=True),
        Table("wide.weight", Source(0, View(1, 7)), mode="row", sparse=True),
    ),
    (Output("out", (2,)), Output("cat", (0, 1, Extra(0)))),
)


def test_a_plan_is_written_and_read():
    assert PLAN.text() == TEXT
    assert Plan.parse(TEXT) == PLAN


def test_names_hold_no_whitespace():
    assert str(Table("m.a b\n.weight", Source(0))).startswith("table m.a_b_.weight ids=0 ")
    assert str(Table("", Source(0))).startswith("table _ ids=0 ")


@pytest.mark.parametrize(
    "outputs",
    [
        (Output("out", (0,)),),
        (Output("cat", (0, 1, 1)),),
        (Output("cat", (0, 1, Extra(1))),),
        (Output("cat", (0, 1, Extra(0))), Output("cat", (2, Extra(0)))),
    ],
)
def test_each_table_and_extra_stands_in_one_output(outputs):
    with pytest.raises(ValueError, match="exactly one output"):
        Plan(PLAN.tables, outputs)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("mode=sum", "mode=median"),
        ("ids=0@1:3:4", "ids=0@1"),
        ("last=1", "last=2"),
        (" sparse=0", ""),
        ("cat 0", "dog 0"),
        ("out 2", "out 2 x0"),
        ("padding=0", "padding=zero"),
    ],
)
def test_a_wrong_line_is_named(right, wrong):
    text = TEXT.replace(right, wrong, 1)
    (line,) = set(text.splitlines()) - set(TEXT.splitlines())
    with pytest.raises(ValueError, match="this line of a plan is wrong") as caught:
        Plan.parse(text)
    assert repr(line) in str(caught.value)


def test_branches():
    branches = (
        Branch("aten::layer_norm", (Input(0), [16], Input(1), None, 1e-05, True)),
        Branch("aten::gelu", (Input(10), "tanh")),
    )
    assert branches_text(branches) == "aten::layer_norm(%0, [16], %1, None, 1e-05, True)\naten::gelu(%10, 'tanh')\n"
    with pytest.raises(TypeError, match="device"):
        branches_text([Branch("aten::relu", (torch.device("cpu"),))])
