"""Colours and symbols of values."""

from mirror.chart.draw.palette import OTHER, faint, looks


def test_a_method_looks_the_same_in_every_chart():
    few, many = looks(["hashed"], rivals=True), looks(["dense", "small_dim", "fiited", "hashed", "dense"], rivals=True)
    assert few["hashed"] == many["hashed"]
    assert looks(["fiited"], rivals=True)["fiited"] == many["fiited"]


def test_equal_values_never_share_a_look():
    found = looks(["dense", "hashed", "a", "b", "c", "d", "e", "f"], rivals=True)
    assert len({x.color for x in found.values()}) == len({x.symbol for x in found.values()}) == 8


def test_beyond_eight_the_rarest_are_grey():
    values = [f"m{i}" for i in range(10) for _ in range(20 - i)] + ["dense", None]
    found = looks(values, rivals=True)
    assert [v for v, look in found.items() if look == OTHER] == ["m7", "m8", "m9", None]


def test_numbers_are_coloured_in_their_order():
    assert looks([0.5, 0.1]) == looks([0.1, 0.5, 0.5])


def test_four_and_more_numbers_run_from_dark_to_light():
    def brightness(color: str) -> float:
        return sum(w * int(color[i : i + 2], 16) for w, i in zip((0.299, 0.587, 0.114), (1, 3, 5), strict=True))

    for count in (4, 5, 8):
        found = looks([k / 10 for k in range(count)])
        shades = [brightness(found[k / 10].color) for k in range(count)]
        assert shades == sorted(shades)
        assert len({look.symbol for look in found.values()}) == count
    assert looks([1, 2, 3])[1].color == looks(["hashed"], rivals=True)["hashed"].color


def test_an_area_has_the_colour_of_its_line():
    assert faint("#0072B2") == "rgba(0,114,178,0.15)"
