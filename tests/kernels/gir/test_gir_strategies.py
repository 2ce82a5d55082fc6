"""What a strategy makes of a kernel, as text: loops of bags apart, rows fetched ahead; and where large outputs lie."""

import re
from pathlib import Path

import pytest
import torch

from bench_engine.kernels import gir
from bench_engine.kernels.gir.cpu.calibration import Machine
from bench_engine.kernels.gir.cpu.codegen import function
from bench_engine.kernels.gir.cpu.cost import predict
from bench_engine.kernels.gir.cpu.strategy import WHOLE, Strategy, bytes_looked_up, falls_apart, schedule
from bench_engine.kernels.gir.program.ir import loops
from bench_engine.kernels.gir.program.text import parse, to_text
from bench_engine.kernels.gir.program.traffic import Caches, traffic

BAG = """  par n{0} < 16 {{
      reduce l{0} < 4 {{
        %{0}0 = load i{0}[4*b + l{0}]
        %{0}1 = row %{0}0 5000.0
        %{0}2 = load w{0}[16*%{0}1 + n{0}]
        %{0}3 = reduce_sum %{0}2
      }}
      store y[32*b + n{0} + {1}], %{0}3
    }}
"""
BAGS = f"""kernel bags {{
  input i1: i64[B, 4]
  input i2: i64[B, 4]
  input w1: f32[5000, 16]
  input w2: f32[5000, 16]
  output y: f32[B, 32]
  par b < B {{
  {BAG.format(1, 0)}  {BAG.format(2, 16)}  }}
}}
"""
SEEN = """kernel k {
  input x: f32[B, 8]
  output y: f32[B, 16]
  temp t: f32[8] in L1
  par b < B {
    par n < 8 {
      %0 = load x[8*b + n]
      store t[n], %0
      store y[16*b + n], %0
    }
    par m < 8 {
      %1 = load t[m]
      store y[16*b + m + 8], %1
    }
  }
}
"""


def scheduled(**chosen: int) -> str:
    return to_text(schedule(parse(BAGS), Strategy(8, unroll=1, grain=0, **chosen)))


def test_bags_that_need_nothing_of_one_another_run_apart() -> None:
    assert falls_apart(parse(BAGS))
    assert scheduled(apart=64) == scheduled().replace("par b < B {", "par b < B tile 64 {")
    source = function(schedule(parse(BAGS), Strategy(8, apart=64)))
    assert source.count("for (int64_t b = tile; b < stop; ++b)") == 2
    assert str(WHOLE) in scheduled(apart=WHOLE)


def test_loops_that_share_what_is_in_the_cache_of_one_row_stay_together() -> None:
    assert not falls_apart(parse(SEEN))
    assert not falls_apart(parse(SEEN.replace("temp t: f32[8] in L1", "temp t: f32[8]")))


def test_rows_of_later_ids_are_fetched() -> None:
    found = scheduled(ahead=3)
    for table in "12":
        peeked = re.search(rf"(%\d+) = peek i{table}\[4\*b \+ l{table} \+ 3\]", found)
        assert peeked
        assert f"prefetch w{table}[16*{peeked[1]} + n{table}]" in found
    assert parse(found) == schedule(parse(BAGS), Strategy(8, unroll=1, grain=0, ahead=3))
    assert bytes_looked_up(parse(BAGS)) == 2 * 5000 * 16 * 4


def test_what_is_computed_from_an_id_is_computed_for_the_later_one() -> None:
    hashed = BAGS.replace("%11 = row %10 5000.0", "%14 = imul %10 3.0\n%15 = irem %14 5000.0\n%11 = row %15 5000.0")
    found = to_text(schedule(parse(hashed), Strategy(8, ahead=3)))
    assert found.count("imul") == found.count("irem") == 2
    assert found.count("row ") == 2  # the later ones are checked in their turn


@pytest.mark.parametrize(
    "other",
    [
        BAGS.replace("input i1: i64[B, 4]", "input i1: i64[B, 4] strides [8, 1]"),  # of which no one knows the end
        BAGS.replace("load i1[4*b + l1]", "load_or i1[4*b + l1], 0.0"),
    ],
)
def test_ids_of_unknown_places_are_not_peeked_at(other: str) -> None:
    assert bytes_looked_up(parse(other)) == 5000 * 16 * 4


PRODUCT = """kernel k {
  input x: f32[B, 6, 8]
  input i: i64[4]
  temp t: f32[48] in L1
  temp p: f32[36] in L1
  output y: f32[B, 4]
  par b < B {
    par n < 48 {
      %0 = load x[48*b + n]
      %1 = exp %0
      store t[n], %1
    }
    par m < 6 {
      par l < 6 {
        reduce k < 8 {
          %2 = load t[8*m + k]
          %3 = load t[k + 8*l]
          %4 = mul %2 %3
          %5 = reduce_sum %4
        }
        store p[6*m + l], %5
      }
    }
    par q < 4 {
      %6 = load i[q]
      %7 = row %6 36.0
      %8 = gather p[%7]
      store y[4*b + q], %8
    }
  }
}
"""


