"""Frozen tables in one file that is mapped into memory: opened without being read, shared by all who open it.

The file is one of the format safetensors (https://github.com/huggingface/safetensors): 8 bytes with the length of a
header, the header, the bytes of the tensors without gaps. So others can read it: `NAME.rows` are the bytes of rows, of
int8 a scale in bfloat16 and then the numbers. The metadata hold the version of what this module puts there, what the
tables are, a hash of the data, and one of all else in the header.
"""

import hashlib
import json
import mmap
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench_engine.kernels.budget.compressed_embedding_bag import CompressedEmbeddingBag
from bench_engine.kernels.budget.frozen_fields import FrozenFields
from bench_engine.kernels.quantized import quantized_ops
from bench_engine.kernels.quantized.frozen_table import FrozenBag, FrozenTable
from bench_engine.kernels.quantized.quantized_fiited import FrozenLiveChunks
from bench_engine.kernels.quantized.quantized_table import QuantizedTable

FORMAT, VERSION = "mirror-frozen-tables", 1
LIVE_VERSION = 2  # of files with a FrozenLiveChunks, which version 1 did not know
_LENGTH, _ALIGNED, _MOST_HEADER = 8, 64, 100_000_000  # bytes; the last is the format's own limit
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
_DTYPES = {"U8": torch.uint8, "I32": torch.int32}
_OUTPUTS = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}

Table = FrozenBag | QuantizedTable | CompressedEmbeddingBag


def save_frozen(path: str | os.PathLike[str], tables: Mapping[str, Table]) -> None:
    """Write tables, by names of one's own, to a file; one that is there is replaced at once, or not at all.

    Raises ValueError and TypeError.
    """
    if not tables:
        raise ValueError("there is no table to write")
    described: dict[str, Any] = {}
    tensors: dict[str, Tensor] = {}
    for name, table in tables.items():
        if not isinstance(table, Table):
            raise TypeError(f"{name} must be a quantized or compressed table, not a {type(table).__name__}")
        frozen = table if isinstance(table, FrozenBag) else table.to_frozen()
        described[name] = _described(frozen)
        for buffer, tensor in frozen.named_buffers():
            if tensors.setdefault(f"{name}.{buffer}", tensor) is not tensor:
                raise ValueError(f"two tables would be {name}.{buffer} in the file: give one of them another name")
    # Buckets lie at cache lines, and numbers of four bytes at fours.
    order = sorted(tensors, key=lambda name: -_ALIGNED if name.endswith(".buckets") else -tensors[name].element_size())
    header, end, digest = {}, 0, hashlib.sha256()
    for name in order:
        tensor, start = tensors[name], end
        end += tensor.nbytes
        kind = next(code for code, dtype in _DTYPES.items() if dtype == tensor.dtype)
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [start, end]}
        digest.update(_bytes_of(tensor))
    version = LIVE_VERSION if any("chunks" in told for told in described.values()) else VERSION
    metadata = {"format": FORMAT, "version": str(version), "tables": json.dumps(described), "data": digest.hexdigest()}
    text = json.dumps({"__metadata__": {**metadata, "header": _hash_of(header, metadata)}, **header}).encode()
    text += b" " * (-(_LENGTH + len(text)) % _ALIGNED)
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        with part.open("wb") as file:
            file.write(len(text).to_bytes(_LENGTH, "little") + text)
            for name in order:
                file.write(_bytes_of(tensors[name]))
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def open_frozen(path: str | os.PathLike[str], verify: bool = False) -> dict[str, FrozenBag]:
    """The tables of a file, by name. Their bytes are read when they are looked up, and processes share them.

    Args:
        verify: read all of the file, and compare its data with the hash that was written.

    A file that is written anew by `save_frozen` goes on as it was for those who have it open; it must not be written
    in place, or cut short, meanwhile. Raises ValueError for a file of another kind, version or length, or whose hash is
    another one.
    """
    with open(path, "rb") as file:  # opened once: another process may put a new file in its place
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(_LENGTH), "little")
        text = file.read(length) if length <= min(_MOST_HEADER, size) else b""
        everything = _mapped(file.fileno(), size)
    header = _parsed(text) if len(text) == length else None
    metadata = header.pop("__metadata__", None) if header else None
    if header is None or not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        cut = 0 < size - _LENGTH < length <= _MOST_HEADER
        raise ValueError(f"{path} is no file of frozen tables" + (", or was cut short in its header" if cut else ""))
    _check_version(path, str(metadata.get("version")))
    if metadata.pop("header", None) != _hash_of(header, metadata):
        raise ValueError(f"the header of {path} is not what was written: write the file anew")
    first = _LENGTH + length
    whole = first + max(part["data_offsets"][1] for part in header.values())
    if size != whole:
        told = "was cut short" if size < whole else "has more than was written"
        raise ValueError(f"{path} {told}: it has {size} bytes of {whole}; write the file anew")
    data = everything[first:]
    if verify and hashlib.sha256(data.data).hexdigest() != metadata["data"]:
        raise ValueError(f"the data of {path} are not what was written: write the file anew")
    quantized_ops.load()
    tensors = {name: _tensor(data, part) for name, part in header.items()}
    return {name: _made(told, name, tensors) for name, told in json.loads(metadata["tables"]).items()}


