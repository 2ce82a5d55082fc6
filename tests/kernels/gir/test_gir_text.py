"""GIR's text form: what is printed is read back, and what is wrong is named."""

import pytest

from bench_engine.kernels.gir.program.ir import GirError, Size
from bench_engine.kernels.gir.program.text import parse, to_text

SOFTMAX = """\
kernel softmax {
  input x: f32[B, 832]
  output y: f32[B, 832]
  temp t0: f32[832] in L1
  par b < B grain 16 {
    reduce n < 832 vec 16 unroll 4 {
      %0 = load x[832*b + n]
      %1 = reduce_max %0
    }
    reduce n1 < 832 vec 16 {
      %2 = load x[832*b + n1]
      %3 = sub %2 %1
      %4 = exp %3
      store t0[n1], %4
      %5 = reduce_sum %4
    }
    par n2 < 832 {
      %6 = load t0[n2]
      %7 = div %6 %5
      stream_store y[832*b + n2], %7
    }
  }
}
"""

BAGS = """\
kernel bags {
  input ids: i64[100]
  input offsets: i64[B]
  input w: f32[50, 16] strides [1, 50]
  output y: f32[B, 16]
  par b < B tile 8 {
    %0 = count ids[0]
    %1 = load offsets[b]
    %2 = upto %1 %0
    %3 = load_or offsets[b + 1], %0
    par d < 16 vec 8 {
      ragged l from %2 to %3 {
        %4 = load ids[l]
        %5 = row %4 50.0
        %6 = gather w[50*d + %5]
        %7 = reduce_sum %6
      }
      store y[16*b + d], %7
    }
  }
}
"""


@pytest.mark.parametrize("text", [SOFTMAX, BAGS])
def test_what_is_printed_is_read_back(text: str) -> None:
    kernel = parse(text)
    assert to_text(kernel) == text
    assert parse(to_text(kernel)) == kernel


def test_sizes_are_linear_in_the_batch() -> None:
    kernel = parse(
        "kernel k {\n input x: f32[3*B+2, 4] strides [1, 3*B+2]\n output y: f32[B]\n"
        " par b < B {\n %0 = load x[2*b + 3*B + 5]\n store y[b], %0\n }\n}"
    )
    assert kernel.index["x"].shape == (Size(3, 2), Size(0, 4))
    load = kernel.body[0].body[0]
    assert (load.address.stride("b"), load.address.offset) == (Size(0, 2), Size(3, 5))


WRONG = {
    "kernel softmax {": "kernel {",
    "%0 = load x[832*b + n]": "%0 = load z[832*b + n]",
    "%1 = reduce_max %0": "%1 = reduce_max %9",
    "%3 = sub %2 %1": "%3 = sub %2",
    "%4 = exp %3": "%3 = exp %3",
    "store t0[n1], %4": "store t0[n2], %4",
    "%5 = reduce_sum %4": "%5 = fold %4",
    "par n2 < 832 {": "reduce n1 < 832 {",
    "par b < B grain 16 {": "par b < B speed 16 {",
    "output y: f32[B, 832]": "output y: f16[B, 832]",
    "temp t0: f32[832] in L1": "temp t0: f32[832] in L7",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_line_is_refused_in_one_sentence(line: str) -> None:
    with pytest.raises(GirError) as raised:
        parse(SOFTMAX.replace(line, WRONG[line]))
    assert "\n" not in str(raised.value)


def test_text_that_ends_early_is_refused() -> None:
    with pytest.raises(GirError, match="ends before"):
        parse(SOFTMAX[:-3])
    with pytest.raises(GirError, match="nothing comes after"):
        parse(SOFTMAX + "}")


def test_a_reduction_is_not_known_in_its_own_loop() -> None:
    text = SOFTMAX.replace("%1 = reduce_max %0", "%1 = reduce_max %0\n%9 = exp %1")
    with pytest.raises(GirError, match="%1 is not known"):
        parse(text)
