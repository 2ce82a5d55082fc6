"""Questions with known answers, asked of Mirror itself by its command line: how many it answers right, and how fast.

A sample is the time of one answer; what the results take to load is not in it. What is asked, and what is right, stands
in docs/evaluation.md. The method is the front end that reads the questions. A trial is one turn: single answers of two
front ends do not take turns.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from bench_engine.measure.measure import outliers, summarize
from bench_engine.trial import Run, Trial, TrialResult
from db.installation import python_path

_LLM = "llm"
_NO_MODEL = 2  # exit status of the command where no language model is configured
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def run(trial: Trial) -> Run:
    """Ask all questions in one turn. `skipped` where a language model is to read them and none is configured."""
    if not (yield "more"):
        return TrialResult("failed", error="It was ended before a question was asked.")
    # The result ends the turn: memory that this process takes is not Mirror's, and is not to be reported.
    done = subprocess.run(
        _command(trial),
        env={**os.environ, "PYTHONPATH": python_path()},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_dying_with_this(),
    )
    if done.returncode == 0:
        return _result(json.loads(done.stdout), trial)
    said = done.stderr.strip().splitlines() or [f"Mirror ended with exit status {done.returncode} and said nothing."]
    skipped = trial.method == _LLM and done.returncode == _NO_MODEL
    return TrialResult("skipped" if skipped else "failed", error=said[-1])


def _command(trial: Trial) -> list[str]:
    category, questions = str(trial.config["category"]), str(trial.config["question_set"])
    words = [sys.executable, "-P", "-m", "mirror", "eval", "--json", "--engine", trial.method]
    words += [] if questions == "all_questions" else ["--questions", questions]
    return words + ([] if category == "all_categories" else ["--category", category])


def _dying_with_this() -> Callable[[], object] | None:
    """What has the command end with this process, whatever ends that: nobody would read it, and it would disturb the
    trials after it (Linux only)."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)  # loaded here, since little is safe to do between fork and exec
    return lambda: library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _result(report: dict[str, Any], trial: Trial) -> TrialResult:
    """The result of what `python -m mirror eval --json` printed."""
    total = report["tallies"][0]
    low, high = total["intervals"]["right"]
    samples = tuple(1e6 * s for s in report["seconds"])
    if not samples:
        return TrialResult("skipped", error="There is no question of this category and question set.")
    if trial.method == _LLM and total["fallbacks"] == len(samples):
        return TrialResult(
            "failed",
            error="The language model read none of the questions, so the grammar did: see to its server and run this "
            "again with --retry-failed (docs/settings.md).",
        )
    shares = {
        "right_share": total["right"] / total["n"],
        "right_ci_low": low,
        "right_ci_high": high,
        "wrong_share": total["wrong"] / total["n"],
        "chart_share": total["charts_right"] / total["charts"] if total["charts"] else None,
        "question_count": total["n"],
    }
    counts = {name: total[name] for name in ("refused", "asked_back", "error", "narrowed", "fallbacks")}
    return TrialResult(
        "ok",
        {**shares, **summarize(samples, seed=int(trial.config["seed"]))},
        samples,
        stop_reason="fixed_count",
        turn_sizes=(len(samples),),
        environment={
            "questions": counts,
            "model": report["model"],
            "outliers": outliers(samples),
        },
    )
