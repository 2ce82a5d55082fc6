"""Random training with random prune events: the module and the oracle agree to the last bit after every step."""

import numpy as np
import pytest
import torch

from tests.kernels.fiited.oracle import Optimizer, Oracle
from tests.kernels.fiited.twins import LAYOUTS, METHODS, OPTIMIZERS, Call, Case, compare, draw_call, outputs_of, record

SEEDS_PER_TEST = 10


def draw_case(seed: int) -> Case:
    """Any configuration that has a budget."""
    random = np.random.default_rng(seed)

    def one_of(*values):
        return values[random.integers(len(values))]

    while True:
        tables = (int(random.integers(2, 40)),)
        if random.random() < 0.4:
            tables = tuple(int(rows) for rows in random.integers(1, 15, random.integers(2, 5)))
        chunks = one_of(1, 2, 3, 4, 8)
        optimizer = Optimizer(
            one_of(*METHODS), lr=one_of(0.01, 0.1, 1.0), eps=one_of(1e-8, 1e-3), betas=one_of((0.9, 0.999), (0.5, 0.9))
        )
        if optimizer.method == "adagrad" and random.random() < 0.5:
            optimizer = Optimizer("adagrad", 0.1, initial_accumulator_value=0.3)
        case = Case(
            tables,
            chunks * one_of(1, 2, 3, 4, 5, 8),
            chunks,
            one_of(0.0, 0.2, 0.5, 0.5, 0.75, 0.9, 0.95, float(random.random())),
            optimizer,
            {
                "interval": one_of(1, 2, 5, 7, 1000),
                "decay": one_of(0.3, 0.9, 0.99, 1.0),
                "scope": one_of("global", "table", "column"),
                "score": one_of("frequency*gradient", "frequency", "gradient"),
                "mode": one_of("sum", "mean"),
                "min_turnover": one_of(0.0, 0.05, 0.3),
                "candidate_share": one_of(0.0, 0.5, 1.0, 1.0),
                "ttl": one_of(0, 0, 1, 2, 3),
            },
            one_of("uniform", "normal"),
            seed,
        )
        try:
            case.oracle()
        except ValueError:
            continue
        return case


def live_together(case: Case, layout: str) -> Oracle:
    """A short life with everything that may happen in one."""
    random = np.random.default_rng(case.seed + 1_000_000)
    oracle = case.oracle()
    module, optimizer = case.module(layout=layout)
    compare(module, oracle)
    for _ in range(int(random.integers(4, 12))):
        optimizer.zero_grad()
        oracle.zero_grad()
        for _ in range(random.choice([0, 1, 1, 1, 2, 3])):
            call = draw_call(random, case)
            see_both(module, oracle, call, record(module, call))
            for table, (bags, gradient) in enumerate(zip(call.bags, call.gradients, strict=True)):
                oracle.backward(bags, gradient, table)
        if random.random() < 0.1:  # a batch thought better of
            optimizer.zero_grad()
            oracle.zero_grad()
        optimizer.step()
        oracle.step()
        compare(module, oracle)
        if random.random() < 0.2:
            module.prune()
            oracle.prune()
            compare(module, oracle)
        if random.random() < 0.3:
            call = draw_call(random, case)
            module.eval()
            see_both(module, oracle, call, outputs_of(module, call))
            module.train()
            with torch.no_grad():
                see_both(module, oracle, call, outputs_of(module, call))
            compare(module, oracle)
    return oracle


def see_both(module, oracle: Oracle, call: Call, outputs: list[torch.Tensor]) -> None:
    for table, (bags, output) in enumerate(zip(call.bags, outputs, strict=True)):
        np.testing.assert_array_equal(output.detach().numpy(), oracle.forward(bags, table))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("first", range(0, 200, SEEDS_PER_TEST))
def test_small_lives(first, layout, threads):
    for seed in range(first, first + SEEDS_PER_TEST):
        case = draw_case(seed)
        threads(1 + seed % 2)
        try:
            live_together(case, layout)
        except Exception as error:
            error.add_note(f"seed {seed}: {case}")
            raise


def test_the_small_lives_are_full_of_events():
    moving = skipped = expiring = 0
    for seed in range(60):
        case = draw_case(seed)
        oracle = live_together(case, "flat")
        moving += sum(bool(event.evicted and event.restored) for event in oracle.events)
        skipped += sum(event.skipped for event in oracle.events)
        expiring += sum(len(event.evicted) > len(event.restored) for event in oracle.events)
    assert min(moving, skipped, expiring) > 20


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scope", ["global", "table", "column"])
def test_a_life_with_enough_work_to_be_shared(scope, method, layout, threads):
    threads(2)
    case = Case((1500, 2, 900), 24, 3, 0.8, OPTIMIZERS[method], {"interval": 2, "scope": scope})
    oracle = case.oracle()
    module, optimizer = case.module(layout=layout)
    random = np.random.default_rng(3)
    for _ in range(4):
        call = draw_call(random, case, batch=400, longest=6)
        optimizer.zero_grad()
        oracle.zero_grad()
        see_both(module, oracle, call, record(module, call))
        for table, (bags, gradient) in enumerate(zip(call.bags, call.gradients, strict=True)):
            oracle.backward(bags, gradient, table)
        optimizer.step()
        oracle.step()
        compare(module, oracle)
    assert any(event.restored for event in oracle.events)