def test_products_of_what_lies_in_a_cache_take_vectors_along_their_columns() -> None:
    product = next(loop for loop in loops(schedule(parse(PRODUCT), Strategy(8)).body) if loop.axis == "l")
    assert product.vec == 8


def test_what_lies_in_a_cache_is_not_fetched_ahead() -> None:
    text = to_text(schedule(parse(PRODUCT), Strategy(8, ahead=32)))
    assert "prefetch" not in text
    assert "prefetch" in to_text(
        schedule(parse(PRODUCT.replace("temp p: f32[36] in L1", "temp p: f32[36]")), Strategy(8, ahead=32))
    )


def test_neither_moves_more_bytes() -> None:
    before = traffic(schedule(parse(BAGS), Strategy(8)), 4096)
    assert traffic(schedule(parse(BAGS), Strategy(8, apart=WHOLE, ahead=32)), 4096) == before


def test_the_model_sees_what_they_save() -> None:
    speeds = {"L1": 5e4, "L2": 3e4, "L3": 4e4, "memory": 4e4}
    machine = Machine(speeds, speeds, 1, Caches(l2=1 << 18, l3=1 << 23))
    plain, ahead, apart = (
        predict(schedule(parse(BAGS), Strategy(8, grain=0, **chosen)), 65536, 1, machine)
        for chosen in ({}, {"ahead": 32}, {"apart": WHOLE})
    )
    assert ahead < plain
    assert apart < plain


@pytest.mark.skipif(not Path("/sys/kernel/mm/transparent_hugepage/enabled").exists(), reason="no huge pages here")
def test_large_outputs_are_mapped_in_huge_pages() -> None:
    x = torch.ones(1 << 24)
    call = gir.compile(lambda x: torch.sigmoid(torch.sigmoid(x) * 2 - 1) * x, [x])
    assert call.decisions()[0].winner
    result = call(x)
    assert "hg" in flags_of(result.data_ptr() + result.nbytes // 2)


@pytest.mark.parametrize("elements", [1 << 22, 3 << 17])
def test_memory_of_large_outputs_is_used_again_when_it_is_given_back(elements: int) -> None:
    x = torch.ones(elements)
    call = gir.compile(lambda x: torch.sigmoid(torch.sigmoid(x) * 2 - 1) * x, [x])
    assert call.decisions()[0].winner
    one, two = call(x), call(x)
    assert one.data_ptr() != two.data_ptr()
    place, wanted = one.data_ptr(), two.clone()
    del one
    three = call(x)
    assert three.data_ptr() == place
    assert torch.equal(three, wanted)
    three.resize_(2 * elements)  # as any tensor
    assert torch.equal(three[:elements], wanted)
    del three
    held = [call(x) for _ in range(20)]
    places = {result.data_ptr() for result in held}
    assert len(places) == 20
    del held
    assert sum(bool(flags_of(place)) for place in places) <= 8


def flags_of(address: int) -> list[str]:
    """Of the memory there, hg where a program has asked for huge pages; none where nothing is mapped."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(found[1], 16) <= address < int(found[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return line.split()[1:]
    return []


def test_a_kernel_without_values_looks_nothing_up() -> None:
    text = "kernel k {\n output y: f32[B]\n par b < B {\n store y[b], 0.0\n }\n}\n"
    assert bytes_looked_up(parse(text)) == 0


def test_loops_that_store_integers_are_no_vectors() -> None:
    text = """kernel k {
      input i: i64[B]
      output y: f32[B, 4]
      temp t: i64[4] in L1
      par b < B {
        %0 = load i[b]
        %1 = irem %0 9.0
        par n < 4 {
          store t[n], %1
        }
        par m < 4 {
          %2 = load t[m]
          %3 = float %2
          store y[4*b + m], %3
        }
      }
    }"""
    assert {loop.vec for loop in loops(schedule(parse(text), Strategy(8)).body)} == {1}


def test_offsets_of_copies_are_of_64_bits() -> None:
    text = """kernel k {
      input x: f32[64, 50000000]
      output y: f32[50000000, 64]
      par b < 50000000 {
        par n < 64 vec 16 unroll 4 {
          %0 = load x[50000000*n + b]
          store y[64*b + n], %0
        }
      }
    }"""
    assert " + 2400000000" in function(parse(text))


def test_steps_that_grow_with_the_batch_stay_two_loops() -> None:
    text = """kernel k {
      input d: f32[B] strides [B+1]
      input a: f32[8, B]
      output y: f32[8, B]
      par n < 8 {
        par b < B {
          %0 = load d[B+1*b]
          %1 = load a[B*n + b]
          %2 = mul %0 %1
          store y[B*n + b], %2
        }
      }
    }"""
    assert len(list(loops(schedule(parse(text), Strategy(8)).body))) == 2
