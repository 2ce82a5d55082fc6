"""Addresses of machines: what is read of them, and what is refused before any shell sees it."""

import pytest

from bench_engine.run.far.destination import FOLDER, Destination, DestinationError, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ssh://ada", Destination("ada")),
        ("ssh://ada/", Destination("ada", folder=FOLDER)),
        ("ssh://me@ada.example.org:2222/data/mirror", Destination("ada.example.org", "me", 2222, "/data/mirror")),
        ("ssh://ada/~/a%20b", Destination("ada", folder="~/a b")),
        ("ssh://[::1]:22", Destination("::1", port=22)),
    ],
)
def test_an_address_is_read(text: str, expected: Destination) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "ssh://", "ssh://-oProxyCommand=id", "ssh://me@-x", "ssh://-l@ada", "ssh://a b", "ssh://a'b", 'ssh://a"b',
        "ssh://a;id", "ssh://$(id)", "ssh://a`id`", "ssh://ada:0", "ssh://ada:70000", "ssh://ada:x", "ssh://a\nb",
        "ssh://ada/x%0Ay", "http://ada", "ssh://me:secret@ada",
    ],
)  # fmt: skip
def test_what_could_mean_something_else_is_refused(text: str) -> None:
    with pytest.raises(DestinationError):
        parse(text)


def test_the_machine_comes_after_a_double_dash() -> None:
    assert parse("ssh://me@ada:22/x").arguments == ["-l", "me", "-p", "22", "--", "ada"]
    assert parse("ssh://me@ada:22/x").by_hand == "ssh -p 22 me@ada"
