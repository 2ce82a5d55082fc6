"""A stranger's method, as docs/plugins.md has it, and plug-ins that cannot be used."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from db.installation import ROOT, python_path

PAGE = (ROOT / "docs" / "plugins.md").read_text()
DECLARED = '@method("{name}", "a text")\nclass Bag:\n    pass\n'


def files() -> dict[str, str]:
    """The files that the page shows, by their names."""
    return dict(re.findall(r"`(my_\w+\.(?:py|yaml))`[^`]*:\n\n```\w+\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))


def command(line: list[str], folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MIRROR_")},
        "PYTHONPATH": python_path(),
        "MIRROR_DB": str(folder / "own.duckdb"),
        "MIRROR_LOCK": str(folder / "lock"),
        **variables,
    }
    return subprocess.run(
        [sys.executable, *line], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def listed(folder: Path, *plugins: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    named = [word for plugin in plugins for word in ("--plugin", plugin)]
    return command(["-m", "bench_engine", "list", *named], folder, **variables)


def plugin(folder: Path, file: str, text: str) -> str:
    (folder / file).write_text(f"from bench_engine.plugin import method\n{text}")
    return file


def typed(folder: Path, named: str) -> list[str]:
    """What the page's commands tell that work on results of one of its sweeps, typed in a folder with its files."""
    pairs = (("my_bag", "my_sweep"), *((name, name) for name in ("my_softmax", "my_norms", "my_clicks")))
    assert set(files()) == {name for code, sweep in pairs for name in (f"{code}.py", f"{sweep}.yaml")}
    for name, text in files().items():
        (folder / name).write_text(text)
    lines = [line for line in PAGE.splitlines() if line.startswith("python -m ") and re.search(named, line)]
    told = []
    for line in lines:
        words = re.findall(r'"[^"]*"|\S+', line.removeprefix("python "))
        done = command([word.strip('"') for word in words], folder)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        told.append(done.stdout)
    return told


@pytest.mark.timeout(900)
def test_the_session_of_the_page(tmp_path: Path) -> None:
    told = typed(tmp_path, "my_sweep|half_table|latency by method")
    assert len(told) == 4
    assert "half_table" in told[2]
    assert "half_table" in told[3]


@pytest.mark.timeout(900)
def test_the_callable_of_the_page(tmp_path: Path) -> None:
    (told,) = typed(tmp_path, "my_softmax")
    assert "2 trials have results" in told


@pytest.mark.timeout(900)
def test_the_benchmark_data_set_and_metrics_of_the_page(tmp_path: Path) -> None:
    ran, trained, asked, selected, shown, compared = typed(tmp_path, "my_norms|my_clicks|precision_at_100")
    assert "2 trials have results" in ran
    assert "2 trials have results" in trained
    assert re.search(r"^hashed_reference +0\.5 +0\.\d+ ", asked, re.MULTILINE)
    assert re.search(r"^hashed_reference +0\.\d+ +0\.\d+$", selected, re.MULTILINE)
    assert re.search(r"^ *time .* 100 ", shown, re.MULTILINE)
    assert "precision_at_100, ratio = B / A: above 1 B is higher" in compared
    best = command(["-m", "mirror", "ask", "which method has the best precision_at_100?"], tmp_path)
    assert "the first, ties included, highest first" in best.stdout, "the plug-in has said what is better"
    csv = command(["-m", "bench_engine", "show", "my_norms", "--format", "csv"], tmp_path)
    assert "norm_spread" in csv.stdout.splitlines()[0].split(",")
    norms = command(["-m", "mirror", "ask", "SELECT method, value FROM curves WHERE metric = 'norm_spread'"], tmp_path)
    assert re.search(r"^quotient_remainder +\d", norms.stdout, re.MULTILINE)


