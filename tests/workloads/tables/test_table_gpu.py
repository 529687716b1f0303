"""GPU kernels of recurrences under Oclgrind: results, races, accesses out of bounds; and compiled by NVRTC."""

import itertools
import re

import numpy as np
import pytest
from tests.sampling import some

import tilewright as tw
from tilewright.base.errors import ArrayError, UsageError
from tilewright.plan import read_target
from tilewright.runtime.devices import nvrtc, opencl
from tilewright.runtime.devices.drivers import device_machine, open_device
from tilewright.workloads.tables import call as table_gpu
from tilewright.workloads.tables import schedule as rules
from tilewright.workloads.tables.catalogue import names, recurrence_named
from tilewright.workloads.tables.fill import filling
from tilewright.workloads.tables.lower import gpu as gpu_table
from tilewright.workloads.tables.lower.gpu import emit_gpu_table
from tilewright.workloads.tables.schedule import TableShape, table_default

pytest.importorskip("pyopencl")

BACKEND = "opencl:oclgrind"
ARCHITECTURES = ("sm_52", "sm_70", "sm_80", "sm_90")
GAPS = {"gap_open": 5, "gap_extend": 2}


@pytest.fixture(scope="module", autouse=True)
def _interpreter():
    opencl.prepare_oclgrind()


def inputs(name, shape, seed=0):
    """Inputs of a built-in recurrence and its scalars."""
    rng = np.random.default_rng(seed)
    if name == "monotone_paths":
        return (rng.random(shape) < 0.85,), {}
    pair = tuple(rng.integers(0, 4, extent) for extent in shape)
    return (pair, {}) if name in {"edit_distance", "lcs"} else ((*pair, rng.integers(-3, 6, (4, 4))), GAPS)


def same(capfd, name, shape, tile, dtype, result="table"):
    given, scalars = inputs(name, shape)
    options = {"result": result, "dtype": dtype}
    capfd.readouterr()
    found = filling(name, given, scalars, backend=BACKEND, tiling=tile, **options)
    said = capfd.readouterr()
    assert not re.search("race|invalid|uninitialized", (said.err + said.out).lower()), said.err[:2000]
    expected = filling(name, given, scalars, backend="numpy", **options).values
    pairs = zip(found.values, expected, strict=True) if isinstance(expected, tuple) else [(found.values, expected)]
    assert all(np.array_equal(value, other) for value, other in pairs), (name, tile)
    return found


TILES = ("orthogonal:t=5,s=12,sub=3", "orthogonal:t=1,s=2,sub=1", "orthogonal:t=40,s=64,sub=8")


@pytest.mark.parametrize("case", some(list(itertools.product(TILES, names())), 1))
def test_tables_without_races_and_inside_their_arrays(capfd, case):
    tile, name = case
    dtype = "bool" if name == "monotone_paths" else "int32"
    shape = (9, 7) if "t=1," in tile else (23, 31)
    same(capfd, name, shape, tile, dtype)


@pytest.mark.stress
@pytest.mark.parametrize("dtype", ["int16", "int64", "float32", "float64"])
@pytest.mark.parametrize("result", ["table", "last", "sum"])
def test_types_and_results(capfd, dtype, result):
    same(capfd, "smith_waterman", (17, 21), "orthogonal:t=6,s=8,sub=2", dtype, result)


@pytest.mark.stress
@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (30, 1), (5, 12), (6, 13)])
def test_any_extents(capfd, shape):
    same(capfd, "edit_distance", shape, "orthogonal:t=5,s=12,sub=4", "int32")


def test_the_default_tile_is_the_models_for_the_device(capfd):
    machine = device_machine(open_device(read_target(BACKEND)))
    found = same(capfd, "lcs", (40, 300), None, "int32", "last")
    assert found.tiling == table_default(recurrence_named("lcs"), (40, 300), "int32", machine)
    assert found.threads == found.tiling.space[0] // found.tiling.sub[0]


@pytest.mark.stress
def test_a_tile_without_sub_tiles_is_cut_for_threads(capfd):
    found = same(capfd, "lcs", (9, 30), "orthogonal:t=8,s=24", "int32")
    assert (found.tiling.time, found.tiling.space) == (8, (24,))
    assert found.threads == 24 // found.tiling.sub[0] > 1


