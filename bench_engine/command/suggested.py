"""The command `suggest`: what to use for a budget in MB on some data."""

import argparse
import json
import sys

from bench_engine.command import after_run
from bench_engine.compare.sides import UsageError
from bench_engine.report import reported
from bench_engine.run import runner
from bench_engine.suggest import suggest, suggest_text


def suggest_table(options: argparse.Namespace) -> int:
    """Returns the exit status: 0 something is suggested, 1 nothing was measured that keeps the budget, 130 stopped."""
    asked = suggest.Asked(
        options.budget_mb,
        options.data,
        options.label,
        options.fields,
        options.liked,
        options.time,
        options.dim,
        options.methods or suggest.Asked.methods,
        options.seeds,
        options.lookups,
    )
    after_run.check_out(options.out)
    suggest.check_time_limit(options.time_limit)
    how = runner.Options(url=options.db, retry_failed=options.retry_failed, wait=options.wait)
    search = suggest.planned(asked, how)
    if options.plan:
        if options.form not in ("text", "json"):
            raise UsageError(f"--plan is told as text or json, not as {options.form}.")
        lines = suggest_text.plan_lines(search, options.time_limit)
        text = (json.dumps(suggest_text.plan_json(search)) if options.form == "json" else "\n".join(lines)) + "\n"
        if options.out is None:
            sys.stdout.write(text)
        else:
            reported.write(text, options.out)
        return 0

    def say(sentence: str) -> None:
        print(sentence, file=sys.stderr, flush=True)

    try:
        found = suggest.carried_out(search, options.time_limit, how, say)
    except KeyboardInterrupt as stopped:
        print(f"Cancelled: {stopped}", file=sys.stderr)
        return 130
    text = suggest_text.rendered(found, options.form, after_run.terminal()[0])
    if options.out is None:
        sys.stdout.write(text)
    else:
        reported.write(text, options.out)
        print(f"{found.data}: written to {options.out}.", file=sys.stderr)
    return 0 if found.chosen or found.dense_fits else 1
