"""Answer: what `ask` returns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mirror.answer.proposal import Proposal
from mirror.chart.chart_spec import ChartSpec
from mirror.query.kept.habits import Habit
from mirror.query.spec import QuerySpec, Wanted
from mirror.query.token_count import NO_TOKENS, Tokens
from mirror.runs.run_plan import RunPlan
from mirror.table.table import Table

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from mirror.query.agreement import Agreement
    from mirror.query.other_data.form import Asked
    from mirror.sentence.headline import Headline


@dataclass(frozen=True, repr=False)
class Answer:
    """What `ask` returns: its data, and ways to show them. What those need is loaded when they are used.

    Attributes:
        status: answered, ambiguous (a question back, see suggestions), action (see plan), refused, or error.
        question: the question as asked.
        read_as: how it was read, in words.
        sql: the statement that ran, or None.
        table: the result, or None.
        chart: which chart, or None.
        summary: the sentence; for a refusal or an error, what was not understood and what to do.
        suggestions: questions to click.
        proposals: of other data, the readings among them: asked again after this answer, each is taken as it was meant.
        engine: grammar, llm, saved for a question that was saved with its SQL, or sql for SQL that was asked or edited.
        spec: the QuerySpec behind the SQL; None for edited SQL.
        asked: the same before it was completed with what the results leave open: what a follow-up question changes.
        wanted: of a question about other data, what chart and sentence know of it.
        form: the form of a question about other data: what a follow-up question changes.
        plan: for an action: what would be run. Nothing runs until a person starts it.
        note: what the person must know besides (the language model did not answer ...).
        sent: what a language model was sent for it, word for word; empty when none was asked.
        tokens: what that took.
        agreement: whether the built-in reader reads it as the language model did; None where it was not compared.
        teaches: whether a choice of what it offers is learnt: not where the question changes the one before.
        learnt: what was learnt before and bears on it, or was learnt by it.
    """

    status: Literal["answered", "ambiguous", "action", "refused", "error"]
    question: str
    read_as: str = ""
    sql: str | None = None
    table: Table | None = None
    chart: ChartSpec | None = None
    summary: str = ""
    suggestions: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    engine: Literal["grammar", "llm", "saved", "sql"] = "grammar"
    spec: QuerySpec | None = None
    asked: QuerySpec | None = None
    wanted: Wanted | None = None
    form: "Asked | None" = None
    plan: RunPlan | None = None
    note: str = ""
    sent: str = ""
    tokens: Tokens = NO_TOKENS
    agreement: "Agreement | None" = None
    teaches: bool = True
    learnt: tuple[Habit, ...] = ()

    def forget(self) -> bool:
        """Take back what was learnt and bears on this answer; whether there was anything. Raises LearntError."""
        return sum(habit.forget() for habit in self.learnt) > 0

    def headline(self) -> "Headline":
        """The one line that answers, with the few facts under it; without rows the summary."""
        from mirror.sentence.headline import Headline, headline  # here, since the command line needs none

        if self.status != "answered" or self.table is None:
            return Headline(self.summary)
        return headline(self.table, self.spec or self.wanted, self.chart, self.summary)

    def figure(self, columns: int | None = None) -> "go.Figure | None":
        """The chart as a Plotly figure, with panels side by side as given; None where there is none."""
        from mirror.chart.draw.figure import draw  # here, since Plotly is slow to load

        return draw(self.table, self.chart, columns) if self.table and self.chart else None

    def frame(self) -> "pd.DataFrame":
        """The rows as a pandas DataFrame; without rows and columns where there is no result."""
        from mirror.answer.notebook import frame

        return frame(self.table)

    def __repr__(self) -> str:
        from mirror.answer.as_text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from mirror.answer.notebook import html

        return html(self)

    def _ipython_display_(self) -> None:
        from mirror.answer.notebook import display

        display(self)
