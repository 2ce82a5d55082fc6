"""The whole flow: question in, answer out, on seeded results through the real guard and sandbox."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from db import settings
from db.installation import ROOT
from mirror.answer.answer import Answer
from mirror.answer.answering import ask, run_sql, to_json
from mirror.data.process.sandbox import Sandbox
from mirror.faces.command import main
from mirror.model.llm import Declined, LlmError, LlmFrontEnd, LlmReading
from mirror.query.spec import Filter, Metric, Order, QuerySpec


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MIRROR_LLM_BASE_URL", "MIRROR_LLM_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def rows(answer: Answer) -> list[dict[str, object]]:
    assert answer.status == "answered", answer.summary
    assert answer.table
    return [dict(zip(answer.table.names, row, strict=True)) for row in answer.table.rows]


def test_the_main_question(box: Sandbox, results_file: Path) -> None:
    answer = ask("memory vs AUC at compression 0.1", sandbox=box)
    found = rows(answer)
    assert answer.chart
    assert (answer.chart.type, answer.chart.x, answer.chart.y, answer.chart.color) == (
        "scatter",
        "memory_mb",
        "auc",
        "method",
    )
    # 4 methods x 3 seeds x 3 data sets, dense being the reference at compression 1
    assert len(found) == 36
    assert {(r["method"], r["compression"]) for r in found} == {
        ("dense", 1.0), ("hashed", 0.1), ("quotient_remainder", 0.1), ("small_dim", 0.1),
    }  # fmt: skip
    with duckdb.connect(str(results_file), read_only=True) as shell:  # the SQL runs unchanged on the file itself
        assert answer.sql
        assert len(shell.execute(answer.sql).fetchall()) == 36
    assert "quotient_remainder" in answer.summary


@pytest.mark.parametrize("unseen", ["\u00ad", "\u200b", "\u200f", "\u202e", "\u2066", "\ufeff"])
def test_characters_that_nobody_sees_are_no_part_of_a_question(unseen: str, box: Sandbox) -> None:
    answer = ask(f"{unseen}AUC by met{unseen}hod{unseen}", sandbox=box)
    assert rows(answer) == rows(ask("AUC by method", sandbox=box))
    assert answer.question == "AUC by method"
    assert ask(unseen, sandbox=box).summary.startswith("Ask something")


def test_best_under_a_constraint_is_made_per_data_set(box: Sandbox) -> None:
    found = rows(ask("which method has the best AUC under 1 MB?", sandbox=box))
    assert [r["dataset"] for r in found] == ["frappe", "ml-206k", "synthetic"]
    assert {r["method"] for r in found} == {"quotient_remainder"}
    assert {r["n"] for r in found} == {3}


def test_line_over_compression(box: Sandbox) -> None:
    answer = ask("AUC by compression for hashed as a line chart", sandbox=box)
    assert answer.chart
    assert (answer.chart.type, answer.chart.x, answer.chart.y) == ("line", "compression", "auc")
    assert len(rows(answer)) == 9
    assert {r["n"] for r in rows(answer)} == {3, 2}  # one frappe trial failed
    assert "1 failed trial" in answer.summary


def test_fastest_lookups(box: Sandbox) -> None:
    found = rows(ask("top 5 fastest lookups", sandbox=box))
    times = [r["latency_us"] for r in found]
    assert len(found) == 5
    assert times == sorted(times)
    assert (found[0]["method"], found[0]["latency_us"]) == ("dense", 10.0)


def test_average_by_two_dimensions(box: Sandbox) -> None:
    answer = ask("average latency by method and batch size", sandbox=box)
    assert answer.chart
    assert answer.chart.type == "line"
    assert answer.chart.x == "batch_size"
    assert len(rows(answer)) == 4 * 3 * 2  # dims are not averaged over


def test_failed_trials_are_counted_without_skipped_ones(box: Sandbox) -> None:
    answer = ask("how many trials failed?", sandbox=box)
    assert rows(answer) == [{"trials": 1}]
    assert answer.chart
    assert answer.chart.type == "tiles"


def test_compare_two_methods(box: Sandbox) -> None:
    found = rows(ask("compare hashed and dense at dim 16", sandbox=box))
    assert {r["method"] for r in found} == {"hashed", "dense"}
    assert all(r["auc"] and r["memory_mb"] and r["latency_us"] for r in found)


def test_slowest_method(box: Sandbox) -> None:
    found = rows(ask("slowest method at batch size 2048", sandbox=box))
    assert [(r["embedding_dim"], r["method"]) for r in found] == [(16, "hashed"), (64, "hashed")]


def test_scatter_over_every_compression(box: Sandbox) -> None:
    answer = ask("memory vs AUC for every compression as a scatter", sandbox=box)
    assert answer.chart
    assert answer.chart.type == "scatter"
    assert {r["compression"] for r in rows(answer)} == {1.0, 0.5, 0.1, 0.02}


def test_refusal_names_what_is_known(box: Sandbox) -> None:
    answer = ask("salary per hour of hashed", sandbox=box)
    assert answer.status == "refused"
    assert "salary" in answer.summary
    assert "AUC" in answer.summary
    assert answer.suggestions


@pytest.mark.parametrize("question", ["", "   ", "\n", "a" * 10_000, "哪种方法最快", "\x00\x1b[31m", "؟" * 50])
def test_unaskable_questions_are_refused_in_a_sentence(question: str, box: Sandbox) -> None:
    answer = ask(question, sandbox=box)
    assert answer.status == "refused"
    assert answer.summary
    assert len(answer.summary) < 700
    assert answer.suggestions


def test_a_long_question_says_how_long(box: Sandbox) -> None:
    assert "10,000" in ask("a" * 10_000, sandbox=box).summary


def test_sql_as_a_question_goes_through_the_guard(box: Sandbox) -> None:
    answer = ask("select method, avg(auc) as auc from results where auc is not null group by method", sandbox=box)
    assert answer.engine == "sql"
    assert len(rows(answer)) == 4
    assert ask("SELECT * FROM read_csv('/etc/passwd')", sandbox=box).status == "refused"


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE results",
        "SELECT 1; SELECT 2",
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY results TO '/tmp/x.csv'",
        "ATTACH '/tmp/x.duckdb'",
        "WITH t AS (DELETE FROM results RETURNING *) SELECT * FROM t",
    ],
)
def test_refused_sql_says_one_sentence_and_the_next_question_answers(sql: str, box: Sandbox) -> None:
    answer = run_sql(sql, box)
    # DuckDB 1.5 cannot even parse DML in a CTE, so that one is an error in the SQL rather than a refusal.
    assert answer.status == ("error" if sql.startswith("WITH") else "refused")
    assert answer.table is None
    assert answer.summary.count("\n") == 0
    assert answer.summary
    assert ask("how many trials failed?", sandbox=box).status == "answered"


def test_edited_sql_gets_chart_and_sentence_of_its_own(box: Sandbox) -> None:
    original = ask("memory vs AUC at compression 0.1", sandbox=box)
    assert original.sql
    edited = run_sql(original.sql + "\n  AND method <> 'dense'", box)
    assert len(rows(edited)) == 27
    assert edited.chart
    assert edited.chart.type == "scatter"


def test_wrong_sql_names_the_likely_column(box: Sandbox) -> None:
    answer = run_sql("SELECT aucc FROM results", box)
    assert answer.status == "error"
    assert "auc" in answer.summary


def test_a_dead_model_is_replaced_by_the_built_in_reader(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    monkeypatch.setenv("MIRROR_LLM_BASE_URL", f"http://127.0.0.1:{port}/v1")
    monkeypatch.setenv("MIRROR_LLM_MODEL", "any")
    answer = ask("top 5 fastest lookups", sandbox=box)
    assert answer.engine == "grammar"
    assert len(rows(answer)) == 5
    assert str(port) in answer.note
    assert "built-in reader" in answer.note


Model = Callable[[LlmReading | Exception], None]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    """Stands for a language model that is set up, and that reads every question as it is told here."""

    def says(outcome: LlmReading | Exception) -> None:
        def read(*_: object) -> LlmReading:
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr("mirror.answer.readers.configured", lambda: True)
        monkeypatch.setattr(LlmFrontEnd, "read", read)

    return says


def failing(error: LlmError | Declined) -> Exception:
    error.sent = "what was sent"
    return error


BEST = QuerySpec("best", (Metric("latency_us", "avg"),), order=(Order("latency_us"),))


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        (QuerySpec("rows", source="machines"), "answered"),
        (QuerySpec("rows", source="samples"), "answered"),
        (QuerySpec("best", (Metric("value"),), source="curves", order=(Order("value"),)), "answered"),
        (QuerySpec("count", filters=(Filter("method", "=", ("\x07",)),)), "refused"),
        (QuerySpec("groups", (Metric("duration_s", "sum"),), ("error",), source="failures"), "answered"),
        (QuerySpec("groups", (Metric("auc", "avg"),), filters=(Filter("started_at", ">", ("nonsense",)),)), "error"),
        (BEST, "ambiguous"),
    ],
    ids=str,
)
def test_whatever_a_model_answers_is_an_answer_and_shows_what_was_sent(
    spec: QuerySpec, status: str, box: Sandbox, model: Model
) -> None:
    model(LlmReading(spec, "what was sent"))
    answer = ask("which is fastest", sandbox=box)
    assert (answer.status, answer.engine, answer.sent) == (status, "llm", "what was sent"), answer.summary


def test_what_was_sent_is_shown_when_the_model_declines(box: Sandbox, model: Model) -> None:
    model(failing(Declined("no such thing")))
    answer = ask("memory vs AUC", sandbox=box)
    assert (answer.status, answer.engine, answer.sent) == ("refused", "llm", "what was sent")


@pytest.mark.parametrize(("question", "status"), [("top 5 fastest lookups", "answered"), ("the weather", "refused")])
def test_what_was_sent_is_shown_when_the_model_fails(question: str, status: str, box: Sandbox, model: Model) -> None:
    model(failing(LlmError("It broke.")))
    answer = ask(question, sandbox=box)
    assert (answer.status, answer.engine, answer.sent) == (status, "grammar", "what was sent")
    assert answer.note == "It broke. The built-in reader read the question instead."


def test_a_model_can_be_left_out(box: Sandbox, model: Model) -> None:
    model(AssertionError("the model was asked"))
    assert ask("top 5 fastest lookups", sandbox=box, use_model=False).status == "answered"


@pytest.mark.parametrize(
    "question",
    [
        "With dim 16, which AUC values does hashed reach",
        "with dim 16: AUC from hashed and values of dense",
        "select the fastest method",
        "Select the fastest lookups from sweep lookup",
        "from results which method has the best AUC",
        "values of AUC by method",
        "SELECT * FROM results?",
    ],
)
def test_questions_that_begin_like_sql_are_questions(question: str, box: Sandbox) -> None:
    assert ask(question, sandbox=box).engine == "grammar"


@pytest.mark.parametrize(
    ("sql", "status"),
    [
        ("SELECT DISTINCT method FROM results", "answered"),
        ("  select method\nfrom results", "answered"),
        ("FROM results", "answered"),
        ("from failures select status", "answered"),
        ("VALUES (1, 2)", "answered"),
        ("with t as (select 1 as x) select x from t", "answered"),
        ("SELECT 1 + 1;", "answered"),
        ("select nonsense from results", "error"),
        ("select method, auc form results", "error"),
        ("select count(* from results", "error"),
        ("with t as (select 1 as x select x from t", "error"),
        ("SELECT x FROM read_csv('/etc/passwd')", "refused"),
    ],
)
def test_sql_is_sql_slips_included(sql: str, status: str, box: Sandbox) -> None:
    answer = ask(sql, sandbox=box)
    assert (answer.engine, answer.status) == ("sql", status), answer.summary


@pytest.mark.parametrize(
    ("question", "failed"),
    [
        ("AUC by compression for hashed", True),
        ("AUC by compression for hashed in sweep memory_vs_auc", True),
        ("AUC by compression for hashed in sweep lookup", False),
        ("AUC by compression for hashed with memory under 5 MB", False),  # a failure has no memory to tell by
    ],
)
def test_failed_trials_are_counted_where_every_filter_can_be_applied(question: str, failed: bool, box: Sandbox) -> None:
    answer = ask(question, sandbox=box)
    assert ("1 failed trial is not shown" in answer.summary) == failed, answer.summary


def test_a_malformed_secrets_file_is_one_sentence(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "secrets.toml").write_bytes(b"MIRROR_DB = \xff")
    monkeypatch.setattr(settings, "ROOT", tmp_path)
    settings._secrets.cache_clear()
    answer = ask("top 5 fastest lookups", sandbox=box)
    assert answer.status == "error"
    assert answer.summary.startswith(".streamlit/secrets.toml cannot be read (")
    assert main(["ask", "top 5 fastest lookups"]) == 1
    assert ".streamlit/secrets.toml cannot be read" in capsys.readouterr().out


def test_command_line(results_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "memory vs AUC at compression 0.1", "--json", "--db", str(results_file)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["status"] == "answered"
    assert printed["engine"] == "grammar"
    assert printed["chart"] == {
        **printed["chart"], "type": "scatter", "x": "memory_mb", "y": "auc", "color": "method",
    }  # fmt: skip
    assert len(printed["rows"]) == 36
    assert main(["ask", "salary per hour of hashed", "--db", str(results_file)]) == 2
    assert "salary" in capsys.readouterr().out
    assert main(["ask", "select nonsense from results", "--db", str(results_file)]) == 1
    capsys.readouterr()
    assert main(["ask", "top 5 fastest lookups", "--db", str(results_file)]) == 0
    assert "dense" in capsys.readouterr().out


def test_json_holds_every_key_of_the_contract(box: Sandbox) -> None:
    keys = {"status", "read_as", "sql", "columns", "rows", "truncated", "chart", "summary", "suggestions", "engine"}
    for question in ("memory vs AUC at compression 0.1", "salary per hour", "best method"):
        found = to_json(ask(question, sandbox=box))
        assert keys <= set(found)
        json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        (
            "which machine is fastest for hashed in lookup",
            "Latency, from batch size 64 to batch size 2,048, rises steadily from 25 µs to 800 µs at dim 16; rises "
            "steadily from 100 µs to 3.20 ms at dim 64. Rests on 6 trials in 6 rows.",
        ),
        (
            "which machine is fastest for hashed in lookup at batch size 512 and dim 16",
            "Latency 200 µs for test machine at compression 0.1. Rests on 1 trial in 1 row.",
        ),
        ("top 3 slowest machines in lookup", ""),
        ("latency by machine in lookup", ""),
    ],
)
def test_one_machine_is_said_to_be_the_only_one(question: str, rest: str, box: Sandbox) -> None:
    answer = ask(question, sandbox=box)
    rows(answer)
    only = "There is one machine: test machine; there is no other to compare it with. "
    assert answer.summary.startswith(only), answer.summary
    assert "no compression" not in answer.summary
    if rest:
        assert answer.summary == only + rest


def test_a_refused_commit_comes_with_sql_that_works(box: Sandbox) -> None:
    refused = ask("p99 before and after commit 57e7d9e", sandbox=box)
    assert refused.status == "refused"
    sql = refused.summary[refused.summary.index("SELECT") :].rstrip(".")
    assert {row["code_version"] for row in rows(ask(sql, sandbox=box))} == {"abc"}


def test_a_reader_that_goes_away_is_no_error(results_file: Path) -> None:
    command = [sys.executable, "-m", "mirror", "ask", "latency by method of lookups", "--db", str(results_file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    assert process.stdout
    assert process.stderr
    process.stdout.close()  # before the answer is there
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) in (0, 2)
