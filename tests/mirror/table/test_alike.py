"""When two results say the same: by rows, whatever the order and the names."""

import pytest

from mirror.table.alike import Rows, holds, is_empty


@pytest.mark.parametrize(
    ("rows", "others", "same"),
    [
        ((), (), True),
        (((1, "a"),), (("a", 1.0),), True),
        (((1, "a"), (2, "b")), (("b", 2), ("a", 1)), True),
        (((1, "a"), (2, "b")), (("b", 1), ("a", 2)), False),
        (((1, "a"), (2, "b")), (("a",), ("b",)), True),
        ((("a",), ("b",)), ((1, "a"), (2, "b")), False),
        (((1,), (1,)), ((1,),), False),
        (((0.1 + 0.2,),), ((0.3,),), True),
        (((0.31,),), ((0.3,),), False),
        (((None,),), ((0,),), False),
        (((True,),), ((1,),), True),
        ((("2025-03-01 00:00:00",),), (("2025-03",),), True),
        ((("2025-03-01T00:00:00",),), (("2025-03-01",),), True),
        ((("2025-03-02",),), (("2025-03",),), False),
        ((("2025",),), ((2025,),), True),
        ((("007",),), ((7,),), False),
        (((1, 2, "a"), (2, 1, "b")), ((1, 2, "a"), (2, 1, "b")), True),
        (((1, 2, "a"), (2, 1, "b")), ((2, "a"), (1, "b")), True),
    ],
)
def test_rows_are_held(rows: Rows, others: Rows, same: bool) -> None:
    assert holds(rows, others) is same


def test_what_is_empty() -> None:
    assert is_empty(())
    assert is_empty(((None, None),))
    assert not is_empty(((None, 0),))