@tw.recurrence(rows="a", columns="b", outside=lambda i, j: i + j, semiring="min_plus")
def _far(d, a, b):
    return tw.minimum(d[-2, -3] + tw.where(a[0] == b[0], 0, 2), tw.minimum(d[-1, 0], d[0, -3]) + 1)


@pytest.mark.stress
def test_reads_further_back_need_wider_sub_tiles():
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 3, 19), rng.integers(0, 3, 26)
    expected = tw.fill(_far, a, b, backend="numpy")
    assert np.array_equal(tw.fill(_far, a, b, backend=BACKEND, tiling="orthogonal:t=4,s=9,sub=3"), expected)
    with pytest.raises(UsageError, match="a thread's sub-tile of 2 columns is smaller than the 3"):
        tw.fill(_far, a, b, backend=BACKEND, tiling="orthogonal:t=4,s=8,sub=2")


@pytest.mark.stress
def test_large_matrices_stay_in_memory(capfd, monkeypatch):
    monkeypatch.setattr(rules, "_CHIP_BYTES", 0)
    same(capfd, "needleman_wunsch", (11, 13), "orthogonal:t=6,s=8,sub=2", "int32")


def test_scores_of_alignments_equal_the_cpus():
    rng = np.random.default_rng(5)
    letters = "ARNDCQEGHILKMFPSTWYV"
    a, b = ("".join(letters[i] for i in rng.integers(0, 20, size)) for size in (45, 61))
    found = tw.align(a, b, score_only=True, backend=BACKEND)
    assert found.score == tw.align(a, b, score_only=True).score
    assert (found.backend, found.scoring, found.cells) == ("opencl", "BLOSUM62", 45 * 61)
    with pytest.raises(UsageError, match="traced on the CPU"):
        tw.align(a, b, backend=BACKEND)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    TW_BARRIER();\n  }\n", "  }\n"),
        ("(((a + 1) % 3)", "(((a + 1) % 2)"),
        ("own = tw_min((n - j0), 3)", "own = 3"),
    ],
)
def test_a_fault_in_the_kernel_is_found(capfd, monkeypatch, old, new):
    real = gpu_table.emit_gpu_table

    def broken(*arguments):
        import dataclasses

        source = real(*arguments)
        assert old in source.text
        return dataclasses.replace(source, text=source.text.replace(old, new))

    monkeypatch.setattr(table_gpu, "emit_gpu_table", broken)
    table_gpu._source.cache_clear()
    try:
        with pytest.raises(AssertionError):
            same(capfd, "smith_waterman", (23, 31), "orthogonal:t=5,s=12,sub=3", "int32")
    finally:
        table_gpu._source.cache_clear()


@pytest.mark.parametrize("name", names())
def test_the_cuda_text_compiles_for_every_architecture(name):
    pytest.importorskip("nvidia.cuda_nvrtc")
    dtype = "bool" if name == "monotone_paths" else "int32"
    shape = TableShape(threads=32, sub=8, chip="score" in {each.name for each in recurrence_named(name).inputs})
    source = emit_gpu_table(recurrence_named(name), dtype, (), shape, "cuda")
    for architecture in ARCHITECTURES:
        needs = nvrtc.compile_cuda(source.text, architecture, strict=True).resources
        assert needs.spill_bytes == 0
        assert needs.shared_bytes == source.kernels[0].shared_bytes


def test_what_a_gpu_cannot_do_is_one_sentence(monkeypatch):
    given, scalars = inputs("lcs", (8, 9))
    with pytest.raises(UsageError, match="2000 sub-tiles is more than one group"):
        filling("lcs", given, scalars, backend=BACKEND, tiling="orthogonal:t=8,s=2000,sub=1")
    with pytest.raises(UsageError, match="on a GPU 'lcs' runs in orthogonal tiles, got 'none'"):
        filling("lcs", given, scalars, backend=BACKEND, tiling="none")
    with pytest.raises(UsageError, match="one of auto, c, numpy, opencl, cuda, got 'gpu'"):
        filling("lcs", given, scalars, backend="gpu")
    device = opencl.select("oclgrind")
    monkeypatch.setattr(device, "memory_bytes", 1000)
    with pytest.raises(ArrayError, match="ask for its last cell or its sum alone"):
        filling("lcs", *inputs("lcs", (40, 50)), backend=BACKEND)
