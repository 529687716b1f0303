"""Micro-benchmarks of single operations on GPUs: what the compiler made of them, what they compute, what they count."""

import collections
import re
import struct

import numpy as np
import pytest

from energy import gpu as energy_gpu
from energy import kernels as gpu_energy
from energy.estimates import benchmarks
from energy.gpu import GpuBench, KernelSizes
from energy.kernels import ACCESSES, CHUNK, PER_TURN, THREADS
from tilewright.base.errors import UsageError
from tilewright.machines.defaults import GpuDescription
from tilewright.runtime.devices import nvrtc

OPCODES = {
    "awake": ((0x021,), 32), "add": ((0x021,), 128), "multiply": ((0x020,), 128), "fma": ((0x023,), 128),
    "int_add": ((0x010, 0x024), 128), "int_max": ((0x017, 0x048), 128), "divide": ((0x108,), 16),
    "shared_load": ((0x184,), 64), "shared_store": ((0x188,), 64), "load": ((0x181,), 64), "store": ((0x186,), 64),
    "barrier": ((0x11D,), 16),
}  # fmt: skip
"""Low nine bits of the operations' codes since Volta, FADD FMUL FFMA, IADD3 or IMAD, IMNMX or VIMNMX, MUFU, LDS STS,
LDG STG, BAR, and how many of them a turn does."""
AROUND = {"add": 7, "int_add": 24, "divide": 2, "shared_load": 0}
"""What else of the kind a kernel may need, to begin and to end: the sum of eight registers, and addresses."""
SIZES = KernelSizes(units=2, groups=3, shared_groups=2, l2_chunks=2, memory_chunks=7, call_seconds=0.0)
TURNS = 3


def operations(cubin):
    """Count the codes of every kernel of an ELF file: instructions have 16 bytes, their codes come first."""
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, table + size * number) for number in range(count)]
    found = {}
    for name, _, _, _, start, length, *_ in sections:
        at = sections[names][4] + name
        title = cubin[at : cubin.index(b"\0", at)].decode()
        if title.startswith(".text.tw_energy_"):
            codes = [cubin[start + i] | (cubin[start + i + 1] & 1) << 8 for i in range(0, length, 16)]
            found[title.removeprefix(".text.tw_energy_")] = collections.Counter(codes)
    return found


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_the_operations_are_really_there(architecture):
    code = nvrtc.compile_cuda(gpu_energy.energy_source("cuda").text, architecture)
    assert code.resources.spill_bytes == 0
    assert code.resources.shared_bytes == gpu_energy.CHIP_BYTES
    found = operations(code.cubin)
    assert set(found) == set(PER_TURN)
    for name, (codes, count) in OPCODES.items():
        assert count == PER_TURN[name]
        there = sum(found[name][code] for code in codes)
        assert count <= there <= count + AROUND.get(name, 0), name
    for name in ("add", "multiply", "fma", "int_add", "int_max"):
        assert sum(found[name][code] for code in (0x184, 0x188)) == 0, f"{name} uses the chip"
        assert found[name][0x181] <= 12, f"{name} reads memory in its loop"
    for name in ("shared_load", "load"):
        assert found[name][0x021] == ACCESSES + 7, f"{name} adds every word"
    assert sum(found["awake"].values()) < 100


def test_it_compiles_for_the_papers_gpus():
    needs = nvrtc.compile_kernels(gpu_energy.energy_source("cuda").text, "sm_52")
    assert set(needs) == {f"tw_energy_{name}" for name in PER_TURN}
    assert all(each.spill_bytes == 0 for each in needs.values())


