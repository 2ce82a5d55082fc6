"""What the MIRROR_PARALLEL_OP_* variables mean."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench_engine.kernels.parallel_op.settings import DEFAULT_OPS, KNOWN_OPS, Settings, SettingsError, switch


def read(**variables: str) -> Settings:
    return Settings.from_environment({f"MIRROR_PARALLEL_OP_{name}": value for name, value in variables.items()})


def test_nothing_set(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    expected = Settings(cache_dir=Path("/home/someone/.cache/mirror/parallel_op"))
    assert Settings.from_environment({}) == expected
    assert (
        read(OPS="", THREADS=" ", SCHEDULE="", NESTED="", REPORT="", MIN_GROUP="", CACHE="", HUGE_PAGES="") == expected
    )


def test_everything_set():
    assert read(
        OPS="+aten.linear",
        THREADS="4",
        SCHEDULE="flat",
        NESTED="on",
        REPORT="1",
        MIN_GROUP="8",
        CACHE="/c",
        HUGE_PAGES="0",
    ) == Settings(
        ops=DEFAULT_OPS | {"aten.linear"},
        asked=frozenset({"aten.linear"}),
        threads=4,
        schedule="flat",
        nested=True,
        report=True,
        min_group=8,
        cache_dir=Path("/c"),
        huge_pages=False,
    )


def test_the_cache_is_beside_the_users_other_caches():
    assert Settings.from_environment({"XDG_CACHE_HOME": "/caches"}).cache_dir == Path("/caches/mirror/parallel_op")


@pytest.mark.parametrize(
    ("text", "ops", "asked"),
    [
        ("-aten.embedding", DEFAULT_OPS - {"aten.embedding"}, set()),
        ("+aten.embedding", DEFAULT_OPS, {"aten.embedding"}),
        ("+aten.native_layer_norm", DEFAULT_OPS | {"aten.layer_norm"}, {"aten.layer_norm"}),
        (
            " + aten.relu , -aten.embedding_bag,",
            DEFAULT_OPS - {"aten.embedding_bag"} | {"aten.relu"},
            {"aten.relu"},
        ),
        ("-optim.sgd", DEFAULT_OPS - {"optim.sgd"}, set()),
        ("+aten.relu,-aten.relu", DEFAULT_OPS, set()),
    ],
)
def test_whitelist_changes(text, ops, asked):
    settings = read(OPS=text)
    assert (settings.ops, settings.asked) == (ops, asked)


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        (
            {"OPS": "+aten.embeding_bag"},
            r"aten.embeding_bag is not an op .*did you mean aten.embedding_bag\?.*known: aten",
        ),
        ({"OPS": "aten.linear"}, r"put \+ \(add\) or - \(remove\) before aten.linear"),
        ({"OPS": "+"}, "an empty name is not an op"),
        ({"SCHEDULE": "tables"}, r"did you mean table\?\); known: auto, table, batch, flat"),
        ({"THREADS": "-1"}, "THREADS=-1 is not a whole number from 0 to 1024"),
        ({"THREADS": "two"}, "THREADS=two is not a whole number"),
        ({"MIN_GROUP": "1"}, "MIN_GROUP=1 is not a whole number from 2 on"),
        ({"NESTED": "maybe"}, r"NESTED=maybe is neither on \(1, true, on\) nor off \(0, false, off\)"),
        ({"THREAD": "1"}, r"did you mean MIRROR_PARALLEL_OP_THREADS\?\); known: MIRROR_PARALLEL_OP_CACHE"),
    ],
)
def test_what_nobody_understands_is_a_sentence(variables, sentence):
    with pytest.raises(SettingsError, match=sentence):
        read(**variables)


def test_every_known_op_can_be_added():
    assert read(OPS=",".join(f"+{name}" for name in KNOWN_OPS)).ops == KNOWN_OPS


@pytest.mark.parametrize(("value", "on"), [("1", True), ("TRUE", True), ("on", True), ("0", False), ("", False)])
def test_switch(value, on):
    assert switch("MIRROR_PARALLEL_OP", value) is on


def test_every_variable_is_documented():
    text = (Path(__file__).resolve().parents[3] / "docs" / "settings.md").read_text()
    with pytest.raises(SettingsError) as known:
        read(NOTHING="")
    names = str(known.value).partition("known: ")[2].rstrip(".").split(", ")
    assert len(names) == 8
    assert [name for name in (*names, "MIRROR_PARALLEL_OP") if f"`{name}`" not in text] == []


def test_loads_without_torch():
    code = (
        "import sys; from bench_engine.kernels.parallel_op.settings import Settings; Settings.from_environment();"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_home_folder_that_is_not_known():
    with pytest.raises(SettingsError, match=r"_CACHE=~nobody-here/x names a home folder that is not known"):
        read(CACHE="~nobody-here/x")
