"""What the arguments of CUDA and OpenCL transforms do to a device program's text."""

import re

import numpy as np
import pytest
from tests.workloads.annotated.guessed_types import scalar_types

from tilewright.base.errors import IllegalTransformError, UsageError
from tilewright.codegen.print.source import CUDA, OPENCL
from tilewright.workloads.annotated.lower.apply import Applied, apply_transforms
from tilewright.workloads.annotated.lower.device import DeviceProgram, launch_of, lower
from tilewright.workloads.annotated.lower.host import host_body, host_prelude
from tilewright.workloads.annotated.lower.kernels import kernels_text
from tilewright.workloads.annotated.lower.lowering import code
from tilewright.workloads.annotated.lower.parallel import on_cpu
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests.nest import Name, Num
from tilewright.workloads.annotated.nests.scalars import inline_temporaries, localise
from tilewright.workloads.annotated.parse.c import parse_code
from tilewright.workloads.annotated.parse.evaluate import formula

NEST = "for (i=0;i<n;i++) for (j=0;j<=4;j++) y[i] += a[j]*x[i];"
NEAR = "for (i=1;i<n-1;i++) y[i] = x[i-1] + x[i+1];"

CODES = {
    "int64_t": "q", "size_t": "Q", "int32_t": "i", "unsigned": "I", "float": "f", "double": "d", "long": "q",
    "int": "i", "short": "h", "char": "b",
}  # fmt: skip
"""NumPy's codes of the types."""


def made(text: str, kind: str = "CUDA", **args) -> DeviceProgram:
    stmt = parse_code(text, "x")
    stmt = localise(inline_temporaries(stmt, {}), scalar_types(stmt, {}))
    shapes = {"a": (Num("5"),), "x": (Name("n"),), "y": (Name("n"),)}
    return lower(
        stmt,
        {"kind": kind, "threadCount": 32, "blockCount": 14, **args},
        NestContext(types=scalar_types(stmt, {})),
        shapes,
    )


@pytest.mark.parametrize(("kilobytes", "preference"), [(16, "PreferShared"), (32, "PreferEqual"), (48, "PreferL1")])
def test_the_cache_preference_is_set_and_taken_back(kilobytes, preference):
    text = host_body(made(NEST, preferL1Size=kilobytes), CUDA)
    steps = [f"cudaFuncCache{preference}", "<<<", "cudaFuncCachePreferNone"]
    places = [text.index(step) for step in steps]
    assert places == sorted(places)
    assert "CacheConfig" not in host_body(made(NEST), CUDA)


def test_hints_and_flags_of_opencl():
    program = made(
        NEST, "OpenCL", workGroups=3, workItemsPerGroup=96, vecHint=4, sizeHint=True, clFlags="-cl-mad-enable"
    )
    kernel = kernels_text(program, OPENCL)
    assert "__attribute__((vec_type_hint(double4)))" in kernel
    assert "__attribute__((work_group_size_hint(96, 1, 1)))" in kernel
    assert "tw_global = (size_t)3 * 96, tw_local = 96;" in host_body(program, OPENCL)
    assert '"-cl-mad-enable")' in host_body(program, OPENCL)
    assert "vec_type_hint(double4)" in host_prelude(program, OPENCL)
    assert "__attribute__" not in kernels_text(made(NEST, "OpenCL"), OPENCL)
    with_device = host_body(made(NEST, "OpenCL", platform=1, device=2), OPENCL)
    assert "tw_open(1, 2)" in with_device


