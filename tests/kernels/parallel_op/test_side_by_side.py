"""The op mirror::side_by_side: other ops than embeddings, run at the same time."""

import multiprocessing
import threading

import pytest
import torch
import torch.nn.functional as F

from bench_engine.kernels.native import extension

pytestmark = pytest.mark.usefixtures("op")
WIDTH = 16
# A branch in a plan, the inputs that follow from x, weight and bias, and the same call in Python.
BRANCHES = {
    "layer_norm": (
        "aten::layer_norm({}, [16], {}, {}, 1e-05, True)",
        lambda x, w, b: (x, w, b),
        lambda x, w, b: F.layer_norm(x, [WIDTH], w, b),
    ),
    "linear": ("aten::linear({}, {}, {})", lambda x, w, b: (x, w.outer(b), b), F.linear),
    "relu": ("aten::relu({})", lambda x, w, b: (x,), F.relu),
    "gelu": ("aten::gelu({}, 'tanh')", lambda x, w, b: (x,), lambda x: F.gelu(x, approximate="tanh")),
    "add": ("aten::add.Tensor({}, {}, 2)", lambda x, w, b: (x, w), lambda x, w: torch.add(x, w, alpha=2)),
    "cat": ("aten::cat([{}, {}], -1)", lambda x, w, b: (x, x * 2), lambda x, y: torch.cat([x, y], -1)),
}


@pytest.fixture
def op(built_kernels):
    """The op on three threads, with nothing measured so far."""
    extension.load()
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    configure()
    yield
    configure()
    torch.set_num_threads(threads)


def configure(threads: int = 0, nested: bool = False) -> None:
    torch.ops.mirror.parallel_op_configure("auto", threads, nested, "")


def side_by_side(inputs, plan: str):
    return torch.ops.mirror.side_by_side(inputs, plan)


def tower(count: int = 5, batch: int = 7, requires_grad: bool = False, dtype=torch.float32):
    """Inputs and plan of `count` layer norms that share weight and bias."""
    generator = torch.Generator().manual_seed(count)
    shapes = [(batch, WIDTH)] * count + [(WIDTH,)] * 2
    inputs = [torch.randn(s, generator=generator, dtype=dtype).requires_grad_(requires_grad) for s in shapes]
    line = BRANCHES["layer_norm"][0]
    plan = "".join(line.format(f"%{i}", f"%{count}", f"%{count + 1}") + "\n" for i in range(count))
    return inputs, plan


def layer_norms(inputs):
    *xs, weight, bias = inputs
    return [F.layer_norm(x, [WIDTH], weight, bias) for x in xs]


def repeat(call, times: int = 30) -> None:
    """Often enough that every way of running it is measured, and one chosen."""
    for _ in range(times):
        call()


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("name", BRANCHES)
def test_each_op_gives_what_it_gives_alone(name, nested):
    configure(nested=nested)
    line, inputs_of, alone = BRANCHES[name]
    inputs, lines, expected = [], [], []
    for batch in (3, 1, 200):
        own = inputs_of(torch.randn(batch, WIDTH), torch.randn(WIDTH), torch.randn(WIDTH))
        lines.append(line.format(*(f"%{len(inputs) + i}" for i in range(len(own)))))
        inputs += own
        expected.append(alone(*own))

    def check():
        for got, want in zip(side_by_side(inputs, "\n".join(lines)), expected, strict=True):
            torch.testing.assert_close(got, want)

    repeat(check)


def test_both_ways_are_measured_and_one_stays():
    inputs, plan = tower()
    repeat(lambda: side_by_side(inputs, plan))
    (line,) = (x for x in torch.ops.mirror.parallel_op_choices().splitlines() if x.startswith("side_by_side"))
    _, choice, calls, *times = line.split("\t")
    assert choice in ("side by side", "in order")
    assert int(calls) == 30
    assert [x.partition("=")[0] for x in times] == ["side by side", "in order"]


