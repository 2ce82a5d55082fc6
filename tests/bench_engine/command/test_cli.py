"""The command line: what it prints, its exit status, and one sentence for whatever goes wrong."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench_engine.command import cli
from bench_engine.command.cli import main, parser
from db import runs


def test_run_plan_list_ingest_pack_and_doctor(engine, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(engine.file("ok", "raise", seeds=2))
    assert main(["plan", path]) == 0
    assert "4 trials: 0 done, 0 cannot run, 4 to do in about 1 s." in capsys.readouterr().out
    assert main(["run", path, "-p", "seeds=1"]) == 4
    assert capsys.readouterr().out.startswith("Sweep fakes: 1 trials have results, 1 failed.\nThe last failure: fake")
    assert main(["plan", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [t["fate"] for t in found["trials"]] == ["done", "todo", "done", "todo"]
    assert [t["before"] for t in found["trials"]] == ["ok", "", "failed", ""]
    assert main(["ingest"]) == 0
    assert "0 trials added, 2 were already there." in capsys.readouterr().out
    assert main(["pack", str(engine.folder / "all.jsonl")]) == 0
    assert len((engine.folder / "all.jsonl").read_text().splitlines()) == 2
    assert capsys.readouterr().out == "2 trials packed into all.jsonl.\n"
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "x.duckdb: 2 trials" in out
    assert str(engine.folder) not in out


def test_pack_names_what_it_leaves_out(engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(engine.file("ok"))]) == 0
    (engine.journal / "aa-1.ok.json").write_text("half")
    capsys.readouterr()
    assert main(["pack", str(engine.folder / "all.jsonl")]) == 1
    said = capsys.readouterr()
    assert said.out == "1 trials packed into all.jsonl.\n"
    assert said.err.startswith("Left out: aa-1.ok.json: it is not whole JSON")
    assert (engine.journal / "aa-1.ok.json").exists()


def test_ingest_takes_the_examples_where_asked(engine, examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(engine.file("ok"))]) == 0
    (path,) = engine.journal.glob("*.json")
    path.rename(examples / path.name)
    Path(engine.url).unlink()
    capsys.readouterr()
    for arguments, added in (([], 0), (["--examples"], 1)):
        assert main(["ingest", *arguments]) == 0
        assert capsys.readouterr().out == f"{added} trials added, 0 were already there.\n"


def test_list_json_has_what_a_form_needs(engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    axes = {a["name"]: a for b in found["benchmarks"] if b["name"] == "lookup" for a in b["axes"]}
    assert axes["batch_size"]["type"] == "int"
    assert axes["direction"]["choices"] == ["forward", "forward_backward"]
    assert {"dense", "hashed"} <= {m["name"] for m in found["methods"]}
    assert {"quick", "tiny"} <= {s["name"] for s in found["sweeps"]}
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert "direction" in out
    assert "(1 to 1099511627776; default 100000)" in out


def test_every_command_of_the_parser_can_run() -> None:
    (commands,) = (a.choices for a in parser()._actions if a.dest == "==SUPPRESS==" or a.metavar == "COMMAND")
    words = {sub.get_default("command") for sub in commands.values()}
    assert words | {"rivals install", "data check"} == set(cli._COMMANDS)


def test_db_stands_before_or_after_the_command(engine, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--db", "foo://a:secret@b", "ingest"], ["ingest", "--db", "foo://a:secret@b"]):
        assert main(arguments) == 1
        complaint = capsys.readouterr().err
        assert "foo://a:***@b" in complaint
        assert "secret" not in complaint


@pytest.mark.parametrize(
    ("arguments", "words", "status"),
    [
        (["plan", "quik"], "did you mean quick?", 2),
        (["run", "nowhere.yaml"], "There is no sweep file nowhere.yaml.", 2),
        (["run", "tiny", "-p", "batchsize=1"], "did you mean batch_size?", 2),
        (["run", "tiny", "-p", "methods=densse"], "did you mean dense?", 2),
        (["run", "tiny", "-p", "batch_size=many"], "batch_size", 2),
        (["run", "tiny", "--run-id", "../x"], "run id '../x' cannot be used", 2),
        (["run", "tiny", "--baseline", "main"], "There is no baseline 'main'. There are none yet", 2),
        (["run", "tiny", "--save-baseline", "../x"], "A baseline cannot be called '../x'", 2),
        (["run", "tiny", "--fail-on", "slower:5%"], "name it with --baseline", 2),
        (["show"], "There is no run yet", 2),
        (["show", "nothing"], "There are no results at x.duckdb yet", 1),
        (["pack", "/nowhere/at/all.jsonl"], "There are no trials in x.journal/: nothing was written.", 1),
    ],
)
def test_user_errors_are_one_sentence_and_wrong_names_have_status_2(
    engine,
    arguments: list[str],
    words: str,
    status: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(engine.folder)
    assert main(arguments) == status
    complaint = capsys.readouterr().err
    assert words in complaint
    assert complaint.count("\n") == 1


@pytest.mark.parametrize(("deeds", "status"), [(("ok",), 0), (("ok", "raise"), 4), (("raise",), 1), (("skip",), 1)])
def test_the_exit_status_of_a_run_says_whether_all_have_results(
    engine, deeds: tuple[str, ...], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(engine.file(*deeds))
    for _ in range(2):  # the second time everything is done, or has failed before
        assert main(["run", path]) == status
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    assert "Exit status: 0 " in capsys.readouterr().out


def test_failures_of_before_are_said_with_a_way_out(engine, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(engine.file("ok", "raise"))
    main(["run", path])
    assert "failed before" not in capsys.readouterr().err
    main(["run", path])
    assert capsys.readouterr().err.splitlines()[-1] == (
        "1 trial failed before and was left alone; --retry-failed runs it again. "
        "The last of them: fake fake pooling_mode=raise: the table is too small: give more rows."
    )


def test_a_failure_that_is_on_the_screen_is_not_said_again(
    engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    assert main(["run", str(engine.file("raise"))]) == 1
    said = capsys.readouterr()
    assert said.out == "Sweep fakes: 0 trials have results, 1 failed.\n"
    assert (said.out + said.err).count("the table is too small") == 1


@pytest.mark.parametrize("arguments", [["plan"], ["run"], ["ingest"], ["pack"], ["export"]])
def test_an_empty_name_is_wrong_usage(
    engine, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(engine.folder)  # which it must not be taken for
    with pytest.raises(SystemExit) as caught:
        main([*arguments, ""])
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith(": a name or a path must be given, not an empty text\n")


@pytest.mark.parametrize("arguments", [[], ["fly"], ["run"], ["run", "tiny", "--executor", "moon"], ["compare", "a"]])
def test_wrong_usage_is_status_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def test_a_sweep_from_standard_input(engine) -> None:
    done = engine.command("plan", "-", "--json", given="name: mine\n" + engine.text("ok"))
    assert json.loads(done.stdout)["sweep"] == "mine"


def test_planning_imports_no_torch(engine) -> None:
    code = (
        "import sys; from bench_engine.command.cli import main; main(['plan', 'quick']); "
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_a_reader_that_goes_away_is_no_traceback(engine) -> None:
    process = engine.start("plan", engine.file("ok", seeds=5000))
    process.stdout.close()
    assert process.wait(timeout=60) == 1
    assert process.stderr.read() == ""
    process.stderr.close()


def test_ctrl_c_ends_with_130_and_the_same_command_goes_on(engine) -> None:
    path = engine.file("ok", "sleep")
    process = engine.start("run", path)
    wait_for(lambda: any(s.current and s.done == 1 for s in runs.read_all(engine.journal)))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == "Cancelled: 1 of 2 done; the same command goes on from here.\n"
    assert "Traceback" not in err
    assert len(engine.entries()) == 1
    (state,) = runs.read_all(engine.journal)
    assert (state.status, state.current) == ("cancelled", "")


def test_ctrl_c_while_planning_is_no_traceback(engine) -> None:
    process = engine.start("plan", "-")  # it waits for the sweep on standard input
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)
    assert process.returncode in (130, -signal.SIGINT)  # the latter where Python itself had not started yet
    assert "Traceback" not in process.communicate()[1]


def wait_for(condition, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def test_a_second_run_names_the_first(engine) -> None:
    path = engine.file("sleep")
    first = engine.start("run", path)
    wait_for(lambda: any(s.current for s in runs.read_all(engine.journal)))
    second = engine.command("run", path)
    assert second.returncode == 1
    assert f"Sweep fakes (process {first.pid}, since" in second.stderr
    os.kill(first.pid, signal.SIGTERM)
    first.communicate(timeout=30)
    assert first.returncode == 130


def test_journals_of_other_machines_are_ingested_for_good(engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(engine.file("ok"))]) == 0
    elsewhere = engine.folder / "laptop.journal"
    engine.journal.rename(elsewhere)
    shutil.rmtree(elsewhere / "runs")
    Path(engine.url).unlink()
    capsys.readouterr()
    for copied, known, added in ((1, 0, 1), (0, 1, 0)):
        assert main(["ingest", str(elsewhere)]) == 0
        said = capsys.readouterr().out
        assert f"{copied} trials copied into x.journal/, {known} were there already.\n" in said
        assert f"{added} trials added, {1 - added} were already there.\n" in said
    shutil.rmtree(elsewhere)
    Path(engine.url).unlink()
    assert main(["ingest"]) == 0
    assert len(engine.stored()) == 1
    assert main(["ingest", str(elsewhere)]) == 1
    assert capsys.readouterr().err.startswith("There is no ")


def test_ingest_names_what_it_leaves_out(engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(engine.file("ok"))]) == 0
    assert main(["pack", str(engine.folder / "all.jsonl")]) == 0
    with (engine.folder / "all.jsonl").open("a") as file:
        file.write("half")
    capsys.readouterr()
    assert main(["ingest", str(engine.folder / "all.jsonl")]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("Left out: line 2 of all.jsonl: it is not whole JSON")
    assert "0 trials added, 1 were already there." in said.out


def test_export_writes_a_view(engine, capsys: pytest.CaptureFixture[str]) -> None:
    target = engine.folder / "results.parquet"
    assert main(["export", str(target)]) == 1
    assert capsys.readouterr().err.startswith("There are no results at x.duckdb yet")
    assert main(["run", str(engine.file("ok", "raise"))]) == 4
    capsys.readouterr()
    for view in ("results", "failures"):
        assert main(["export", str(target), "--view", view]) == 0
        assert capsys.readouterr().out == f"1 rows of {view} written to results.parquet.\n"
        assert pq.read_table(target).num_rows == 1
    assert main(["export", str(engine.folder / "x.csv")]) == 1
    assert "does not end in .parquet" in capsys.readouterr().err


def test_the_version_and_where_an_error_comes_from(engine, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("mirror-bench ")
    for arguments in (["-v", "plan", "quik"], ["plan", "quik", "-v"]):
        assert main(arguments) == 2
        assert "Traceback" in capsys.readouterr().err


def test_kernels_are_compiled_ahead_for_the_methods_that_are_asked_for(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[set[str]] = []
    monkeypatch.setattr(cli, "build_ahead", lambda names, _say: asked.append(names))
    assert main(["run", str(engine.file("ok")), "-p", "methods=fake_dense"]) == 0
    assert asked == [{"fake_dense"}]


def test_help_says_which_columns_are_no_fields(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["suggest", "--help"])
    assert "index that pandas writes" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--probability", "a probability from 0.5"),
        ("--least", "a percentage such as 2"),
        ("--last", "a whole number from 2"),
    ],
)
def test_a_number_of_track_that_is_none_is_told_in_words(
    option: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["track", "quick", option, "abc"])
    told = capsys.readouterr().err
    assert said in told
    assert "invalid _" not in told
