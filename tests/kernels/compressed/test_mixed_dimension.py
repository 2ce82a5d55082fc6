"""A dimension for each field, fewer for more rows."""

import pytest
import torch

from bench_engine.benchmarks.lookup import gradient_error, output_error
from bench_engine.kernels.compressed.mixed_dimension import MixedDimensionEmbeddingBag

TABLES = (1000, 3, 80, 4000)


def make(compression=0.25, mode="sum", **options):
    return MixedDimensionEmbeddingBag(sum(TABLES), 16, compression, mode, tables=TABLES, **options)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("compression", [0.08, 0.1, 0.25, 0.6, 1.0])
def test_dimensions_are_the_largest_of_the_power_law_within_the_compression(alpha, compression):
    module = make(compression, alpha=alpha)
    budget = int(compression * sum(TABLES) * 16)
    assert sum(p.numel() for p in module.parameters()) <= budget

    def law(factor):
        each = [min(max(int(factor * n**-alpha + 0.5), 1), 16) for n in TABLES]
        return [16 if n * 16 <= (n + 16) * d else d for n, d in zip(TABLES, each, strict=True)]

    def kept(dims):
        return sum(n * d + 16 * d * (d < 16) for n, d in zip(TABLES, dims, strict=True))

    fitting = [dims for step in range(4000) if kept(dims := law(1.005**step * 0.01)) <= budget]
    assert kept(module.dims) == max(map(kept, fitting))


def test_fewer_rows_have_more_dimensions_and_full_ones_need_no_matrix():
    module = make()
    assert module.dims == [5, 16, 11, 3]
    assert sorted(module.projections) == [str(f) for f, dim in enumerate(module.dims) if dim < 16]


def test_a_vector_is_that_of_its_fields_matrix():
    module = make()
    expected = [
        weight @ module.projections[str(f)] if str(f) in module.projections else weight
        for f, weight in enumerate(module.weights)
    ]
    torch.testing.assert_close(module.materialize(), torch.cat(expected).detach())


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_outputs_and_gradients_are_those_of_float64(mode):
    torch.manual_seed(0)
    module = make(mode=mode)
    ids = torch.randint(sum(TABLES), (32, 5))
    output_error(module, ids, mode)
    gradient_error(module, ids, torch.randn(32, 16), mode)


def test_vectors_start_with_the_spread_of_a_dense_table():
    torch.manual_seed(0)
    assert float(make().materialize().std()) == pytest.approx((1 / sum(TABLES) / 3) ** 0.5, rel=0.2)


def test_the_smallest_compression_that_is_named_works():
    with pytest.raises(ValueError, match=r"compression 0.02 leaves no dimension for each of 4 fields") as error:
        make(0.02)
    named = float(str(error.value).split("the smallest is ")[1])
    assert make(named).dims == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -0.1}, "alpha must be from 0 to 1, not -0.1"),
        ({"tables": (3, 4)}, "tables must have 10 rows together and one at least each"),
        ({"tables": (10, 0)}, "tables must have 10 rows together and one at least each"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        MixedDimensionEmbeddingBag(10, 4, **options)
