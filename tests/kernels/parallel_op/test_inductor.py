"""The pass in Inductor's configuration, and Inductor's caches."""

import sys
import threading

import pytest
import torch
from torch._inductor import config
from torch._inductor.custom_graph_pass import CustomGraphPass

from bench_engine.kernels.parallel_op.entry import inductor_install as inductor
from bench_engine.kernels.parallel_op.entry.inductor_pass import ParallelOpPass
from bench_engine.kernels.parallel_op.settings import Settings
from tests.kernels.parallel_op.processes import run

pytestmark = pytest.mark.usefixtures("built_kernels")

SCRIPT = """
import torch
from torch._dynamo.utils import counters
class Bags(torch.nn.ModuleList):
    def forward(self, ids):  # nothing for which Inductor would start a C++ compiler
        return [bag(ids) for bag in self]
model = Bags(torch.nn.EmbeddingBag(50, 4, mode="sum") for _ in range(6))
ids = torch.randint(0, 50, (64, 2))
results = []
for call in (torch.compile(model), model):
    model.zero_grad()
    found = call(ids)
    if not results:
        op = getattr(torch.ops.mirror, "parallel_op_choices", str)
        calls = [line.split("\\t")[2] for line in op().splitlines()]
        print(counters["aot_autograd"]["autograd_cache_hit"], *calls)
    torch.autograd.backward(found, [torch.arange(256.0).view(64, 4)] * 6)
    results.append([*found, *(p.grad.clone() for p in model.parameters())])
torch.testing.assert_close(*results)
"""


class Mine(CustomGraphPass):
    def __call__(self, graph: torch.fx.Graph) -> None: ...

    def uuid(self) -> str:
        return "mine"


@pytest.fixture
def installed():
    inductor.install(Settings())
    yield
    inductor.uninstall()
    config.pre_grad_custom_pass = None


def ours(value: object) -> bool:
    return isinstance(value, ParallelOpPass)


@pytest.mark.usefixtures("installed")
def test_stands_after_the_users_passes_whenever_they_are_set():
    assert ours(config.pre_grad_custom_pass)
    mine = Mine()
    config.pre_grad_custom_pass = mine
    first, second = config.pre_grad_custom_pass
    assert first is mine
    assert ours(second)
    config.pre_grad_custom_pass = [mine, mine]
    assert [ours(one) for one in config.pre_grad_custom_pass] == [False, False, True]
    config.pre_grad_custom_pass.append(mine)
    assert [ours(one) for one in config.pre_grad_custom_pass] == [False, False, True, False]
    config.pre_grad_custom_pass = (mine,)
    config.pre_grad_custom_pass = config.pre_grad_custom_pass
    assert [ours(one) for one in config.pre_grad_custom_pass] == [False, True]
    with config.patch(pre_grad_custom_pass=None):
        assert ours(config.pre_grad_custom_pass)
    assert len(config.pre_grad_custom_pass) == 2
    inductor.uninstall()
    assert config.pre_grad_custom_pass == (mine,)


@pytest.mark.usefixtures("installed")
def test_is_there_in_every_thread():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(config.pre_grad_custom_pass))
    thread.start()
    thread.join()
    assert ours(seen[0])


@pytest.mark.usefixtures("installed")
def test_installed_twice_is_there_once():
    config.pre_grad_custom_pass = [Mine()]
    assert len(config.pre_grad_custom_pass) == 2
    inductor.install(Settings(min_group=3))
    assert len(config.pre_grad_custom_pass) == 2


def test_the_identity_covers_what_changes_the_graph():
    identities = {
        ParallelOpPass(names, asked, least).uuid()
        for names in (("aten.embedding",), ("aten.embedding_bag",))
        for asked in ((), ("aten.embedding",))
        for least in (2, 3)
    }
    assert len(identities) == 8
    assert ParallelOpPass(("a",), (), 2).uuid() == ParallelOpPass(("a",), (), 2).uuid()


def test_waits_for_the_first_import(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch._inductor.config")
    inductor.install(Settings())
    assert type(sys.meta_path[0]) is inductor._Waiting
    import importlib

    fresh = importlib.import_module("torch._inductor.config")
    assert fresh is not config
    assert ours(fresh.pre_grad_custom_pass)
    assert fresh.__spec__.loader is fresh.__loader__
    assert not any(type(finder) is inductor._Waiting for finder in sys.meta_path)
    inductor.uninstall()


def test_caches_neither_lose_the_pass_nor_share_it(tmp_path):
    """Cold and warm, switched on and off, in one cache: the op runs exactly where it was asked for."""

    def compiled(**variables: str) -> str:
        kept = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path), "MIRROR_PARALLEL_OP_CACHE": str(tmp_path)}
        # Else a new folder has Inductor try the C++ compiler for ten seconds.
        return run(SCRIPT, TORCHINDUCTOR_VEC_ISA_OK="1", **kept, **variables).stdout.strip()

    # Graphs taken from the cache, then calls of the op.
    assert compiled(MIRROR_PARALLEL_OP="1") == "0 1"
    assert compiled() == "0"
    assert compiled(MIRROR_PARALLEL_OP="1") == "1 1"
