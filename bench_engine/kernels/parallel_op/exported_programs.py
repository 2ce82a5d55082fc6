"""Parallel OP for exported programs."""

import copy

from torch.export import ExportedProgram
from torch.fx.passes.infra.pass_base import PassResult

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.graph.graph_pass import group_graph
from bench_engine.kernels.parallel_op.settings import Settings


def group_exported(program: ExportedProgram, settings: Settings | None = None) -> ExportedProgram:
    """The program with its embeddings grouped, for inference; `program` itself stays as it is.

    Where nothing can be grouped it is returned unchanged; `parallel_op.report_text()` says why. Whoever loads a saved
    program needs the compiled ops: `parallel_op.load()`.

    Args:
        program: from torch.export.export, before or after run_decompositions.
        settings: read from the environment if not given.

    Raises KernelsNotBuiltError and SettingsError.
    """
    settings = settings or Settings.from_environment()
    ops.load()
    ops.configure(settings)
    names = {
        spec.arg.name: spec.target
        for spec in program.graph_signature.input_specs
        if spec.target and hasattr(spec.arg, "name")
    }

    module = copy.deepcopy(program.graph_module)
    if not group_graph(module, settings, names=names).groups:
        return program
    # Inputs and outputs keep their names and meaning; this call makes a program of the new graph and checks it.
    return program._transform_do_not_use(lambda _: PassResult(module, True))
