"""Many independent embeddings of a model as one op, with MIRROR_PARALLEL_OP=1 and no change to script or model.

Each name is loaded on first use: `import torch` comes through here, with and without the variable.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench_engine.kernels.parallel_op.entry.switching import CannotEnableError, disable, enable, load
    from bench_engine.kernels.parallel_op.entry.telling import report_text
    from bench_engine.kernels.parallel_op.exported_programs import group_exported
    from bench_engine.kernels.parallel_op.grouped_embedding import GroupedEmbeddingBag
    from bench_engine.kernels.parallel_op.settings import Settings, SettingsError

__all__ = [
    "CannotEnableError",
    "GroupedEmbeddingBag",
    "Settings",
    "SettingsError",
    "disable",
    "enable",
    "group_exported",
    "load",
    "report_text",
]

_MODULES = {
    "CannotEnableError": "entry.switching",
    "GroupedEmbeddingBag": "grouped_embedding",
    "Settings": "settings",
    "SettingsError": "settings",
    "disable": "entry.switching",
    "enable": "entry.switching",
    "group_exported": "exported_programs",
    "load": "entry.switching",
    "report_text": "entry.telling",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
