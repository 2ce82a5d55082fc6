"""A question in plain words becomes SQL, a table, a chart and a sentence. Knows the results; never runs a kernel."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "ask":  # loaded on first use: `import mirror` stays cheap
        from mirror.answer.answering import ask

        return ask
    raise AttributeError(name)
