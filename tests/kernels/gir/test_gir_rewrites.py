"""Each rewrite as GIR before and after, and for random graphs that none adds bytes at any level."""

import random
from dataclasses import replace

import pytest
from generated import naive
from test_gir_fuzz import graph

from bench_engine.kernels.gir.program import rewrites
from bench_engine.kernels.gir.program.ir import Kernel
from bench_engine.kernels.gir.program.text import parse, to_text
from bench_engine.kernels.gir.program.traffic import LEVELS, Caches, traffic

HEAD = """
kernel k {
  input x: f32[B, 8]
  output y: f32[B, 8]
"""


def texts(before: str, after: str) -> tuple[Kernel, str]:
    return parse(f"{HEAD}{before}\n}}"), to_text(rewrites.numbered(parse(f"{HEAD}{after}\n}}")))


ONE_EACH = {
    "fuse_producer": (
        rewrites.fuse_producer,
        """temp t: f32[B, 8]
        par b < B { par n < 8 { %0 = load x[8*b + n] ; %1 = exp %0 ; store t[8*b + n], %1 } }
        par c < B { par m < 8 { %2 = load t[8*c + m] ; %3 = neg %2 ; store y[8*c + m], %3 } }""",
        """par c < B { par m < 8 { %0 = load x[8*c + m] ; %1 = exp %0 ; %3 = neg %1 ; store y[8*c + m], %3 } }""",
    ),
    "fuse_sums": (
        rewrites.fuse_sums,
        """input i: i64[3] ; temp t: f32[B, 4]
        par b < B { par n < 4 { reduce k < 2 { %0 = load x[8*b + 2*n + k] ; %1 = reduce_sum %0 }
        store t[4*b + n], %1 } }
        par c < B { par m < 3 { %2 = load i[m] ; %3 = row %2 4.0 ; %4 = gather t[4*c + %3]
        store y[8*c + m], %4 } }""",
        """input i: i64[3]
        par c < B { par m < 3 { %2 = load i[m] ; %3 = row %2 4.0
        reduce k < 2 { %0 = load x[8*c + 2*%3 + k] ; %1 = reduce_sum %0 } ; store y[8*c + m], %1 } }""",
    ),
    "fuse_nests": (
        rewrites.fuse_nests,
        """temp t: f32[B]
        par b < B { reduce n < 8 { %0 = load x[8*b + n] ; %1 = reduce_sum %0 } ; store t[b], %1 }
        par c < B { par m < 8 { %2 = load t[c] ; store y[8*c + m], %2 } }""",
        """temp t: f32[B]
        par b < B { reduce n < 8 { %0 = load x[8*b + n] ; %1 = reduce_sum %0 } ; store t[b], %1
        par m < 8 { %2 = load t[b] ; store y[8*b + m], %2 } }""",
    ),
    "fuse_loops": (
        rewrites.fuse_loops,
        """temp t: f32[B, 8]
        par b < B { par n < 8 { %0 = load x[8*b + n] ; store t[8*b + n], %0 }
        par m < 8 { %1 = load t[8*b + m] ; store y[8*b + m], %1 } }""",
        """temp t: f32[B, 8]
        par b < B { par n < 8 { %0 = load x[8*b + n] ; store t[8*b + n], %0
        %1 = load t[8*b + n] ; store y[8*b + n], %1 } }""",
    ),
    "drop_round_trip": (
        rewrites.drop_round_trip,
        """temp t: f32[8] in L1
        par b < B { par n < 8 { %0 = load x[8*b + n] ; store t[n], %0 ; %1 = load t[n] ; store y[8*b + n], %1 } }""",
        """temp t: f32[8] in L1
        par b < B { par n < 8 { %0 = load x[8*b + n] ; store t[n], %0 ; store y[8*b + n], %0 } }""",
    ),
    "drop_dead": (
        rewrites.drop_dead,
        """temp t: f32[8] in L1
        par b < B { par n < 8 { %0 = load x[8*b + n] ; %1 = exp %0 ; store t[n], %0 ; store y[8*b + n], %0 } }""",
        """par b < B { par n < 8 { %0 = load x[8*b + n] ; store y[8*b + n], %0 } }""",
    ),
    "share": (
        rewrites.share,
        """par b < B { par n < 8 { %0 = load x[8*b + n] ; %1 = load x[8*b + n] ; %2 = mul %0 %1
        store y[8*b + n], %2 } }""",
        """par b < B { par n < 8 { %0 = load x[8*b + n] ; %2 = mul %0 %0 ; store y[8*b + n], %2 } }""",
    ),
    "hoist": (
        rewrites.hoist,
        """par b < B { par n < 8 { %0 = load x[8*b] ; store y[8*b + n], %0 } }""",
        """par b < B { %0 = load x[8*b] ; par n < 8 { store y[8*b + n], %0 } }""",
    ),
    "place_in_cache": (
        rewrites.place_in_cache,
        """temp t: f32[B, 8]
        par b < B { par n < 8 { %0 = load x[8*b + n] ; store t[8*b + n], %0 }
        par m < 8 { %1 = load t[8*b + m] ; store y[8*b + m], %1 } }""",
        """temp t: f32[8] in L1
        par b < B { par n < 8 { %0 = load x[8*b + n] ; store t[n], %0 }
        par m < 8 { %1 = load t[m] ; store y[8*b + m], %1 } }""",
    ),
    "invert": (
        rewrites.invert,
        """temp t: f32[8] in L1
        par b < B { reduce r < 8 { %0 = load x[8*b + r] ; %1 = reduce_max %0 }
        reduce n < 8 { %2 = load x[8*b + n] ; %3 = sub %2 %1 ; %4 = exp %3 ; store t[n], %4 ; %5 = reduce_sum %4 }
        par m < 8 { %6 = load t[m] ; %7 = div %6 %5 ; store y[8*b + m], %7 } }""",
        """temp t: f32[8] in L1
        par b < B { reduce r < 8 { %0 = load x[8*b + r] ; %1 = reduce_max %0 }
        reduce n < 8 { %2 = load x[8*b + n] ; %3 = sub %2 %1 ; %4 = exp %3 ; store t[n], %4 ; %5 = reduce_sum %4 }
        %8 = div 1.0 %5 ; par m < 8 { %6 = load t[m] ; %7 = mul %6 %8 ; store y[8*b + m], %7 } }""",
    ),
    "recompute": (
        rewrites.recompute,
        """temp t: f32[8] in L1
        par b < B { reduce n < 8 { %0 = load x[8*b + n] ; %1 = exp %0 ; store t[n], %1 ; %2 = reduce_sum %1 }
        par m < 8 { %3 = load t[m] ; %4 = mul %3 %2 ; store y[8*b + m], %4 } }""",
        """par b < B { reduce n < 8 { %0 = load x[8*b + n] ; %1 = exp %0 ; %2 = reduce_sum %1 }
        par m < 8 { %5 = load x[8*b + m] ; %6 = exp %5 ; %4 = mul %6 %2 ; store y[8*b + m], %4 } }""",
    ),
    "online": (
        rewrites.online,
        """par b < B { reduce r < 8 { %0 = load x[8*b + r] ; %1 = reduce_max %0 }
        reduce n < 8 { %2 = load x[8*b + n] ; %3 = sub %2 %1 ; %4 = exp %3 ; %5 = reduce_sum %4 }
        par m < 8 { store y[8*b + m], %5 } }""",
        """par b < B { reduce r < 8 { %0 = load x[8*b + r] ; %1 = reduce_max %0 ; %5 = sumexp %0 %1 }
        reduce n < 8 { %2 = load x[8*b + n] ; %3 = sub %2 %1 ; %4 = exp %3 }
        par m < 8 { store y[8*b + m], %5 } }""",
    ),
}


