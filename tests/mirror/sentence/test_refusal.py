"""Refusals in two short lines, and nothing lost."""

from mirror.sentence.refusal import Refused, two_lines

LIST = ", ".join(f"metric number {i}" for i in range(30))


def test_what_is_short_stays_as_it_is() -> None:
    assert two_lines("Nothing is known of it.") == Refused("Nothing is known of it.")
    assert two_lines("It is unknown. Ask for AUC.") == Refused("It is unknown.", "Ask for AUC.")


def test_a_long_list_is_cut_between_its_parts_and_kept_whole_beside() -> None:
    told = f"The results say nothing about “salary”. Known are {LIST}."
    found = two_lines(told)
    assert found.first == "The results say nothing about “salary”."
    assert found.second.startswith("Known are metric number 0, ")
    assert found.second.endswith(" and more.")
    assert len(found.second) < 140
    assert found.whole == told


def test_numbers_do_not_end_a_sentence() -> None:
    assert two_lines("At compression 0.1 no trial is there. Ask for 0.5 instead.").first.endswith("is there.")
