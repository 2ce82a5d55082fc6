"""Quotient and remainder rows: how many, which, and what their product is."""

import pytest
import torch

from bench_engine.kernels.compressed.quotient_remainder import QuotientRemainderEmbeddingBag


@pytest.mark.parametrize("num_embeddings", [4, 5, 16, 17, 99, 100, 101, 1000])
@pytest.mark.parametrize("compression", [0.07, 0.2, 0.29, 0.5, 0.57, 0.9, 1.0])
def test_the_largest_number_of_remainder_rows_that_fits(num_embeddings, compression):
    allowed = round(compression * num_embeddings * 100) // 100
    fitting = [r for r in range(1, num_embeddings + 1) if r + -(-num_embeddings // r) <= allowed]
    if not fitting:
        with pytest.raises(ValueError, match="the smallest is"):
            QuotientRemainderEmbeddingBag(num_embeddings, 2, compression)
        return
    module = QuotientRemainderEmbeddingBag(num_embeddings, 2, compression)
    assert module.remainder_weight.shape == (fitting[-1], 2)
    assert module.quotient_weight.shape == (-(-num_embeddings // fitting[-1]), 2)


@pytest.mark.parametrize("num_embeddings", [4, 5, 17, 27, 1000, 12_345, 10**6])
def test_the_smallest_compression_that_is_named_works(num_embeddings):
    with pytest.raises(ValueError, match=r"too few rows .* the smallest is [01]") as error:
        QuotientRemainderEmbeddingBag(num_embeddings, 2, 1e-5)
    named = float(str(error.value).rsplit(" ", 1)[1])
    module = QuotientRemainderEmbeddingBag(num_embeddings, 2, named)
    assert sum(len(p) for p in module.parameters()) <= named * num_embeddings


@pytest.mark.parametrize("num_embeddings", [1, 2, 3])
def test_too_few_ids(num_embeddings):
    with pytest.raises(ValueError, match="num_embeddings must be at least 4"):
        QuotientRemainderEmbeddingBag(num_embeddings, 8)


def test_a_vector_is_the_product_of_its_two_rows():
    module = QuotientRemainderEmbeddingBag(100, 4, 0.29)
    remainders = module.num_remainders
    table = module.materialize()
    for i in (0, 1, remainders - 1, remainders, 99):
        expected = module.remainder_weight[i % remainders] * module.quotient_weight[i // remainders]
        assert torch.equal(table[i], expected)


def test_every_id_has_a_pair_of_rows_of_its_own():
    module = QuotientRemainderEmbeddingBag(97, 1, 0.5, dtype=torch.float64)
    with torch.no_grad():
        module.remainder_weight.copy_(torch.arange(1, module.num_remainders + 1).unsqueeze(1))
        module.quotient_weight.copy_(1000.0 ** torch.arange(len(module.quotient_weight)).unsqueeze(1))
    assert len(module.materialize().unique()) == 97
