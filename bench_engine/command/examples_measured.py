"""The command `examples`: measures the example results that are shipped with the code anew."""

import argparse
import json
import sys
from dataclasses import asdict

from bench_engine.run import runner
from bench_engine.shipped import anew


def measure_examples(options: argparse.Namespace) -> int:
    """Returns the exit status: 0 all files are replaced or planned, 4 some are left as they were, 130 stopped."""
    place = anew.Place.usual(options.work)
    recipes = anew.chosen(options.files)
    planned = anew.plan(recipes, place, options.retry_failed)
    if options.json:
        print(json.dumps([{**asdict(file), "seconds": file.seconds} for file in planned]))
        return 0
    print(*anew.lines(planned, place), sep="\n", flush=True)
    if options.plan:
        return 0

    def say(sentence: str) -> None:
        print(sentence, file=sys.stderr, flush=True)

    how = runner.Options(retry_failed=options.retry_failed, wait=options.wait, verbose=options.verbose)
    try:
        return 0 if anew.run(recipes, place, how, say, options.fewer) else 4
    except KeyboardInterrupt as stopped:
        print(f"Cancelled: {stopped}", file=sys.stderr)
        return 130
