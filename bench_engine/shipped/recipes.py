"""Which sweeps each file of example results comes from: what `python -m bench_engine examples` runs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """A sweep, by name or as the path of a .yaml file, and what is given with -p."""

    sweep: str
    overrides: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.sweep, *(f"-p {text}" for text in self.overrides)))


@dataclass(frozen=True)
class Recipe:
    """A packed journal, its path below the folder of the examples, and the sweeps whose trials it holds."""

    file: str
    steps: tuple[Step, ...]


_ONE_THREAD = ("threads=1",)

RECIPES: tuple[Recipe, ...] = (
    Recipe("amd-epyc-2-cores.jsonl.gz", (Step("memory_vs_auc"), Step("lookup"), Step("rivals"), Step("caches"))),
    Recipe("collisions/intel-xeon-2-cores.jsonl.gz", (Step("collisions"),)),
    Recipe(
        "fiited/intel-xeon-2-cores.jsonl.gz",
        (
            Step("fiited_quality", _ONE_THREAD),
            Step("fiited_study", _ONE_THREAD),
            Step("fiited_drift", _ONE_THREAD),
            Step("fiited_speed"),
        ),
    ),
    Recipe("hashed/intel-xeon-2-cores.jsonl.gz", (Step("hashed_lookup"), Step("hashed_quality"))),
    Recipe("memory_ops/amd-epyc-2-cores.jsonl.gz", (Step("memory_ops"),)),
    Recipe("parallel_op/amd-epyc-2-cores.jsonl.gz", (Step("parallel_op"),)),
)