def spread(text: str) -> str:
    """One statement a line."""
    return text.replace("{ ", "{\n").replace(" ;", "\n").replace(" }", "\n}").replace(" }", "\n}")


@pytest.mark.parametrize("name", ONE_EACH)
def test_a_rewrite_before_and_after(name: str) -> None:
    rewrite, before, after = ONE_EACH[name]
    kernel, wanted = texts(spread(before), spread(after))
    found = next(rewrite(kernel))
    assert to_text(rewrites.numbered(found)) == wanted
    if name not in ("fuse_nests", "fuse_loops", "invert", "place_in_cache"):
        assert list(rewrite(found)) == []


BAGS = """
kernel bags {
  input i: i64[B, 4]
  input v: f32[100, 16]
  input w: f32[50, 16]
  output y: f32[B, 32]
  temp t: f32[B, 16]
  temp u: f32[B, 16]
  par a < B {
    par c < 16 {
      reduce l < 4 {
        %0 = load i[4*a + l]
        %1 = row %0 100.0
        %2 = gather v[16*%1 + c]
        %3 = reduce_sum %2
      }
      store t[16*a + c], %3
    }
  }
  par d < B {
    par e < 16 {
      %4 = load i[4*d]
      %5 = row %4 50.0
      %6 = gather w[16*%5 + e]
      store u[16*d + e], %6
    }
  }
  par f < B {
    par g < 16 {
      %7 = load t[16*f + g]
      store y[32*f + g], %7
    }
  }
  par h < B {
    par k < 16 {
      %8 = load u[16*h + k]
      store y[32*h + k + 16], %8
    }
  }
}
"""


def test_gather_reduce_and_concat_become_one_nest_without_temps() -> None:
    found = rewrites.optimize(parse(BAGS))
    assert len(found.body) == 1
    assert found.named("temp") == ()
    # Bags, and elements of the vectors of each table: sums of both at once would need twice the registers.
    assert to_text(found).count("par ") == 3


def test_bags_of_the_same_ids_are_read_together() -> None:
    second = """reduce m < 4 {
        %4 = load i[4*d + m]
        %5 = row %4 50.0
        %6 = gather w[16*%5 + e]
        %9 = reduce_sum %6
      }
      store u[16*d + e], %9"""
    one = BAGS[BAGS.index("%4 = load") : BAGS.index("store u[16*d + e], %6")] + "store u[16*d + e], %6"
    found = rewrites.optimize(parse(BAGS.replace(one, second)))
    assert to_text(found).count("par ") == 2
    assert to_text(found).count("reduce ") == 1
    assert to_text(found).count("load i") == 1


