"""Any function or command: correct before, while and after it is timed; latency, and bandwidth of inputs and outputs.

Some sets of inputs, at most ROTATION_BYTES of them together, are timed in rotation, so that it is not one call's cache
that is measured. Inputs are drawn from seeds: what a method has not seen yet is another seed, and what its output
should be is computed of the same seed by the reference, floats in float64, after the last turn.

A command is timed as a whole, from the start of its process to its end. It reads its inputs from .npy files and writes
its output into one.
"""

import contextlib
import fcntl
import math
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench_engine import plugin
from bench_engine.benchmarks import caches, memory_traffic
from bench_engine.benchmarks.modules import DEVICE
from bench_engine.benchmarks.watch import MOST_KEPT, Subject, Watch, WrongResultError, arrays, side_by_side
from bench_engine.measure.measure import Sampler, summarize
from bench_engine.trial import Run, Trial, TrialResult

BATCHES, ROTATION_BYTES = 8, 256 * 2**20
KEPT_BYTES = 64 * 2**20  # of outputs, until they are compared
# Share of the reference's largest absolute value that outputs of inputs of this type may be off.
TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 4e-3, "bfloat16": 3e-2}
_MOST_WHOLE = 100
_SHOWN_STDERR = 200  # characters
_FOLDERS = "mirror_command_"