def test_calls_of_another_type_or_autocast_or_number_of_threads_are_chosen_for_apart():
    inputs, plan = tower()
    configure(threads=2)
    for dtype in (torch.float32, torch.float64):
        typed = [x.to(dtype) for x in inputs]
        side_by_side(typed, plan)
    with torch.autocast("cpu", torch.bfloat16):
        side_by_side(inputs, plan)
    torch.set_num_threads(4)
    side_by_side(inputs, plan)
    lines = torch.ops.mirror.parallel_op_choices().splitlines()
    kinds = {line.split(" threads=")[1].split(" plan=")[0] for line in lines if line.startswith("side_by_side")}
    told = "{} nested=0 grad=1 dtype={} autocast={}"
    assert kinds == {
        told.format("2 of 3", "Float", "off"),
        told.format("2 of 3", "Double", "off"),
        told.format("2 of 3", "Float", "BFloat16"),
        told.format("2 of 4", "Float", "off"),
    }


@pytest.mark.parametrize("nested", [False, True])
def test_gradients_are_those_of_the_ops(nested):
    configure(nested=nested)
    inputs, plan = tower(count=3, batch=2, requires_grad=True, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda *x: tuple(side_by_side(list(x), plan)), inputs)
    assert torch.autograd.gradgradcheck(lambda *x: tuple(side_by_side(list(x), plan)), inputs)


def test_a_training_loop_ends_where_the_plain_one_does():
    def train(run):
        inputs, plan = tower(requires_grad=True)
        optimizer = torch.optim.Adam(inputs, lr=0.01)
        for _ in range(40):
            optimizer.zero_grad()
            torch.cat(run(inputs, plan)).square().sum().backward()
            optimizer.step()
        return inputs

    for got, want in zip(train(side_by_side), train(lambda inputs, _: layer_norms(inputs)), strict=True):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("nested", [False, True])
def test_modes_of_the_calling_thread_hold_in_every_branch(nested):
    configure(nested=nested)
    inputs, plan = tower(requires_grad=True)

    def modes():
        assert all(y.requires_grad and y.grad_fn.name() == "NativeLayerNormBackward0" for y in call())
        with torch.no_grad():
            assert not any(y.requires_grad for y in call())
        with torch.inference_mode():
            assert all(y.is_inference() for y in call())

    def call():
        return side_by_side(inputs, plan)

    repeat(modes)


def test_autocast_holds_in_every_branch():
    xs = [torch.randn(4, WIDTH) for _ in range(4)]
    plan = "".join(f"aten::linear(%{i}, %4, None)\n" for i in range(4))
    weight = torch.randn(WIDTH, WIDTH, requires_grad=True)
    for dtype in (torch.bfloat16, torch.float16):

        def check(dtype=dtype):
            with torch.autocast("cpu", dtype=dtype):
                got = side_by_side([*xs, weight], plan)
                want = [F.linear(x, weight) for x in xs]
            assert [y.dtype for y in got] == [dtype] * 4
            torch.testing.assert_close(got, want)

        repeat(check, 20)


def test_hooks_on_saved_tensors_see_them_in_the_order_of_the_ops():
    inputs, plan = tower(requires_grad=True)

    def saved(run):
        seen = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append((t.shape, t.sum().item())), lambda x: x):
            run()
        return seen

    want = saved(lambda: layer_norms(inputs))
    repeat(lambda: saved(lambda: side_by_side(inputs, plan)) == want or pytest.fail("another order"))


def test_checkpoints_recompute_what_was_saved():
    inputs, plan = tower(requires_grad=True)

    def run(*x):
        return torch.cat(side_by_side(list(x), plan))

    got = torch.autograd.grad(torch.utils.checkpoint.checkpoint(run, *inputs, use_reentrant=False).sum(), inputs)
    torch.testing.assert_close(got, torch.autograd.grad(run(*inputs).sum(), inputs))


@pytest.mark.parametrize("nested", [False, True])
def test_the_error_is_that_of_the_first_branch_that_fails(nested):
    configure(nested=nested)
    xs = [torch.randn(2, 4), torch.randn(2, 5), torch.randn(2, 6), torch.randn(4, 3)]
    plan = "aten::mm(%0, %3)\naten::mm(%1, %3)\naten::mm(%2, %3)\n"

    def fails():
        with pytest.raises(RuntimeError) as error:
            side_by_side(xs, plan)
        assert str(error.value) == "mat1 and mat2 shapes cannot be multiplied (2x5 and 4x3)"

    repeat(fails, 10)
    xs[1:3] = torch.randn(2, 4), torch.randn(2, 4)
    assert len(side_by_side(xs, plan)) == 3