@pytest.mark.parametrize("ctype", sorted(CODES))
@pytest.mark.parametrize("sums", [0, 3])
def test_shared_memory_takes_as_many_arrays_as_fit_beside_the_sums(ctype, sums):
    """Every array of a block's elements and every partial sum has a place in the 48 KiB, and no further one would."""
    threads, names = 1024, [f"x{number}" for number in range(60)]
    text = " + ".join(f"{name}[i]" for name in names)
    more = "".join(f" s{number} += x{number}[i];" for number in range(sums))
    stmt = parse_code(f"for (i=0;i<n;i++) {{ y[i] = {text};{more} }}", "x")
    types = scalar_types(stmt, {**dict.fromkeys(names, ctype), "y": "double"})
    shapes = dict.fromkeys([*names, "y"], (Name("n"),))
    args = {"kind": "CUDA", "threadCount": threads, "cacheBlocks": True}
    (kernel,) = lower(stmt, args, NestContext(types=types), shapes).kernels
    each = threads * np.dtype(CODES[ctype]).itemsize
    assert len(kernel.cached) == min(len(names), (48 * 1024 - sums * 8 * threads) // each)


def applied(transform: str, text: str) -> Applied:
    return apply_transforms(
        parse_code(f"{transform} {text}", "x"),
        NestContext(types={"x": "double", "y": "double"}),
        lambda each: formula(each).value({}),
        lambda each: parse_code(f"v = {each};", "x").value,
        strict=True,
    )


def test_composite_asks_for_the_same_launch_as_a_transform_of_its_own():
    given = applied("transform Composite(cuda=(64, True, False, 3))", NEST)
    own = applied("transform CUDA(threadCount=64, cacheBlocks=True, pinHostMem=False, streamCount=3)", NEST)
    assert launch_of(given.device) == launch_of(own.device)
    assert launch_of(given.device).streams == 3
    assert given.device["kind"] == own.device["kind"] == "CUDA"


@pytest.mark.parametrize(
    ("text", "on_device", "fits"),
    [
        ("for (i=0;i<a[0];i++) y[i] = x[i];", False, True),
        ("for (i=0;i<a[0];i++) y[i] = x[i];", True, False),
        ("{ for (i=0;i<n;i++) a[i] = n/2; for (i=0;i<a[0];i++) y[i] = x[i]; }", False, False),
        (
            "for (t=0;t<a[0];t++) { for (i=0;i<n;i++) y[i] = y[i] + x[i]; for (i=0;i<n;i++) x[i] = y[n-1-i]; }",
            False,
            False,
        ),
    ],
)
def test_loops_whose_bounds_only_the_device_knows_are_refused(text, on_device, fits):
    if fits:
        assert "const int tw_last = a[0] - 1;" in host_body(made(text, dataOnDevice=on_device), CUDA)
        return
    with pytest.raises(IllegalTransformError, match=r"bounds of the loop over .* are on the device"):
        made(text, dataOnDevice=on_device)


def test_the_host_decides_a_condition_around_loops():
    program = made("{ for (i=0;i<n;i++) y[i] = 0; if (m > 1) for (i=0;i<n;i++) y[i] = x[i]; else y[0] = 1; }")
    text = host_body(program, CUDA)
    assert re.search(r"if \(m > 1\) {.*kernel2<<<.*} else {.*kernel3<<<1, 1>>>", text, re.DOTALL)


TWO = (
    "{ transform CUDA(threadCount=64, blockCount=28, unrollInner=2, preferL1Size=16{0})"
    " for (i=0;i<n;i++) for (j=0;j<=4;j++) y[i] += a[j]*x[i];"
    " transform CUDA(threadCount=32, blockCount=3, unrollInner=4, cacheBlocks=True, preferL1Size=48{1})"
    " for (i=1;i<n-1;i++) for (j=0;j<=4;j++) x[i] += a[j]*y[i]; }"
)


def lowered(text: str) -> DeviceProgram:
    result = applied(text, "")
    return lower(result.stmt, result.device, NestContext(), {"a": (Num("5"),), "x": (Name("n"),), "y": (Name("n"),)})


def test_every_transform_of_a_region_launches_its_own_kernel():
    program = lowered(TWO.replace("{0}", "").replace("{1}", ""))
    text, kernels = host_body(program, CUDA), kernels_text(program, CUDA)
    assert [each.launch.threads for each in program.kernels] == [64, 32]
    assert "tw_kernel1<<<28, 64>>>" in text
    assert "tw_kernel2<<<3, 32>>>" in text
    assert text.index("PreferShared") < text.index("tw_kernel1<<<") < text.index("PreferL1") < text.index("tw_kernel2")
    assert text.index("tw_kernel2<<<") < text.index("PreferNone")
    first, second = kernels.split("tw_kernel2(")
    assert "#pragma unroll 2\n" in first
    assert "#pragma unroll 4\n" in second
    assert "blockIdx.x * 64 + tw_t" in first
    assert "tw_base = tw_first + (int)blockIdx.x * 32" in second or "blockIdx.x * 32 + tw_t" in second


def test_a_kernel_without_a_transform_of_its_own_is_launched_as_what_is_around_it_says():
    time = (
        "transform CUDA(threadCount=96) for (t=0;t<T;t++) { for (i=1;i<n-1;i++) y[i] = x[i-1] + x[i+1];"
        " transform CUDA(threadCount=32) for (i=1;i<n-1;i++) x[i] = y[i]; }"
    )
    assert [each.launch.threads for each in lowered(time).kernels] == [96, 32]
    one = "{ for (i=0;i<n;i++) y[i] = x[i]; transform CUDA(threadCount=96) for (i=0;i<n;i++) x[i] = 2*y[i]; }"
    assert [each.launch.threads for each in lowered(one).kernels] == [96, 96]


@pytest.mark.parametrize("argument", ["dataOnDevice", "pinHostMem"])
def test_what_is_the_whole_regions_cannot_differ_inside_it(argument):
    with pytest.raises(UsageError, match=f"agree on {argument}, got True and False"):
        lowered(TWO.replace("{0}", f", {argument}=True").replace("{1}", f", {argument}=False"))


def test_threads_of_a_cpu_unroll_every_nest_as_its_own_transform_says():
    result = applied(TWO.replace("{0}", "").replace("{1}", ""), "")
    stmt, _ = on_cpu(result.stmt, result.device, NestContext())
    text = code(stmt)
    assert text.index("GCC unroll 2") < text.index("a[j] * x[i]") < text.index("GCC unroll 4") < text.index("a[j] * y")


def test_more_streams_than_devices_had_are_clipped_with_a_note():
    program = made("for (i=0;i<n;i++) y[i] = x[i];", streamCount=40)
    assert program.kernels[0].launch.streams == 16
    assert "streamCount is 16 in place of 40" in program.notes[0]


def test_a_scalar_of_the_host_is_fetched_from_the_device():
    program = made("for (k=0;k<n;k++) { double w = y[k]; for (i=0;i<n;i++) y[i] = y[i] + w*x[i]; }")
    text = host_body(program, CUDA)
    assert "double w;" in text
    assert "cudaMemcpy(&w, tw_part_w" in text
    with pytest.raises(IllegalTransformError, match="the scalar 'w' is assigned on the device"):
        made("{ w = x[0]*w; for (i=0;i<n;i++) y[i] = w; }")


def test_a_recurrence_beside_parallel_loops_runs_in_one_thread():
    program = made("{ for (i=0;i<n;i++) y[i] = 2*x[i]; for (i=1;i<n;i++) y[i] = 0.5*y[i-1] + x[i]; }")
    assert [kernel.loop is None for kernel in program.kernels] == [False, True]
    assert any("the loop over 'i' runs in one thread: flow dependence of 'y'" in note for note in program.notes)
