"""Facts and rules of charts: each rule has a name and a reason, and the last one takes whatever is left."""

from result_tables import TRADE_OFF, by_batch, trade_off

from mirror.chart.drawable import fits
from mirror.chart.facts import facts_of
from mirror.chart.rules import RULES, chosen
from mirror.query.spec import Metric, QuerySpec
from mirror.schema.result_columns import result_table
from mirror.table.table import plain_table


def first(table, spec=None):
    facts = facts_of(table, spec)
    rules = (r for r in RULES if r.applies(facts) and not fits(r.encode(facts), table))
    return next(rules).name


def test_facts_hold_what_differs_in_the_order_of_the_columns():
    facts = facts_of(by_batch())
    assert (facts.keys, facts.parameters, facts.metrics) == (("method", "batch_size"), ("batch_size",), ("latency_us",))
    assert (facts.rival, facts.lead, facts.shape, facts.size("method")) == ("method", None, None, 2)
    assert facts.few(facts.keys, 2) == ["method"]


def test_facts_know_what_was_asked_for():
    facts = facts_of(trade_off("frappe"), TRADE_OFF)
    assert (facts.shape, facts.asked, facts.roles.raw) == ("points", ("memory_mb", "auc"), True)


def test_other_data_has_no_rival():
    assert facts_of(plain_table(("method", "amount"), [("a", 1), ("b", 2)])).rival is None


def test_every_rule_has_a_name_and_says_why():
    assert len({r.name for r in RULES}) == len(RULES)
    assert all(r.why.endswith(".") for r in RULES)


def test_the_first_rule_that_fits_wins():
    assert first(trade_off("frappe"), TRADE_OFF) == "two metrics of trials"
    assert first(by_batch()) == "course"
    assert first(plain_table(("city", "amount"), [("a", 1.5), ("b", 2.5)])) == "names"
    assert first(plain_table(("amount",), [(1.5,)])) == "one row"


def test_the_last_rule_takes_what_is_left():
    assert first(result_table(("auc",), ((0.5,), (0.6,)))) == RULES[-1].name
    assert chosen(facts_of(result_table(("auc",), ((0.5,), (0.6,))))).type == "table"


def test_a_rule_whose_chart_cannot_be_drawn_leaves_the_result_to_others():
    table = result_table(("memory_mb", "method", "auc"), ((None, "a", 0.5), (None, "b", 0.6)))
    spec = QuerySpec("front", (Metric("auc"), Metric("memory_mb")), ("method",))
    assert first(table, spec) == "names"