def test_a_plugin_is_named_by_the_environment_too(tmp_path: Path) -> None:
    plugin(tmp_path, "one.py", DECLARED.format(name="mine"))
    assert re.search(r"^method +mine +a text$", listed(tmp_path, MIRROR_PLUGINS="one.py").stdout, re.MULTILINE)
    assert re.search(r"^method +mine +a text$", listed(tmp_path, "one.py").stdout, re.MULTILINE)
    assert "mine" not in listed(tmp_path).stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import no_such_package_at_all\n", "cannot be imported (ModuleNotFoundError: No module named"),
        ("raise RuntimeError('it is\\nbroken')\n", "cannot be imported (RuntimeError: it is)."),
        ("import sys\nsys.exit(0)\n", "cannot be imported (SystemExit: 0)."),
        ("syntax error here\n", "cannot be imported (SyntaxError:"),
        ("x = 1\n", "declares no method"),
        ("open('no_such_weights')\n", "cannot be imported (FileNotFoundError:"),
        (DECLARED.format(name="dense"), "There is a method dense already"),
        (DECLARED.format(name="dense_again"), "There is a method dense_again already"),
        (DECLARED.format(name="a b"), "needs another name"),
        (DECLARED.format(name="mine") + DECLARED.format(name="mine"), "Two plug-ins declare a method mine"),
        (DECLARED.format(name="mine").replace('text"', 'text", benchmarks=("cooking",)'), "cannot run in cooking"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(tmp_path: Path, text: str, told: str) -> None:
    plugin(tmp_path, "bad.py", text)
    for done in (listed(tmp_path, "bad.py"), listed(tmp_path, MIRROR_PLUGINS="bad.py")):
        assert done.returncode == 1
        assert told in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr


def test_a_class_is_named_where_methods_are(tmp_path: Path) -> None:
    (tmp_path / "own_bag.py").write_text("class MyBag:\n    pass\n\nnumber = 3\n")
    (tmp_path / "my_sweep.yaml").write_text("benchmark: lookup\nmethods: [dense]\nbaseline: dense\n")

    def plan(methods: str) -> "subprocess.CompletedProcess[str]":
        return command(["-m", "bench_engine", "plan", "my_sweep.yaml", "-p", f"methods={methods}"], tmp_path)

    for named in ("own_bag.py:MyBag", "own_bag:MyBag"):
        done = plan(f"dense,{named}")
        assert (done.returncode, done.stderr) == (0, "")
        assert re.search(r"\bmy_bag\b", done.stdout)
    for named, told in (
        ("own_bag:MyBags", "has no MyBags; did you mean MyBag?"),
        ("own_bag:number", "number of own_bag is no class and no function"),
        ("nowhere:MyBag", "The plug-in nowhere cannot be imported"),
    ):
        done = plan(named)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
        assert told in done.stderr


def test_a_plugin_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    done = listed(tmp_path, "nowhere.py")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "There is no plug-in" in done.stderr


def test_a_changed_plugin_is_another_kernel(tmp_path: Path) -> None:
    script = (
        "from bench_engine.registry import METHODS, with_plugins\nwith_plugins('one.py')\n"
        "print(METHODS['mine'].source_hash())\n"
    )
    hashes = []
    for text, beside in (("", ""), ("x = 1\n", ""), ("\n\n", ""), ("", "x = 1\n")):
        (tmp_path / "near.py").write_text(beside)
        plugin(tmp_path, "one.py", "import near\n" + DECLARED.format(name="mine") + text)
        hashes.append(command(["-c", script], tmp_path).stdout.strip())
    assert hashes[0] == hashes[2]
    assert len(set(hashes)) == 3
    assert all(hashes)


def kernel_of(folder: Path, code: str, declared: str = DECLARED.format(name="mine")) -> str:
    """The hash of the plug-in's method."""
    plugin(folder, "one.py", code + declared)
    script = "from bench_engine.registry import METHODS, with_plugins\nwith_plugins('one.py')\n"
    done = command(["-c", f"{script}print(METHODS['mine'].source_hash())"], folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_what_a_plugin_takes_from_this_project_is_part_of_its_kernel(tmp_path: Path) -> None:
    taken = "from bench_engine.data.quality import {} as measure\n"
    assert kernel_of(tmp_path, taken.format("auc")) != kernel_of(tmp_path, taken.format("logloss"))


def test_any_file_may_be_what_a_kernel_is_made_of(tmp_path: Path) -> None:
    declared = DECLARED.format(name="mine").replace('text"', 'text", sources=("kernel",)')
    (tmp_path / "kernel").mkdir()
    hashes = set()
    for name, content in (("it.so", b"\x7fELF\xff\xfe"), ("it.c", b"int x;"), ("it.c", b"int y;")):
        (tmp_path / "kernel" / name).write_bytes(content)
        hashes.add(kernel_of(tmp_path, "", declared))
    assert len(hashes) == 3


OWN = "from bench_engine.plugin import benchmark, data_set, metric\nfrom bench_engine.registry import Axis\n"


def own_benchmark(name: str = "mine", axes: str = '"num_rows",', methods: str = '"dense",') -> str:
    return f'@benchmark("{name}", "op", axes=({axes}), methods=({methods}))\ndef run(trial):\n    return {{}}\n'


def test_a_benchmark_may_run_on_a_data_set_of_ones_own(tmp_path: Path) -> None:
    data = '@data_set("my_clicks", "text")\ndef load():\n    pass\n'
    plugin(tmp_path, "one.py", OWN + data + own_benchmark(axes='"dataset",'))
    (tmp_path / "s.yaml").write_text("benchmark: mine\nmethods: [dense]\nparameters: {dataset: {value: my_clicks}}\n")
    done = command(["-m", "bench_engine", "plan", "s.yaml", "--plugin", "one.py"], tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (own_benchmark("lookup"), "There is a benchmark lookup already"),
        (own_benchmark() + own_benchmark(), "Two plug-ins declare a benchmark mine"),
        (own_benchmark(axes='"num_row",'), "is no Axis and no other's name; did you mean num_rows?"),
        (own_benchmark(axes='"num_rows", "num_rows"'), "has the axis num_rows twice"),
        (own_benchmark(axes='Axis("window", int, 1, "w"),'), "of which the results have no column"),
        (own_benchmark(axes='Axis("zipf_s", int, 1, "s"),'), "whose type must be float"),
        (own_benchmark(axes='Axis("threads", int, 0, "t", low=1),'), "whose default it does not take itself"),
        (own_benchmark(methods='"dens",'), "names the unknown method 'dens'"),
        ('@data_set("criteo")\ndef load():\n    pass\n', "There is a data set criteo already"),
        ('@metric("auc")\ndef f(a, b):\n    return 1\n', "There is a metric or column auc already"),
        ('@metric("select")\ndef f(a, b):\n    return 1\n', "The metric select needs another name"),
        ('@metric("mine", better="more")\ndef f(a, b):\n    return 1\n', "must be higher or lower, not 'more'"),
        ('@metric("mine", benchmarks=("lookup",))\ndef f(a):\n    return 1\n', "The metric mine cannot be of lookup"),
    ],
)
def test_own_entries_that_cannot_be_used_are_one_sentence(tmp_path: Path, text: str, told: str) -> None:
    done = listed(tmp_path, plugin(tmp_path, "bad.py", OWN + text))
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert told in done.stderr


def test_functions_of_one_name_are_told_apart(tmp_path: Path) -> None:
    one, two, three = "return 1.0", "a *= 0; return 2.0", "return float(a.sum())"
    bodies = zip(("one", "two", "three"), (one, two, three), strict=True)
    text = "".join(f'@metric("{name}")\ndef _(a, b):\n    {body}\n' for name, body in bodies)
    plugin(tmp_path, "metrics.py", OWN + text)
    script = (
        "import numpy as np\nfrom bench_engine.registry import with_plugins\nwith_plugins('metrics.py')\n"
        "from bench_engine.plugin import own_entries\nfrom bench_engine.trial import Trial\n"
        "trial = Trial('training', 'dense', {}, metrics=('one', 'two', 'three'))\n"
        "print(own_entries.measured(trial, np.ones(3), np.ones(3)))\n"
    )
    done = command(["-c", script], tmp_path)
    assert done.stdout.strip() == "{'one': 1.0, 'two': 2.0, 'three': 3.0}", done.stderr
    text = "".join(f'@method("{name}", "text")\ndef made(*a, **k):\n    return 1\n' for name in ("one", "two"))
    done = listed(tmp_path, plugin(tmp_path, "methods.py", "from bench_engine.plugin import method\n" + text))
    assert "The methods one and two are two functions called made: give one of them another name." in done.stderr


@pytest.mark.parametrize("start", ["\ufeff", "# -*- coding: utf-8 -*-\n"])
def test_a_file_may_say_its_encoding_and_a_docstring_may_be_blank(tmp_path: Path, start: str) -> None:
    quotes = '"' * 3
    (tmp_path / "blank.py").write_text(f"{start}class MyBag:\n    {quotes}\n    {quotes}\n")
    assert "my_bag" in listed(tmp_path, "blank.py:MyBag").stdout


def test_a_missing_data_file_is_told_and_bad_metrics_lose_nothing(tmp_path: Path) -> None:
    text = files()["my_clicks.py"].replace('clicks")\ndef load():', 'clicks", files=("clicks.csv",))\ndef load(path):')
    bad = '\n\n@metric("not_a_number")\ndef nan(labels, scores):\n    return float("nan")\n'
    bad += '\n\n@metric("raises")\ndef raises(labels, scores):\n    raise RuntimeError("no way")\n'
    (tmp_path / "own_clicks.py").write_text(text + bad)
    (tmp_path / "own.yaml").write_text(files()["my_clicks.yaml"])
    words = ["own.yaml", "--plugin", "own_clicks.py", "-p", "metrics=precision_at_100,not_a_number,raises"]
    assert "clicks.csv, which is not there" in command(["-m", "bench_engine", "plan", *words], tmp_path).stdout
    (tmp_path / "clicks.csv").write_text("")
    done = command(["-m", "bench_engine", "run", *words], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 trials have results" in done.stdout
    assert "The metric not_a_number gave nan, which is no finite number" in done.stderr
    assert "The metric raises ended with RuntimeError: no way" in done.stderr


CHANGES = """from pathlib import Path

@benchmark("mine", "op", axes=("num_rows",), methods=("dense",))
def run(trial):
    with Path(__file__).open("a") as file:
        file.write("x = 1\\n")
    return {"device": "cpu", "mean_of_all": mean_of_all(1)}


@metric("mean_of_all", benchmarks=("mine",))
def mean_of_all(value):
    return value
"""


def test_a_plugin_that_changes_after_the_run_began_fails_its_trials(tmp_path: Path) -> None:
    named = plugin(tmp_path, "own.py", OWN + CHANGES)
    (tmp_path / "own.yaml").write_text(
        "benchmark: mine\nmethods: [dense]\nbaseline: dense\nparameters: {num_rows: {values: [1, 2]}}\n"
    )
    done = command(["-m", "bench_engine", "run", "own.yaml", "--plugin", named], tmp_path)
    assert "1 trials have results, 1 failed." in done.stdout
    shown = command(["-m", "bench_engine", "show", "own"], tmp_path)
    assert "The code of the benchmark mine was changed after the run began" in shown.stdout


def test_two_files_with_one_name_are_one_sentence(tmp_path: Path) -> None:
    for name in ("one.py", "two.py"):
        plugin(tmp_path, name, DECLARED.format(name="mine"))
    done = listed(tmp_path, "one.py", "two.py")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "Two plug-ins declare a method mine: give one of them another name." in done.stderr


def test_modules_of_one_name_beside_two_plugins_are_one_sentence(tmp_path: Path) -> None:
    for folder, file in (("v1", "my_bag.py"), ("v2", "my_other_bag.py")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "my_helpers.py").write_text(f"WHICH = {folder!r}\n")
        text = "import my_helpers\n" + DECLARED.format(name=file.removesuffix(".py"))
        plugin(tmp_path / folder, file, text)
    assert listed(tmp_path, "v1/my_bag.py").returncode == listed(tmp_path, "v2/my_other_bag.py").returncode == 0
    done = listed(tmp_path, "v1/my_bag.py", "v2/my_other_bag.py")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert re.search(r"would import my_helpers from \S+v1/my_helpers.py and not from beside it, \S+v2/", done.stderr)


def test_a_benchmark_may_report_metrics_that_were_not_asked_for(tmp_path: Path) -> None:
    metrics = "".join(
        f'\n\n@metric("{name}", benchmarks=("mine",))\ndef {name}(value):\n    return value\n'
        for name in ("one", "two")
    )
    run = '@benchmark("mine", "op", axes=("num_rows",), methods=("dense",))\ndef run(trial):\n'
    plugin(tmp_path, "own.py", OWN + run + '    return {"device": "cpu", "one": 1.0, "two": 2.0}\n' + metrics)
    (tmp_path / "own.yaml").write_text("benchmark: mine\nmethods: [dense]\nbaseline: dense\n")
    done = command(["-m", "bench_engine", "run", "own.yaml", "--plugin", "own.py", "-p", "metrics=one"], tmp_path)
    assert "1 trials have results." in done.stdout, done.stdout + done.stderr