def test_sums_are_made_where_one_id_says_the_place_in_two_axes() -> None:
    before = """kernel k { input x: f32[B, 4, 8] ; input i: i64[6] ; temp t: f32[B, 4, 4] ; output y: f32[B, 6]
    par b < B { par n < 4 { par m < 4 { reduce k < 8 { %0 = load x[32*b + 8*n + k] ; %1 = load x[32*b + 8*m + k]
    %2 = mul %0 %1 ; %3 = reduce_sum %2 } ; store t[16*b + 4*n + m], %3 } } }
    par c < B { par l < 6 { %4 = load i[l] ; %5 = row %4 16.0 ; %6 = gather t[16*c + %5]
    store y[6*c + l], %6 } } }"""
    after = """kernel k { input x: f32[B, 4, 8] ; input i: i64[6] ; output y: f32[B, 6]
    par c < B { par l < 6 { %4 = load i[l] ; %5 = row %4 16.0 ; %7 = idiv %5 4.0 ; %8 = irem %5 4.0
    reduce k < 8 { %0 = load x[32*c + 8*%7 + k] ; %1 = load x[32*c + 8*%8 + k]
    %2 = mul %0 %1 ; %3 = reduce_sum %2 } ; store y[6*c + l], %3 } } }"""
    (found,) = rewrites.fuse_sums(parse(spread(before)))
    wanted = rewrites.numbered(parse(spread(after)))
    assert to_text(rewrites.numbered(found)) == to_text(wanted)
    (nest,) = rewrites.optimize(parse(spread(before))).body
    assert to_text(rewrites.optimize(wanted)) == to_text(replace(wanted, body=(nest,)))


def test_sums_that_are_gathered_more_often_than_there_are_stay_where_they_are() -> None:
    def gathered(times: int) -> Kernel:
        return parse(
            spread(
                f"""kernel k {{ input x: f32[B, 4, 64] ; input i: i64[{times}] ; temp t: f32[B, 4]
                output y: f32[B, {times}]
                par b < B {{ par n < 4 {{ reduce k < 64 {{ %0 = load x[256*b + 64*n + k] ; %1 = reduce_sum %0 }}
                store t[4*b + n], %1 }} }}
                par c < B {{ par m < {times} {{ %2 = load i[m] ; %3 = row %2 4.0 ; %4 = gather t[4*c + %3]
                store y[{times}*c + m], %4 }} }} }}"""
            )
        )

    assert not rewrites.optimize(gathered(3)).named("temp")
    assert rewrites.optimize(gathered(9)).named("temp")


def test_nothing_moves_across_what_it_depends_on() -> None:
    text = """kernel k {
      input x: f32[B, 8]
      output y: f32[B, 8]
      temp t: f32[B]
      par b < B {
        reduce n < 8 {
          %0 = load x[8*b + n]
          %1 = reduce_sum %0
        }
        store t[b], %1
      }
      par c < B {
        par m < 8 {
          %2 = load t[0]
          store y[8*c + m], %2
        }
      }
    }"""
    found = rewrites.optimize(parse(text))
    assert len(found.body) == 2  # row 0 is needed by all rows


@pytest.mark.parametrize("seed", range(3))
def test_no_rewrite_adds_bytes_at_any_level(seed: int) -> None:
    choice = random.Random(1000 + seed)
    for _ in range(8):
        fn, inputs = graph(choice)
        kernel = naive(fn, inputs)[1]
        before = kernel
        for chosen in (rewrites.REWRITES, (rewrites.recompute,), (rewrites.online,)):
            after = rewrites.optimize(before, chosen)
            for batch in (1, 2, 64, 4096):
                moved = [traffic(k, batch, Caches()) for k in (before, after)]
                assert all(moved[1][level] <= moved[0][level] for level in LEVELS), to_text(kernel)
            before = after


@pytest.mark.parametrize(
    "body",
    [
        "%0 = load x[16*n + r] ; store p[16*n + r], %0",
        "%8 = load j[16*n + r] ; %9 = row %8 80.0 ; %0 = gather x[%9]",
    ],
    ids=["stored", "checked"],
)
def test_sums_beside_which_something_is_stored_or_checked_stay_where_they_are(body: str) -> None:
    text = """kernel k {{ input x: f32[5, 16] ; input j: i64[5, 16] ; input i: i64[5] ; output p: f32[5, 16]
    output y: f32[5] ; temp t: f32[5]
    par n < 5 {{ reduce r < 16 {{ {} ; %1 = reduce_sum %0 }}
    store t[n], %1 }}
    par m < 5 {{ %2 = load i[m] ; %3 = row %2 5.0 ; %4 = gather t[%3] ; store y[m], %4 }} }}"""
    assert list(rewrites.fuse_sums(parse(spread(text.format(body))))) == []
