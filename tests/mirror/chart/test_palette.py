"""Colours and symbols of values."""

from mirror.chart.draw.palette import OTHER, faint, looks


def test_a_method_looks_the_same_in_every_chart():
    few, many = looks("method", ["hashed"]), looks("method", ["dense", "small_dim", "fiited", "hashed", "dense"])
    assert few["hashed"] == many["hashed"]
    assert looks("method", ["fiited"])["fiited"] == many["fiited"]


def test_equal_values_never_share_a_look():
    found = looks("method", ["dense", "hashed", "a", "b", "c", "d", "e", "f"])
    assert len({x.color for x in found.values()}) == len({x.symbol for x in found.values()}) == 8


def test_beyond_eight_the_rarest_are_grey():
    values = [f"m{i}" for i in range(10) for _ in range(20 - i)] + ["dense", None]
    found = looks("method", values)
    assert [v for v, look in found.items() if look == OTHER] == ["m7", "m8", "m9", None]


def test_numbers_are_coloured_in_their_order():
    assert looks("compression", [0.5, 0.1]) == looks("compression", [0.1, 0.5, 0.5])


def test_four_and_more_numbers_run_from_dark_to_light():
    def brightness(color: str) -> float:
        return sum(w * int(color[i : i + 2], 16) for w, i in zip((0.299, 0.587, 0.114), (1, 3, 5), strict=True))

    for count in (4, 5, 8):
        found = looks("compression", [k / 10 for k in range(count)])
        shades = [brightness(found[k / 10].color) for k in range(count)]
        assert shades == sorted(shades)
        assert len({look.symbol for look in found.values()}) == count
    assert looks("compression", [1, 2, 3])[1].color == looks("method", ["hashed"])["hashed"].color


def test_an_area_has_the_colour_of_its_line():
    assert faint("#0072B2") == "rgba(0,114,178,0.15)"