def expected(kernel, values):
    """What a thread of an arithmetic kernel keeps after some turns, step by step."""
    kind = {"int_add": np.uint32, "int_max": np.int32}.get(kernel, np.float32)
    c, k = values[:4].astype(kind), values[4:].astype(kind)
    how = {
        "add": lambda k, _, c, __: k + c,
        "multiply": lambda k, _, c, __: k * c,
        "fma": lambda k, _, c, last: k * c + last,
        "int_add": lambda k, following, *_: k + following,
        "divide": lambda k, _, c, __: k / c,
    }
    for number in range(TURNS * PER_TURN[kernel] // 8):
        at = c[number % (2 if kernel in {"fma", "divide"} else 4)]
        step = how.get(kernel) or (lambda k, _, c, __, number=number: (max, min)[number % 2](k, c))
        for j in range(8):
            k[j] = step(k[j], k[(j + 1) % 8], at, c[3])
    return np.float32(np.add.reduce(k, dtype=kind))


def distinct(kernel):
    """Operands whose sums do not cancel, so that one operation more or less shows."""
    values = energy_gpu.operands(kernel)
    if kernel in {"add", "awake"}:
        values[:4] = (0.5, 0.25, 1.0, 2.0)
    if kernel == "multiply":
        values[:4] = (1.0625, 0.96875, 1.03125, 0.9375)
    if kernel == "divide":
        values[:2] = (1.0625, 0.96875)
    return values


@pytest.fixture
def bench(device, monkeypatch):
    known = {kernel: distinct(kernel) for kernel in PER_TURN}
    monkeypatch.setattr(energy_gpu, "operands", lambda kernel: known[kernel])
    with GpuBench(device, SIZES) as found:
        yield found, known


def compute(bench, benchmark, turns=TURNS):
    bench.run(benchmark, turns)()
    return bench.results()[: bench.groups(benchmark) * THREADS].reshape(-1, THREADS)


def test_kernels_compute_what_they_say(bench, capfd):
    """Sums are those of so many operations on such operands; the interpreter reports no race and no wrong access."""
    kernels, known = bench
    for kernel in ("add", "multiply", "fma", "int_add", "int_max", "divide"):
        with np.errstate(over="ignore"):
            wanted = expected(kernel, known[kernel].copy())
        np.testing.assert_allclose(compute(kernels, kernel), wanted, rtol=2e-5, err_msg=kernel)
    awake = known["awake"]
    assert compute(kernels, "awake")[:, 0] == pytest.approx(awake[4] + TURNS * 8 * awake[:4].sum())
    np.testing.assert_array_equal(compute(kernels, "barrier"), TURNS + known["barrier"][0])
    said = capfd.readouterr()
    assert not re.search("race|invalid|uninitialized", (said.err + said.out).lower()), said.err[:2000]


def test_accesses_go_where_they_say(bench, capfd):
    kernels, known = bench
    rng = np.random.default_rng(1)
    cells = rng.uniform(-1.0, 1.0, 7 * CHUNK).astype(np.float32).reshape(7, ACCESSES, THREADS).astype(np.float64)
    chip = cells.reshape(-1, THREADS)[: ACCESSES + 1]
    wanted = 2 * chip[:ACCESSES].sum(axis=0) + chip[1:].sum(axis=0)
    np.testing.assert_allclose(compute(kernels, "shared_load"), [wanted] * 2, atol=1e-4)
    passed = {"l2": ((0, 1, 0), (0, 1, 0), (1, 0, 1)), "memory": ((0, 1, 2), (2, 3, 4), (4, 5, 6))}
    for benchmark, chunks in passed.items():
        sums = [cells[list(each)].sum(axis=(0, 1)) for each in chunks]
        np.testing.assert_allclose(compute(kernels, benchmark), sums, atol=1e-4, err_msg=benchmark)
    stored = known["shared_store"][4:]
    np.testing.assert_array_equal(compute(kernels, "shared_store"), stored[TURNS % 8])
    assert compute(kernels, "shared_store", 9)[0, 0] in stored
    kernels.run("memory_store", TURNS)()
    after = np.empty(7 * CHUNK, np.float32)
    kernels._device.read(kernels._cells, 0, after)
    np.testing.assert_array_equal(after.reshape(7, ACCESSES, THREADS)[:, :, 5], [np.tile(stored, 8)] * 7)
    said = capfd.readouterr()
    assert not re.search("race|invalid|uninitialized", (said.err + said.out).lower()), said.err[:2000]


def test_operations_are_counted_per_thread(bench):
    kernels, _ = bench
    works = kernels.works()
    assert tuple(works) == benchmarks("gpu")
    for name, work in works.items():
        assert (work.operations == 0.0) == (name in {"idle", "awake"}), name
    assert kernels.operations("add", 10) == 128 * 10 * 3 * THREADS
    assert kernels.operations("shared_load", 10) == 64 * 10 * 2 * THREADS
    assert kernels.operations("memory_store", 10) == 64 * 10 * 3 * THREADS
    assert kernels.operations("barrier", 10) == 16 * 10 * 3


def test_sizes_suit_the_device():
    told = GpuDescription(
        name="NVIDIA H100", units=132, shared_bytes=233472, block_bytes=232448, memory_bytes=80 * 2**30,
        l2_bytes=50 * 2**20,
    )  # fmt: skip
    found = energy_gpu.sizes_for(told)
    assert (found.groups, found.shared_groups) == (528, 528)
    assert 10 * 2**20 < 4 * CHUNK * found.l2_chunks < 25 * 2**20
    assert 4 * CHUNK * found.memory_chunks == 400 * 2**20
    old = energy_gpu.sizes_for(GpuDescription(name="GeForce", units=16, shared_bytes=49152, block_bytes=49152))
    assert old.shared_groups == 16
    assert old.memory_chunks >= old.groups
    with pytest.raises(UsageError, match="pocl is no GPU"):
        energy_gpu.sizes_for(GpuDescription(name="pocl", units=2, gpu=False))
    with pytest.raises(UsageError, match="a group has 16384 bytes on the chip of Tiny, not 33280"):
        energy_gpu.sizes_for(GpuDescription(name="Tiny", units=2, block_bytes=16384))
