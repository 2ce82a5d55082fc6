"""The list of all trials and the story of one."""

import pytest

from mirror.data.process.sandbox import Sandbox
from mirror.runs import listing
from mirror.runs.listing import PAGE, choices, details, listed, trials


def test_every_trial_is_listed_failures_with_reasons(box: Sandbox) -> None:
    table = trials(box, {})
    statuses = table.values("status")
    assert len(table.rows) == box.schema().rows("history") + box.schema().rows("failures")
    assert statuses.count("failed") == 1
    assert "the loss is not finite" in table.values("error")


def test_only_columns_that_differ_are_shown(box: Sandbox) -> None:
    table = trials(box, {"benchmark": ["lookup"], "method": ["hashed"]})
    assert set(table.values("method")) == {"hashed"}
    assert "batch_size" in table.names
    assert "num_rows" not in table.names  # the same in every lookup
    assert "auc" not in table.names
    assert table.names[-1] == "trial_id"


def test_filters_offer_what_there_is(box: Sandbox) -> None:
    found = choices(box)
    assert found["status"] == ["failed", "ok", "skipped"]
    assert found["dataset"] == ["frappe", "ml-206k", "synthetic"]


def test_hostile_filter_values_select_nothing(box: Sandbox) -> None:
    assert trials(box, {"method": ["' OR 1=1 --"]}).rows == ()


def test_details_hold_samples_and_curves(box: Sandbox) -> None:
    trial_id = str(trials(box, {"benchmark": ["training"], "status": ["ok"]}).rows[0][-1])
    story = details(box, trial_id)
    assert {c.name: v for c, v in story.values}["trial_id"] == trial_id
    assert [row[1] for row in story.samples.rows] == [1.0, 2.0]
    assert story.curves.rows == (("loss", 1, 0.5),)
    assert details(box, "no such trial").values == ()


def test_pages_hold_every_trial_once_and_results_stand_first(box: Sandbox) -> None:
    first = listed(box, {})
    assert first.total == box.schema().rows("history") + box.schema().rows("failures")
    assert first.without == box.schema().rows("failures")
    pages = [listed(box, {}, page).table for page in range(1, -(-first.total // PAGE) + 1)]
    ids = [row[-1] for table in pages for row in table.rows]
    assert len(ids) == len(set(ids)) == first.total
    assert max(len(table.rows) for table in pages) <= PAGE
    names = first.table.names
    assert names.index("auc") < names.index("latency_us") < names.index("compression")
    assert listed(box, {"method": ["nobody"]}).total == 0


def test_all_trials_are_brought_however_many_come_at_once(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    every = trials(box, {})
    monkeypatch.setattr(listing, "_ROW_CAP", 7)
    parted = trials(box, {})
    assert parted.rows == every.rows
    assert len(every.rows) > 14
    assert trials(box, {"method": ["nobody"]}).rows == ()
