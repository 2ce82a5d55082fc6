"""What the memory of this machine gives: measured once for each number of threads, and kept for all trials after.

`bench_engine.measure.streams` measures it, in a process of its own.
"""

import contextlib
import hashlib
import json
import math
import os
import socket
from dataclasses import asdict, dataclass, fields

from bench_engine.kernels.native import cache
from bench_engine.machine import hardware

_FOLDER = "bandwidth"
LINE = 64  # bytes of a cache line: memory gives no less


@dataclass(frozen=True)
class Bandwidth:
    """Bandwidths beyond the caches, in 1e9 bytes a second, and what the cores compute.

    Attributes:
        threads: with which it was measured.
        copy_gb_s: of torch's copy, bytes read and bytes written.
        gather_64_gb_s, gather_128_gb_s: of rows of 64 and of 128 bytes at random places: rows, their int64 ids and what
            is written, by the faster of torch's index_select and embedding_bag.
        peak_gflops: floating-point operations in 1e9 a second of a product of float32 matrices.
        table_mb: size of the table that rows were gathered from / 1e6.
        measured_at: UTC, to the minute.
        load: of the machine before it, processes that want a core.
    """

    threads: int
    copy_gb_s: float
    gather_64_gb_s: float
    gather_128_gb_s: float
    peak_gflops: float
    table_mb: float
    measured_at: str
    load: float

    @property
    def disturbed(self) -> bool:
        """Whether others wanted all cores, so that memory gives more than was found."""
        return busy(self.load)

    def gather_gb_s(self, row_bytes: float) -> float:
        """Of rows of a size: that of the measured size that is next to it."""
        return self.gather_64_gb_s if row_bytes <= LINE else self.gather_128_gb_s

    def text(self) -> str:
        """In one line."""
        busy = f", at a load of {self.load:.3g}" if self.disturbed else ""
        return (
            f"copy {self.copy_gb_s:.3g} GB/s, random rows of 64 bytes {self.gather_64_gb_s:.3g} GB/s, of 128 bytes "
            f"{self.gather_128_gb_s:.3g} GB/s, {self.peak_gflops:.3g} GFLOP/s ({self.measured_at}{busy})"
        )


def kept(threads: int) -> Bandwidth | None:
    """What was measured on this machine with so many threads; None where nothing was."""
    for folder in cache.folders():
        place = folder / _FOLDER
        try:
            said = json.loads((place / _name(threads)).read_text(encoding="utf-8"))
            found = Bandwidth(**{field.name: said[field.name] for field in fields(Bandwidth)})
            usable = all(0 < rate < math.inf for rate in (found.copy_gb_s, found.gather_64_gb_s, found.gather_128_gb_s))
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if usable and found.threads == threads and cache.trusted(folder):
            return found
    return None


def undisturbed(threads: int) -> Bandwidth | None:
    """What was kept, unless others wanted all cores meanwhile: trials are told beside nothing else."""
    found = kept(threads)
    return None if found is None or found.disturbed else found


def busy(load: float | None) -> bool:
    """Whether so many processes want more cores than the machine has; those a worker is kept on are not asked."""
    return (load or 0.0) > (os.cpu_count() or 1)


def keep(found: Bandwidth) -> None:
    """Keep it for the next process; where nothing can be written it is measured again."""
    with contextlib.suppress(OSError, cache.CacheError):
        place = cache.writable() / _FOLDER
        place.mkdir(exist_ok=True)
        path = place / _name(found.threads)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(asdict(found)), encoding="utf-8")
        os.replace(part, path)


def forget(threads: int) -> None:
    """Have it measured anew."""
    for folder in cache.folders():
        with contextlib.suppress(OSError):
            (folder / _FOLDER / _name(threads)).unlink()


def _name(threads: int) -> str:
    """By processor and host: a worker that is kept on some cores is on the same machine."""
    machine = json.dumps([hardware.cpu_model(), hardware.cache_kb(3), socket.gethostname()])
    return f"{hashlib.sha256(machine.encode()).hexdigest()[:12]}-{threads}.json"
