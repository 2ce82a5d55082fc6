"""Who reads the questions that Mirror is asked: methods of the benchmark answering."""

from functools import partial

from bench_engine.methods.method import Method, by_name

# All that an answer comes from.
_reader = partial(Method, implementation="mirror.evaluation.runner:run", compressible=False, sources=("mirror", "db"))

READERS = by_name(
    _reader("grammar", "Mirror's embedded readers read the questions"),
    _reader(
        "llm", "the language model that is configured reads the questions; --force runs them anew with another one"
    ),
)