def run(trial: Trial) -> Run:
    """Measure one trial; `failed` when the method computes something else than the reference, at any time."""
    config, seed = trial.config, int(trial.config["seed"])
    torch.manual_seed(seed)
    with contextlib.ExitStack() as stack, torch.no_grad():
        subject = _Callable(trial, stack)
        size = subject.check_reference(seed)
        count = max(1, min(BATCHES, ROTATION_BYTES // max(1, size)))
        requests = [(torch.tensor([[seed * BATCHES + number]]),) for number in range(count)]
        flush = caches.flusher() if config["cache"] == "cold" else None
        try:
            ready = [subject.prepare(request) for request in requests]
            errors = [subject.error(request, r) for request, r in zip(requests, ready, strict=True)]
            watch = Watch(subject, requests, ready, flush=flush)
            watch.before()
            call = subject.call
            timing = yield from Sampler(
                lambda index: call(ready[index % count]), trial.stop, flush, period=count, probe=watch.probe
            ).turns()
            errors += watch.after()
        except WrongResultError as error:
            return TrialResult("failed", error=f"{trial.method} {error}")
        moved = None if subject.command else size + subject.output_bytes
    statistics = summarize(timing.samples_us, timing.turn_sizes, seed)
    nothing = {"bytes_moved": None, "bandwidth_gb_s": None}
    bandwidth = nothing if moved is None else memory_traffic.metrics(moved, statistics["latency_us"], config)
    return timing.result(
        {
            **statistics,
            "device": DEVICE,
            "max_abs_error": max(errors),
            **bandwidth,
        },
        {"request_batches": count, **watch.told(), **subject.told()},
    )


def shapes_of(text: str) -> tuple[tuple[int, ...], ...]:
    """`512x1024+1024` as ((512, 1024), (1024,))."""
    return tuple(tuple(map(int, shape.split("x"))) for shape in text.split("+"))


@dataclass(frozen=True)
class _Files:
    """A command line with the paths of its inputs, and where it writes its output; the files go when this does."""

    words: tuple[str, ...]
    output: Path


class _Callable(Subject):
    """A function or command with inputs drawn from seeds, for a Watch. A request is its seed, int64 (1, 1)."""

    def __init__(self, trial: Trial, stack: contextlib.ExitStack) -> None:
        config = trial.config
        self._operation = plugin.operation_of(str(config["operator"]))
        self._own = plugin.implementation_of(trial.method)
        self._dtype_name, self._shape = str(config["dtype"]), str(config["shape"])
        self._dtype, self._shapes = getattr(torch, self._dtype_name), shapes_of(self._shape)
        self._threads = int(config["threads"])
        given = self._operation.tolerance
        self._tolerance = TOLERANCES.get(self._dtype_name, 0.0) if given is None else given
        self._wanted: list[tuple[int, ...]] = []
        self._allowed: list[float] = []
        self.command = self._own.command
        self.output_bytes = 0
        if self.command:
            self._folder = _folder_for_files(stack)

    # -- inputs and the reference ----------------------------------------------------------------------------------

    def inputs(self, seed: int) -> list[Tensor]:
        """The inputs of a seed. Raises ValueError where the plug-in makes none of it."""
        generator = torch.Generator().manual_seed(seed)
        if (own := self._operation.inputs) is not None:
            made = own(self._shapes, self._dtype, generator)
            return _tensors(made, f"The inputs of {self._operation.name} are")
        return [self._drawn(shape, generator) for shape in self._shapes]

    def _drawn(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        if self._dtype.is_floating_point:
            return torch.randn(shape, generator=generator).to(self._dtype)
        return torch.randint(_MOST_WHOLE, shape, generator=generator).to(self._dtype)

    def told(self) -> dict[str, float]:
        """For a trial's environment: the flops that the operation declares, beside what this machine gives.

        Raises ValueError where they are no number of 0 or more.
        """
        if self._operation.flops is None:
            return {}
        flops = self._operation.flops(self._shapes)
        if not isinstance(flops, int | float) or not 0 <= flops < math.inf:
            raise ValueError(f"The flops of {self._operation.name} are {flops!r:.40}: give a number of 0 or more.")
        return {"flops": flops, **memory_traffic.roofs({"threads": self._threads})}

    def check_reference(self, seed: int) -> int:
        """Bytes of the inputs. Raises ValueError with a sentence where reference or inputs cannot be relied on."""
        name = self._operation.name
        inputs, again = self.inputs(seed), self.inputs(seed)
        if len(inputs) != len(again) or not all(map(_equal, inputs, again)):
            raise ValueError(
                f"The inputs of {name} differ from draw to draw: draw them by the generator that is given."
            )
        wanted = self._reference(seed)
        self._wanted = [tuple(part.shape) for part in wanted]
        if not all(bool(part.isfinite().all()) for part in wanted):
            raise ValueError(f"The reference of {name} gives numbers that are not finite: mend it, or its inputs.")
        if not all(map(torch.equal, wanted, self._reference(seed))):
            raise ValueError(f"The reference of {name} gives something else for the same inputs: mend it.")
        return sum(part.nbytes for part in inputs)

    def _reference(self, seed: int) -> list[Tensor]:
        inputs = self.inputs(seed)
        if self._operation.exact:
            inputs = [part.double() if part.is_floating_point() else part for part in inputs]
        before = [part.clone() for part in inputs]
        found = _tensors(self._operation.reference(*inputs), f"The reference of {self._operation.name} gives")
        if not all(map(_equal, inputs, before)):
            raise ValueError(f"The reference of {self._operation.name} writes into its inputs: mend it.")
        given = self._operation.tolerance
        self._allowed = [self._tolerance if given is not None or _has_share(part) else 0.0 for part in found]
        # Whole numbers stay: float64 does not tell neighbours above 2^53 apart.
        return [part if part.dtype == torch.int64 else _real(part).double() for part in found]

    # -- what a Watch asks -----------------------------------------------------------------------------------------

    def prepare(self, request: Sequence[Tensor]) -> Any:
        inputs = self.inputs(int(request[0]))
        if self.command:
            return self._files(inputs)
        given = tuple(_as_array(part) if self._own.takes == "numpy" else part for part in inputs)
        if self._own.prepare is None:
            return given
        prepared = self._own.prepare(*given)
        return prepared if isinstance(prepared, tuple) else (prepared,)

    def call(self, prepared: Any) -> Any:
        return self._run(prepared) if self.command else self._own.function(*prepared)  # type: ignore[misc]

    def tensors(self, output: Any) -> list[Tensor]:
        if isinstance(output, _Files):
            output = _loaded(output.output)
        try:
            return [_real(part) for part in _tensors(output, "it gives")]
        except ValueError:
            return [output]  # what it is instead is said by `fault`

    def flat(self, parts: Sequence[Tensor]) -> list[Tensor]:
        return [part.reshape(1, -1) for part in parts]

    def fault(self, parts: Sequence[Any], bags: int) -> str:
        for part in parts:
            if type(part) is not Tensor or part.device.type != DEVICE:
                where = f" on {part.device}" if isinstance(part, Tensor) else ""
                return f"is a {type(part).__name__}{where}, not a tensor or array on {DEVICE}"
        if (shapes := [tuple(part.shape) for part in parts]) != self._wanted:
            told, wanted = (" and ".join(map(str, all_of)) for all_of in (shapes, self._wanted))
            return f"has shape {told}, not {wanted}"
        return ""

    def expected(self, request: Sequence[Tensor]) -> Tensor:
        return side_by_side(self.flat(self._reference(int(request[0]))))

    def unseen(self, seed: int) -> tuple[Tensor, ...]:
        return (torch.tensor([[seed]]),)

    def weights(self) -> Sequence[Tensor]:
        return ()

    @property
    def most_kept(self) -> int:
        return max(2, min(MOST_KEPT, KEPT_BYTES // max(1, self.output_bytes)))

    def error(self, request: Sequence[Tensor], prepared: Any) -> float:
        """Largest difference of an output from the reference's. Raises WrongResultError."""
        if (output := self.call(prepared)) is None:
            raise WrongResultError("is wrong: its output is None.")
        parts = self.tensors(output)
        wanted = self._reference(int(request[0]))
        if [tuple(part.shape) for part in wanted] != self._wanted:
            raise ValueError(
                f"The outputs of {self._operation.name} have other shapes for other inputs, and cannot be compared: "
                "pad them to one shape."
            )
        if fault := self.fault(parts, 1):
            raise WrongResultError(f"is wrong: its output {fault}.")
        taken = set(_given(prepared))
        own = [a for a in (output if isinstance(output, tuple | list) else [output]) if isinstance(a, np.ndarray)]
        within = any(
            np.may_share_memory(a, b) for a in own for b in arrays(prepared)
        )  # of those that torch has copies of
        if within or any(part.numel() and part.untyped_storage().data_ptr() in taken for part in parts):
            raise WrongResultError("is wrong: its output lies in the memory of its inputs: give memory of its own.")
        self.output_bytes = sum(part.nbytes for part in parts)
        return self.compare("output", side_by_side(self.flat(parts)), side_by_side(self.flat(wanted)), 1)

    def compare(self, what: str, actual: Tensor, expected: Tensor, terms: int) -> float:
        """Largest absolute difference of what is named. Raises WrongResultError."""
        sizes = [math.prod(shape) for shape in self._wanted]
        if actual.size(1) != sum(sizes):  # one part of several
            return self._of_part(what, actual, expected, self._tolerance)
        parts = zip(actual.split(sizes, 1), expected.split(sizes, 1), self._allowed, strict=True)
        return max((self._of_part(what, a, e, share) for a, e, share in parts), default=0.0)

    def _of_part(self, what: str, actual: Tensor, expected: Tensor, share: float) -> float:
        """The same of one tensor, which may be off by a share of its largest value."""
        if not actual.numel():
            return 0.0
        if actual.dtype == expected.dtype == torch.int64:
            off = actual != expected
            error = max(float((actual - expected)[off].double().abs().max()), 1.0) if off.any() else 0.0
        else:
            error = float((actual.double() - expected.double()).abs().max())
        scale = float(expected.double().abs().max())
        if not error <= share * scale:  # NaN is wrong too
            raise WrongResultError(
                f"is wrong: its {what} differs from the reference by {error:.3g}, where values go up to {scale:.3g} "
                f"and {share * scale:.3g} is allowed."
            )
        return error

    # -- commands --------------------------------------------------------------------------------------------------

    def _files(self, inputs: Sequence[Tensor]) -> _Files:
        """Write the inputs down."""
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        paths = [folder / f"input_{number}.npy" for number in range(len(inputs))]
        for path, part in zip(paths, inputs, strict=True):
            np.save(path, _as_array(part))
        output = folder / "output.npy"
        axes = {"threads": str(self._threads), "shape": self._shape, "dtype": self._dtype_name}
        words: list[str] = []
        for word in self.command:
            if word == "{inputs}":
                words += map(str, paths)
            else:
                for name, value in {**axes, "inputs": " ".join(map(str, paths)), "output": str(output)}.items():
                    word = word.replace("{" + name + "}", value)
                words.append(word)
        files = _Files(tuple(words), output)
        weakref.finalize(files, shutil.rmtree, folder, ignore_errors=True)  # checks ask for inputs all the time
        return files

    def _run(self, files: _Files) -> _Files:
        """Run the command to its end. Raises WrongResultError where it fails."""
        files.output.unlink(missing_ok=True)
        done = subprocess.run(
            files.words, cwd=self._own.folder, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if done.returncode:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            said = f": {last[0][:_SHOWN_STDERR]}" if last else " and said nothing"
            raise WrongResultError(f"ended with exit status {done.returncode}{said}")
        return files


def _folder_for_files(stack: contextlib.ExitStack) -> Path:
    """A folder until the end of the stack. Those that processes left when they were killed go first."""
    for held in Path(tempfile.gettempdir()).glob(f"{_FOLDERS}*/held"):
        with contextlib.suppress(OSError), held.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # who lives holds it
            shutil.rmtree(held.parent)
    folder = Path(tempfile.mkdtemp(prefix=_FOLDERS))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    file = stack.enter_context((folder / "held.part").open("w"))
    fcntl.flock(file, fcntl.LOCK_EX)
    (folder / "held.part").rename(folder / "held")
    return folder


def _loaded(path: Path) -> np.ndarray:
    """What a command wrote. Raises WrongResultError."""
    try:
        array: np.ndarray = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise WrongResultError(f"ended with 0 and wrote no {path.name}: it must write its output there.") from None
    except (ValueError, OSError, EOFError):
        raise WrongResultError(f"wrote a {path.name} that is no .npy file.") from None
    return array


def _tensors(found: Any, what: str) -> list[Tensor]:
    """Tensors of what a function gives: a tensor, an array, a number, or several. Raises ValueError."""
    several = list(found) if isinstance(found, tuple | list) else [found]
    parts = [torch.from_numpy(_plain(p)) if isinstance(p, np.ndarray) else p for p in several]
    # A float of Python has the digits of float64.
    parts = [
        torch.as_tensor(p, dtype=torch.float64 if type(p) is float else None)
        if isinstance(p, int | float | np.generic)
        else p
        for p in parts
    ]
    for part in parts:
        if not isinstance(part, Tensor):
            raise ValueError(f"{what} no tensors but a {type(part).__name__}: give tensors or arrays.")
    return parts


def _real(part: Tensor) -> Tensor:
    """Complex numbers as pairs, so that both parts are looked at."""
    return torch.view_as_real(part.resolve_conj()) if part.is_complex() else part


def _equal(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors hold the same numbers; of inputs, NaN is one."""
    if torch.equal(a, b):
        return True
    same_kind = a.shape == b.shape and a.dtype == b.dtype and a.is_floating_point()
    return same_kind and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)


def _as_array(part: Tensor) -> np.ndarray:
    """Raises ValueError for a type that numpy does not know."""
    if part.dtype == torch.bfloat16:
        raise ValueError("There are no arrays or .npy files of bfloat16: take another dtype, or tensors of torch.")
    array: np.ndarray = part.numpy()
    return array


def _has_share(part: Tensor) -> bool:
    """Whether a tensor's numbers may be off by a share: whole numbers are right or wrong."""
    return part.is_floating_point() or part.is_complex()


def _plain(array: np.ndarray) -> np.ndarray:
    """The array, or a copy of one that torch cannot take as it is."""
    fits = array.flags.writeable and all(s >= 0 and s % array.itemsize == 0 for s in array.strides)
    return array if fits else array.copy()


def _given(prepared: Any) -> Iterator[int]:
    """Where the tensors and arrays among the arguments of a call begin in memory."""
    for part in prepared if isinstance(prepared, tuple) else ():
        if isinstance(part, np.ndarray):
            yield part.ctypes.data
        elif isinstance(part, Tensor) and part.layout == torch.strided:
            yield part.untyped_storage().data_ptr()
