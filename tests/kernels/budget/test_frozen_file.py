"""Frozen tables in a file: the same lookups, mapped and not read, in several processes, and files that are refused."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from bench_engine.kernels.budget import CompressedEmbeddingBag, LookupCounts, open_frozen, save_frozen
from bench_engine.kernels.budget.frozen_file import _mapped
from bench_engine.kernels.quantized import (
    QuantizedEmbeddingBag,
    QuantizedFIITEDEmbeddingBag,
    QuantizedOptimizer,
    QuantizedQuotientRemainderEmbeddingBag,
)
from tests.kernels.fiited.processes import values

pytestmark = pytest.mark.usefixtures("built_kernels")

FIELDS = [5, 75, 120]


def live():
    table = QuantizedFIITEDEmbeddingBag(200, 64, 0.3, admission=1, mode="mean", padding_idx=9)
    optimizer = QuantizedOptimizer(table)
    table(torch.arange(0, 200, 3).unsqueeze(1)).sum().backward()
    optimizer.step()
    return table


def tables():
    torch.manual_seed(0)
    counts = torch.cat([torch.full((5,), 900), torch.full((75,), 20), torch.where(torch.arange(120) % 9 == 2, 60, 1)])
    counted = LookupCounts.of(FIELDS, counts)
    return {
        "rows": QuantizedEmbeddingBag(200, 16, mode="max", padding_idx=3),
        "of the layer.products": QuantizedQuotientRemainderEmbeddingBag(200, 33, storage="int4", mode="mean"),
        "fields": CompressedEmbeddingBag(FIELDS, 16, 0.0016, counts=counted, dtype=torch.bfloat16, padding_idx=7),
        "zeros": CompressedEmbeddingBag.of_rows(torch.rand(200, 3), np.zeros(0, np.int64), (0, 0.0)),
        "live": live(),
        "half": QuantizedEmbeddingBag(200, 7, storage="float16", include_last_offset=True),
    }


@pytest.fixture
def written(tmp_path):
    made = tables()
    save_frozen(tmp_path / "tables", made)
    return made, tmp_path / "tables"


IDS, ENDS = torch.randint(200, (40,), generator=torch.Generator().manual_seed(1)), torch.tensor([0, 3, 3, 40])


def test_lookups_are_the_same(written):
    made, path = written
    opened = open_frozen(path, verify=True)
    assert list(opened) == list(made)
    for name, table in made.items():
        assert torch.equal(opened[name](IDS, ENDS), table.to_frozen()(IDS, ENDS)), name
        assert opened[name].memory_bytes() == table.to_frozen().memory_bytes()
        assert opened[name].state_dict().keys() == table.to_frozen().state_dict().keys()
    save_frozen(path, opened)  # of what is mapped from it
    assert torch.equal(open_frozen(path)["fields"](IDS, ENDS), opened["fields"](IDS, ENDS))
    assert [p.name for p in path.parent.iterdir()] == ["tables"]


def test_a_file_is_of_the_version_that_its_tables_need(tmp_path):
    save_frozen(tmp_path / "file", {"rows": tables()["rows"]})
    assert parts(tmp_path / "file")[0]["__metadata__"]["version"] == "1"
    save_frozen(tmp_path / "file", {"live": live(), "fields": tables()["fields"]})
    assert parts(tmp_path / "file")[0]["__metadata__"]["version"] == "2"
    opened = open_frozen(tmp_path / "file")["live"]
    assert opened(IDS, ENDS).any()
    assert opened.buckets.data_ptr() % 64 == 0


def test_the_bytes_are_those_of_the_file_and_nobody_writes_to_it(written):
    _, path = written
    before = path.read_bytes()
    table = open_frozen(path)["rows"]
    maps = Path("/proc/self/maps").read_text().splitlines()
    (where,) = [line.split("-") for line in maps if line.endswith(str(path))][:1]
    first, last = int(where[0], 16), int(where[1].split()[0], 16)
    assert first <= table.rows.data_ptr() < last
    table.rows.fill_(0)
    assert path.read_bytes() == before
    assert open_frozen(path, verify=True)["rows"].rows.any()


def looked_up(path):
    return open_frozen(path)["fields"](IDS, ENDS)


def test_several_processes_look_up_in_one_file(written):
    made, path = written
    for found in values(2, looked_up, path):
        assert torch.equal(found, made["fields"].to_frozen()(IDS, ENDS))


def test_safetensors_reads_it(written):
    safetensors = pytest.importorskip("safetensors")
    made, path = written
    with safetensors.safe_open(path, "pt") as file:
        assert file.metadata()["format"] == "mirror-frozen-tables"
        assert torch.equal(file.get_tensor("rows.rows"), made["rows"].rows)
        assert torch.equal(file.get_tensor("fields.live"), made["fields"].live)
        rows = file.get_tensor("rows.rows")
    scales, numbers = rows[:, :2].contiguous().view(torch.bfloat16).float(), rows[:, 2:].view(torch.int8).float()
    torch.testing.assert_close(scales * numbers, made["rows"].materialize())


def parts(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def write(path, header, data):
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is no file of frozen tables$"),
        (b"PK\x03\x04 something else that is long enough", "is no file of frozen tables$"),
        ((10).to_bytes(8, "little") + b"[1, 2, 3] ", "is no file of frozen tables$"),
        ((2**63).to_bytes(8, "little") + b"{}", "is no file of frozen tables$"),
        ((2).to_bytes(8, "little") + b"{}", "is no file of frozen tables$"),
        ((500).to_bytes(8, "little") + b'{"__metadata__"', "or was cut short in its header"),
    ],
)
def test_foreign_files_are_refused(tmp_path, content, told):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=told):
        open_frozen(tmp_path / "file")


def test_files_that_were_changed_are_refused(written):
    _, path = written
    data = path.read_bytes()
    for length, told in ((len(data) - 1, "was cut short"), (100, "cut short in its header")):
        path.write_bytes(data[:length])
        with pytest.raises(ValueError, match=told):
            open_frozen(path)
    path.write_bytes(data + b"0")
    with pytest.raises(ValueError, match="has more than was written"):
        open_frozen(path)
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    open_frozen(path)  # the data are not read
    with pytest.raises(ValueError, match=r"the data of .* are not what was written"):
        open_frozen(path, verify=True)
    path.write_bytes(data)
    header, rest = parts(path)
    header["rows.rows"]["shape"] = [100, 36]
    write(path, header, rest)
    with pytest.raises(ValueError, match=r"the header of .* is not what was written"):
        open_frozen(path)
    header["__metadata__"]["version"] = "3"
    write(path, header, rest)
    with pytest.raises(ValueError, match="is of version 3 of frozen tables, and this Mirror reads 1 and 2"):
        open_frozen(path)


def test_what_cannot_be_written_is_named(tmp_path):
    with pytest.raises(ValueError, match="there is no table to write"):
        save_frozen(tmp_path / "tables", {})
    with pytest.raises(TypeError, match="it must be a quantized or compressed table, not a Linear"):
        save_frozen(tmp_path / "tables", {"it": torch.nn.Linear(2, 2)})
    with pytest.raises(FileNotFoundError):
        open_frozen(tmp_path / "tables")


def test_tables_whose_parts_would_have_one_name_are_refused(tmp_path):
    made = tables()
    with pytest.raises(ValueError, match=r"two tables would be fields\.own\.rows in the file"):
        save_frozen(tmp_path / "tables", {"fields": made["fields"], "fields.own": made["rows"]})
    assert not list(tmp_path.iterdir())


def test_a_file_may_be_larger_than_memory(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(2 * 2**40)  # of nothing
    with path.open("rb") as file:
        found = _mapped(file.fileno(), 2 * 2**40)
    assert len(found) == 2 * 2**40
    assert found[-1] == 0
