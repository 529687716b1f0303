"""What the calls of all workloads share: addresses, layouts, teams, memory, and one compilation per text."""

from dataclasses import replace

import numpy as np
import pytest

from tilewright.base.errors import ArrayError, ToolchainError
from tilewright.codegen.source import c_source
from tilewright.runtime import call, memory

TEXT = """#include <stdint.h>
void tw_sum(double *const *array, int64_t *size, double *work, const double *value) {
  work[0] = value ? value[0] : 0;
  for (int64_t i = 0; i < size[0]; ++i) work[0] += array[0][i] * array[1][i];
  size[1] = 7;
}
"""
COPY = np.arange(24.0).reshape(4, 6)


def off_by_a_byte(array):
    """The same array at an odd address."""
    room = np.zeros(array.nbytes + 1, np.uint8)
    found = room[1:].view(array.dtype).reshape(array.shape)
    found[...] = array
    assert not found.flags.aligned
    return found


def read_only(array):
    found = array.view()
    found.flags.writeable = False
    return found


@pytest.fixture
def product():
    return call.functions(c_source(TEXT, "tw_sum"))[0]


@pytest.mark.parametrize(
    "change",
    [
        np.asarray,
        read_only,
        off_by_a_byte,
        np.asfortranarray,
        lambda a: a[:0],
        lambda a: a[1:],
        lambda a: a.astype("M8[s]"),
    ],
)
def test_an_address_is_that_of_the_first_element(change):
    array = change(COPY.copy())
    assert call.address(array) == array.ctypes.data
    assert call.addresses([array, array[1:]]).tolist() == [array.ctypes.data, array[1:].ctypes.data]
    assert call.addresses([]).dtype == np.uintp


def test_a_function_gets_arrays_sizes_memory_and_scalars(product):
    a, b, work = np.arange(5.0), read_only(np.arange(5.0)), np.zeros(1)
    product((a, b), (5, 0), work)
    assert work[0] == 30
    sizes = np.array([3, 0])
    product((a, b), sizes, work, np.array([0.5]))
    assert work[0] == 5.5
    assert sizes.tolist() == [3, 7], "an array of sizes is handed over itself"


@pytest.mark.parametrize(
    ("parallel", "asked", "options", "threads"),
    [
        (True, 8, {}, 8),
        (True, 8, {"parts": 3}, 3),
        (True, 2, {"parts": 3}, 2),
        (True, 2, {"parts": 0}, 1),
        (True, 8, {"worth": False}, 1),
        (False, 8, {"parts": 3}, 1),
    ],
)
def test_a_team_has_no_more_threads_than_there_are_parts_and_than_are_worth_it(parallel, asked, options, threads):
    assert call.CompiledFunction(function=None, parallel=parallel).team(asked, **options) == threads


STRANGE = {
    "another type": COPY.astype("float32"),
    "another order of bytes": COPY.astype(">f8"),
    "an odd address": off_by_a_byte(COPY),
    "strides of half a cell": np.zeros((4, 6), [("number", "f8"), ("flag", "i4")])["number"],
}
LAID = {
    "columns": np.asfortranarray(COPY),
    "every other cell": np.repeat(COPY, 2, axis=1)[:, ::2],
    "backwards": COPY[::-1],
    "rows apart": np.zeros((4, 9))[:, :6],
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_no_kernel_reads_is_copied(name):
    for found in (call.packed(STRANGE[name], "float64"), call.by_cells(STRANGE[name], "float64")):
        assert found.flags.carray
        assert found.dtype.isnative
        np.testing.assert_array_equal(found, STRANGE[name])
    if name != "another type":
        assert call.packed(STRANGE[name]).dtype == np.float64
        assert call.by_cells(STRANGE[name]).flags.aligned


@pytest.mark.parametrize("name", LAID)
def test_strides_are_what_was_asked_for(name):
    given = LAID[name]
    assert call.packed(given).flags.carray
    assert call.by_cells(given) is given
    assert (call.by_cells(given, rows=True) is given) == (name in {"backwards", "rows apart"})
    assert (call.by_cells(given, forward=True) is given) == (name != "backwards")
    for found in (call.packed(given), call.by_cells(given, rows=True, forward=True)):
        np.testing.assert_array_equal(found, given)
    assert call.packed(COPY) is COPY
    assert call.by_cells(COPY, "float64", rows=True, forward=True) is COPY


def test_written_arrays_overlap_neither_what_is_read_nor_each_other():
    whole = np.zeros(10)
    a, b, middle = whole[:5], whole[5:], whole[3:7]
    assert not call.overlap([a], [b])
    assert not call.overlap([a, b])
    assert not call.overlap([], [a, a])
    assert call.overlap([a], [b, middle])
    assert call.overlap([a, b, middle])


def test_memory_to_work_in_is_refused_together_with_the_results(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**25)
    assert call.scratch(2**20).nbytes == 2**20
    with pytest.raises(ArrayError, match=r"this run needs .* of memory but 32 MiB are available"):
        call.scratch(2**20, results=2**26)


def test_an_emitter_writes_once_for_the_same_arguments(product):
    calls = []

    def emit(name):
        calls.append(name)
        return replace(c_source(TEXT, "tw_sum"), text=TEXT + f"/* {name} */\n")

    first = call.compiled(emit, "a")
    assert call.compiled(emit, "a") is first
    assert call.compiled(emit, "b") is not first
    assert call.if_compiled(emit, "a") is first[0]
    assert calls == ["a", "b"]


def test_without_a_compiler_it_is_asked_for_once_or_every_time(monkeypatch):
    asked = []

    def missing():
        asked.append(1)
        raise ToolchainError("there is no C compiler")

    def emit():
        return c_source(TEXT, "tw_sum")

    monkeypatch.setattr(call, "toolchain", missing)
    assert [call.if_compiled(emit) for _ in range(3)] == [None] * 3
    assert len(asked) == 1
    for _ in range(2):
        with pytest.raises(ToolchainError, match="no C compiler"):
            call.compiled(emit)
    assert len(asked) == 3