def test_opcheck():
    for requires_grad in (False, True):
        inputs, plan = tower(count=2, requires_grad=requires_grad)
        torch.library.opcheck(torch.ops.mirror.side_by_side.default, (inputs, plan))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_it_gives_the_same_in_inference_and_training(backend):
    inputs, plan = tower(requires_grad=True)
    compiled = torch.compile(lambda x: torch.cat(side_by_side(x, plan)), backend=backend, fullgraph=True)
    with torch.no_grad():
        torch.testing.assert_close(compiled(inputs), torch.cat(layer_norms(inputs)))
    got = torch.autograd.grad(compiled(inputs).square().sum(), inputs)
    torch.testing.assert_close(got, torch.autograd.grad(torch.cat(layer_norms(inputs)).square().sum(), inputs))


def test_a_dispatch_mode_sees_the_original_ops():
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    inputs, plan = tower(count=3)
    with Watch():
        side_by_side(inputs, plan)
    assert seen == [torch.ops.aten.native_layer_norm.default] * 3


def test_vmap_and_grad_transforms():
    x = torch.randn(6, 2, WIDTH)
    plan = "aten::relu(%0)\naten::tanh(%0)\n"
    got = torch.vmap(lambda x: torch.stack(side_by_side([x], plan)))(x)
    torch.testing.assert_close(got, torch.stack([x.relu(), x.tanh()], 1))
    got = torch.func.grad(lambda x: torch.stack(side_by_side([x], plan)).sum())(x)
    torch.testing.assert_close(got, torch.func.grad(lambda x: (x.relu() + x.tanh()).sum())(x))


def test_fake_and_meta_tensors_give_shapes():
    inputs, plan = tower(count=2)
    assert [y.shape for y in side_by_side([x.to("meta") for x in inputs], plan)] == [(7, WIDTH)] * 2
    with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True):
        assert [y.shape for y in side_by_side(inputs, plan)] == [(7, WIDTH)] * 2


@pytest.mark.parametrize("nested", [False, True])
def test_many_threads_may_call_at_once(nested):
    configure(nested=nested)
    inputs, plan = tower()
    want = layer_norms(inputs)
    failures = []

    def work():
        try:
            repeat(lambda: torch.testing.assert_close(side_by_side(inputs, plan), want))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def child(inputs, plan, nested, queue):
    configure(nested=nested)
    for _ in range(30):
        outputs = side_by_side(inputs, plan)
    queue.put([y.tolist() for y in outputs])


@pytest.mark.parametrize("nested", [False, True])
def test_a_forked_child_does_not_wait_for_threads_it_does_not_have(nested):
    inputs, plan = tower(batch=1)
    configure(nested=nested)
    repeat(lambda: side_by_side(inputs, plan))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=child, args=(inputs, plan, nested, queue))
    process.start()
    try:
        assert queue.get(timeout=30) == [y.tolist() for y in layer_norms(inputs)]
    finally:
        process.kill()
        process.join()


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        ("", "has no line"),
        ("aten::relu %0", "'(' is missing"),
        ("aten::relu(%0", "')' is missing"),
        ("aten::relu(%0) ", "something follows"),
        ("aten::relu(%0, 1)", "too many arguments"),
        ("aten::relu()", "'self' is missing"),
        ("aten::relu(1.5)", "'self' must be Tensor"),
        ("aten::relu(%-1)", "'%-1' is no value"),
        ("aten::relu(x)", "'x' is no value"),
        ("aten::layer_norm(%0, [4, 1.5])", "'normalized_shape' must be int[]"),
        ("aten::cat([%0, 1])", "'tensors' is a list of inputs"),
        ("aten::nonsense(%0)", "no aten op of this name"),
        ("mirror::parallel_threads()", "no aten op of this name"),
        ("aten::relu_(%0)", "writes to an argument"),
        ("aten::view(%0, [4])", "returns a view"),
        ("aten::dropout(%0, 0.5, True)", "writes to an argument or returns a view"),
        ("aten::rand_like(%0)", "draws random numbers"),
        ("aten::max.dim(%0, 0)", "does not return one tensor"),
    ],
)
def test_a_wrong_plan_is_refused_and_quoted(plan, why):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        side_by_side([torch.ones(4)], plan)
    assert why in str(error.value)
    assert f"'{plan}'" in str(error.value) or not plan


def test_a_plan_for_other_inputs_is_refused():
    with pytest.raises(ValueError, match="takes 2 inputs, not 1"):
        side_by_side([torch.ones(4)], "aten::relu(%1)")
