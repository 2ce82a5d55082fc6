"""Parallel OP on and off for this process: what it needs is checked, then its ways in are opened."""

import re
import threading

from bench_engine.kernels.native import extension
from bench_engine.kernels.parallel_op.settings import Settings, active_settings, put_in_force

# The oldest torch of this project. The ways in need Module._compiled_call_impl, torch.library.register_fake and
# Inductor's CustomGraphPass, which are older still.
_OLDEST_TORCH = (2, 11)

_switching = threading.Lock()


class CannotEnableError(RuntimeError):
    """Parallel OP cannot run here; the sentence says why."""


def enable(settings: Settings | None = None) -> None:
    """Group ops from now on, as MIRROR_PARALLEL_OP=1 does; `settings` are read from the environment if not given.

    Untouched scripts: models that are called for the first time after this. torch.compile: graphs compiled after it.
    Raises CannotEnableError (torch too old, kernels that are not built and cannot be) and SettingsError.
    """
    import torch

    from bench_engine.kernels.parallel_op.entry import eager, optimizer_step
    from bench_engine.kernels.parallel_op.entry import inductor_install as inductor
    from bench_engine.kernels.parallel_op.entry.telling import tell_at_exit

    settings = settings or Settings.from_environment()
    found = re.match(r"(\d+)\.(\d+)", torch.__version__)
    if found and (int(found[1]), int(found[2])) < _OLDEST_TORCH:
        raise CannotEnableError(
            f"it needs torch {_OLDEST_TORCH[0]}.{_OLDEST_TORCH[1]} or newer, and this is torch {torch.__version__}."
        )
    if not extension.built():
        try:
            extension.load()  # compiles on first use
        except extension.KernelsNotBuiltError as error:
            raise CannotEnableError(str(error).partition(":\n")[0]) from None
    with _switching:
        put_in_force(settings)
        inductor.install(settings)
        eager.install(settings)
        optimizer_step.install(settings)
        if settings.report:
            tell_at_exit()


def load() -> None:
    """Load the compiled ops, which a saved program or module that was grouped needs, whether this is on or off.

    They run by the settings it was switched on with, else by those of the environment. Raises KernelsNotBuiltError and
    SettingsError.
    """
    from bench_engine.kernels.parallel_op import ops

    ops.load()
    ops.configure(active_settings() or Settings.from_environment())


def disable() -> None:
    """Group nothing more, and give untouched scripts their models and optimizers back.

    Graphs compiled before stay as they are.
    """
    from bench_engine.kernels.parallel_op.entry import eager, optimizer_step
    from bench_engine.kernels.parallel_op.entry import inductor_install as inductor

    with _switching:
        put_in_force(None)
        inductor.uninstall()
        eager.uninstall()
        optimizer_step.uninstall()