def _mapped(descriptor: int, size: int) -> np.ndarray:
    """The bytes of a file, private where they are written to.

    No memory is set aside for such copies, of which there are none: a file may be larger than memory.
    """
    if not size:
        return np.zeros(0, np.uint8)
    flags, access = mmap.MAP_PRIVATE | _NO_RESERVE, mmap.PROT_READ | mmap.PROT_WRITE
    return np.frombuffer(mmap.mmap(descriptor, size, flags=flags, prot=access), np.uint8)


def _bytes_of(tensor: Tensor) -> memoryview:
    return tensor.detach().contiguous().view(-1).numpy().view(np.uint8).data


def _hash_of(header: Mapping[str, Any], metadata: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps([header, metadata], sort_keys=True).encode()).hexdigest()


def _parsed(text: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:  # no text, or no JSON
        return None
    return found if isinstance(found, dict) else None


def _check_version(path: str | os.PathLike[str], version: str) -> None:
    if version not in (str(VERSION), str(LIVE_VERSION)):
        raise ValueError(
            f"{path} is of version {version} of frozen tables, and this Mirror reads {VERSION} and {LIVE_VERSION}: "
            "write it anew, or take the Mirror that wrote it"
        )


def _tensor(data: np.ndarray, part: Mapping[str, Any]) -> Tensor:
    start, end = part["data_offsets"]
    return torch.from_numpy(data[start:end]).view(_DTYPES[part["dtype"]]).view(part["shape"])


def _described(bag: FrozenBag) -> dict[str, Any]:
    told: dict[str, Any] = {"dim": bag.embedding_dim, "mode": bag.mode, "padding_idx": bag.padding_idx}
    told["include_last_offset"] = bag.include_last_offset
    told["dtype"] = next(code for code, dtype in _OUTPUTS.items() if dtype == bag.dtype)
    if isinstance(bag, FrozenTable):
        return {**told, "storage": bag.storage, "ids": bag.num_embeddings, "remainders": bag.remainders}
    if isinstance(bag, FrozenLiveChunks):
        storage, _, ids, chunks = bag.shape
        return {**told, "storage": storage, "ids": ids, "chunks": chunks}
    assert isinstance(bag, FrozenFields)
    parts = {name: table and _described(table) for name, table in (("own", bag.own), ("shared", bag.shared))}
    return {**told, **parts, "fields": bag.fields, "whole": bag.whole}


def _made(told: Mapping[str, Any], name: str, tensors: Mapping[str, Tensor]) -> FrozenBag:
    if "chunks" in told:
        shape = (told["storage"], told["dim"], told["ids"], told["chunks"])
        options = {option: value for option, value in _options(told).items() if option != "dim"}
        return FrozenLiveChunks(tensors[f"{name}.buckets"], tensors[f"{name}.rows"], shape, **options)
    if "fields" not in told:
        return _table(told, name, tensors)
    own, shared = (told[part] and _table(told[part], f"{name}.{part}", tensors) for part in ("own", "shared"))
    shifts, live = tensors[f"{name}.shifts"], tensors[f"{name}.live"]
    return FrozenFields(
        told["fields"], own=own, shared=shared, shifts=shifts, live=live, whole=told["whole"], **_options(told)
    )


def _table(told: Mapping[str, Any], name: str, tensors: Mapping[str, Tensor]) -> FrozenTable:
    rows = tensors[f"{name}.rows"]
    return FrozenTable(rows, told["storage"], ids=told["ids"], remainders=told["remainders"], **_options(told))


def _options(told: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: told[name] for name in ("dim", "mode", "padding_idx", "include_last_offset")}
    return {**known, "dtype": _OUTPUTS[told["dtype"]]}
