"""Annotated files from end to end: read, checked, tuned, validated, written."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.sampling import some
from tests.workloads.annotated.compiled import library, pointers
from typer.testing import CliRunner

from tilewright.base.errors import IllegalTransformError, ToolchainError, UsageError
from tilewright.base.records import Measurement, Outcome
from tilewright.cli.app import app
from tilewright.runtime.devices import nvrtc
from tilewright.runtime.devices import opencl as oclgrind_runtime
from tilewright.runtime.warn import forget_warnings
from tilewright.workloads.annotated import call as runtime
from tilewright.workloads.annotated.nests.dependences import analyse
from tilewright.workloads.annotated.nests.limit import TimeUpError, limited
from tilewright.workloads.annotated.parse.c import parse_code
from tilewright.workloads.annotated.parse.file import read_file
from tilewright.workloads.annotated.search import ALGORITHMS, Deadline, ParameterSpace, search_loops
from tilewright.workloads.annotated.verbs import annotate as annotate_module
from tilewright.workloads.annotated.verbs import gpu as annotate_gpu
from tilewright.workloads.annotated.verbs.annotate import annotate
from tilewright.workloads.annotated.verbs.case import command_of
from tilewright.workloads.annotated.verbs.meter import Beside, CpuMeter

EXAMPLES = Path(__file__).parents[4] / "examples" / "annotated"
FIGURE_3 = EXAMPLES / "matmult_seqdia.c"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.c"))
SMALL = {
    "matmult_seqdia": {"m": 32, "n": 32},
    "vec_dot_norm": {"N": 3000},
    "bratu_function": {"M": 16, "K": 16},
    "jacobi_time_loop": {"T": 5, "N": 60},
    "heat_expression": {"T": 20, "N": 500},
    "cg_iteration": {"m": 40, "n": 40},
    "bratu_ex5": {"Mx": 30, "My": 30},
}
DEVICE = [
    "matmult_seqdia",
    "vec_dot_norm",
    "vec_waxpy_norm",
    "blur_streams",
    "lu_factor",
    "bratu_function",
    "bratu_ex5",
    "cg_iteration",
]
RECURRENCE = """
void f(int n, double *y) {
  int i;
  /*@ begin PerfTuning (
    def performance_params { param TC[] = [32]; }
    def input_params { param N[] = [100]; }
    def input_vars { decl static double y[N] = random; }
  ) @*/
  int n = N;
  /*@ begin Loop(transform CUDA(threadCount=TC)
    for (i = 1; i <= n-1; i++) y[i] = y[i-1] + 1.0;
  ) @*/
  for (i = 1; i <= n-1; i++) y[i] = y[i-1] + 1.0;
  /*@ end @*/
  /*@ end @*/
}
"""


@pytest.fixture
def file(tmp_path):
    def write(text, name="a.c"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_there_are_enough_examples():
    assert len(NAMES) >= 13


@pytest.mark.parametrize("name", some(NAMES[::2] + NAMES[1::2], 7))
def test_examples_are_tuned_and_every_variant_agrees_with_the_original(name):
    result = annotate(
        EXAMPLES / f"{name}.c", runs=2, seconds=300, repeats=1, search="Randomsearch", sizes=SMALL.get(name)
    )
    for site in result.to_dict()["regions"]:
        for size in site["results"]:
            assert not set(size["outcomes"]) - {"ok"}, size["failures"]
            assert size["validated"] is site["tuned"]
    assert result.notes == ()  # the old file compiles, and so does the new one


def test_the_papers_figure_3_goes_through_nvrtc():
    pytest.importorskip("nvidia.cuda_nvrtc", reason="needs pip install 'tilewright[cuda]'")
    forget_warnings()  # another test may have got this one already, and it is given once
    with pytest.warns(UserWarning, match=r"no code for sm_20, so sm_75 is used"):
        result = annotate(FIGURE_3, backend="cuda", runs=3, seconds=300, sizes={"m": 64, "n": 64})
    (size,) = result.to_dict()["regions"][0]["results"]
    ((name, taken),) = size["resources"].items()
    assert taken["registers"] > 0
    assert size["validated"] is False  # compiled, not run
    assert f"{name}<<<" in result.text
    assert "cudaMemcpy(dev_A, A, (size_t)(m * n * nos * dof) * sizeof(double), cudaMemcpyHostToDevice)" in result.text
    assert re.search(r"cudaDeviceSetCacheConfig\(cudaFuncCachePrefer(L1|Shared)\)", result.text)
    assert result.text.count("/* @ end @*/") == 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DEVICE)
def test_cuda_code_of_the_examples_compiles(name):
    if not nvrtc.available():
        pytest.skip("needs pip install 'tilewright[cuda]'")
    result = annotate(
        EXAMPLES / f"{name}.c", backend="cuda", runs=2, seconds=300, sizes=SMALL.get(name), machine="a100"
    )
    for size in result.to_dict()["regions"][0]["results"]:
        assert set(size["outcomes"]) == {"ok"}, size["failures"]
        assert size["resources"]


@pytest.fixture
def oclgrind():
    """Skip where programs cannot be linked with OpenCL, or Oclgrind, which interprets kernels, is missing."""
    try:
        oclgrind_runtime.oclgrind_library()
        runtime.build(("cc", "-lOpenCL"), "#include <CL/cl.h>\nint x(void) { return clGetPlatformIDs(0, 0, 0); }")
    except ToolchainError as error:
        pytest.skip(f"no OpenCL here: {error}")


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("matmult_seqdia", {"m": 32, "n": 32}),
        ("vec_dot_norm", {"N": 500}),
        ("blur_streams", {"N": 600}),
        ("lu_factor", {"N": 12}),
        ("cg_iteration", {"m": 12, "n": 12}),
        ("bratu_ex5", {"Mx": 12, "My": 12}),
    ],
)
def test_opencl_code_runs_under_oclgrind_and_agrees(oclgrind, name, sizes):
    result = annotate(
        EXAMPLES / f"{name}.c",
        backend="opencl:oclgrind",
        runs=2,
        seconds=300,
        repeats=1,
        sizes=sizes,
        search="Randomsearch",
    )
    (size,) = result.to_dict()["regions"][0]["results"]
    assert size["outcomes"].get("ok", 0) >= 1, size["failures"]
    assert not set(size["outcomes"]) - {"ok"}, size["failures"]
    assert "clEnqueueNDRangeKernel" in result.text


def test_what_oclgrind_finds_is_a_failure(oclgrind, monkeypatch):
    """A kernel that writes one element too many is no candidate, though its results agree."""
    real = annotate_gpu.device_variant

    def broken(*arguments):
        made = real(*arguments)
        assert made.preludes[0].count("i <= ") == 1
        return replace(made, preludes=tuple(text.replace("i <= ", "i - 3 <= ") for text in made.preludes))

    monkeypatch.setattr(annotate_gpu, "device_variant", broken)
    with pytest.raises(UsageError, match=r"Oclgrind: Invalid (read|write)"):
        annotate(EXAMPLES / "matvec_scale_resident.c", backend="opencl:oclgrind", runs=1, repeats=1, sizes={"N": 100})


def test_a_recurrence_is_refused_with_its_dependence(file):
    for backend in ("cuda", "opencl", "c"):
        options = {"search": "Exhaustive", "strict": True} if backend == "c" else {}
        options |= {"machine": "a100"} if backend == "cuda" else {}
        with pytest.raises(UsageError, match=r"flow dependence of 'y'|no variant ran"):
            annotate(
                file(RECURRENCE.replace("param TC", "param parallel[] = [True]; param TC")), backend=backend, **options
            )


PARAMETERS = {
    "seen": (
        "void f(int N, double *x, double *y)",
        "param N[] = [100, 200];",
        "decl dynamic double x[N] = random; decl dynamic double y[N] = random;",
        ("if (N == 100) {", "} else if (N == 200) {"),
    ),
    "one": (
        "void f(int n, double *x, double *y)",
        "param N[] = [100, 200];",
        "decl int n = N; decl dynamic double x[N] = random; decl dynamic double y[N] = random;",
        ("if (n == 100) {", "else if (n == 200) {"),
    ),
    "two of one": (
        "void f(int n, int m, double *x, double *y)",
        "param N[] = [100, 200];",
        "decl int n = N; decl int m = 2*N; decl dynamic double x[N] = random; decl dynamic double y[2*N] = random;",
        ("if (m == 200 &&\n      n == 100) {",),
    ),
    "one of two": (
        "void f(int n, double *x, double *y)",
        "param N[] = [100, 200]; param P[] = [3, 5];",
        "decl int n = P*N; decl dynamic double x[P*N] = random; decl dynamic double y[P*N] = random;",
        ("if (n == 300) {", "else if (n == 1000) {"),
    ),
    "none": (
        "void f(int n, double *x, double *y)",
        "param N[] = [100, 200];",
        "decl int n = 90; decl dynamic double x[N] = random; decl dynamic double y[N] = random;",
        (),
    ),
}
"""Parameters of the input, most of them no names of C, with what the file has instead and what has to choose by it."""


@pytest.mark.parametrize("name", PARAMETERS)
def test_sizes_are_told_apart_by_what_the_file_has(name, file, tmp_path):
    head, params, inputs, tests = PARAMETERS[name]
    second, count = ", int" in head, "N" if "int N" in head else "n"
    body = f"for (i = 0; i < {count}; i++) y[i] = 3.0*x[i] + y[{'m - 1 - i' if second else 'i'}];"
    text = f"""
{head} {{
  int i;
  /*@ begin PerfTuning (
    def performance_params {{ param U[] = [4]; }}
    def input_params {{ {params} }}
    def input_vars {{ {inputs} }}
  ) @*/
  /*@ begin Loop(transform Unroll(ufactor=U) {body}) @*/
  {body}
  /*@ end @*/
  /*@ end @*/
}}
"""
    result = annotate(file(text), out=tmp_path / "out.c", seconds=300, repeats=1)
    assert all(test in result.text for test in tests)
    assert ("if (" in result.text) is bool(tests)
    assert ("another size: the original body" in result.text) is bool(tests)
    old, new = (library(source).f for source in (file(text), tmp_path / "out.c"))
    for size in (100, 200, 300, 1000, 77):
        results = [np.ones(2 * size), np.ones(2 * size)]
        for function, y in zip((old, new), results, strict=True):
            function(size, *([2 * size] if second else []), *pointers((np.arange(float(size)), y)))
        np.testing.assert_array_equal(results[1], results[0])


def test_parameters_reach_the_build_command(file):
    text = (EXAMPLES / "vec_axpy.c").read_text()
    text = re.sub(r"param CFLAGS\[\] = .*;", "param CFLAGS[] = ['-funroll-loops']; param LEVEL = 2;", text)
    for written in ("@CFLAGS", "@CFLAGS@", "-O@LEVEL@ @CFLAGS"):
        changed = text.replace("-O3 @CFLAGS", written)
        (site,) = read_file(changed)
        command = command_of(site.spec, {"CFLAGS": "-funroll-loops", "LEVEL": 2})
        assert command.split() == ["gcc", *["-O2"] * ("LEVEL" in written), "-funroll-loops"]
    (size,) = annotate(file(changed), runs=1, seconds=300, repeats=1).to_dict()["regions"][0]["results"]
    assert {"-O2", "-funroll-loops"} <= set(size["command"].split())


def test_a_cut_search_goes_on_from_its_log(tmp_path):
    log = tmp_path / "log"
    path, options = EXAMPLES / "vec_axpy.c", {"runs": 3, "seconds": 300, "repeats": 1, "sizes": {"N": 1000}, "log": log}
    annotate(path, **options)
    size = log.stat().st_size
    again = annotate(path, **options)
    assert log.stat().st_size == size
    assert again.to_dict()["regions"][0]["results"][0]["evaluated"] == 3
    log.write_bytes(log.read_bytes()[: size // 2])
    annotate(path, **options)
    assert size // 2 < log.stat().st_size


def test_out_of_bounds_loops_are_refused(file):
    text = (EXAMPLES / "vec_axpy.c").read_text().replace("i <= n-1", "i <= n")
    with pytest.raises(UsageError, match="leaves its array where i = 100000"):
        annotate(file(text))


def test_a_file_that_does_not_compile_is_named(file):
    text = "void f(int n, double *x) {\n int i;\n/*@ Loop(transform Unroll(ufactor=2)) @*/\n{0}\n/*@ end @*/\n}\n"
    path = file(text.replace("{0}", "for (i = 0; i < n; i++) x[i] = offsets[i];"))
    (note,) = annotate(path).notes
    assert note.startswith(f"{path} does not compile as it stands: a.c:4:")
    assert "offsets" in note
    assert note in str(annotate(path))
    assert annotate(path).to_dict()["notes"] == [note]
    assert annotate(file(text.replace("{0}", "for (i = 0; i < n; i++) x[i] = 1;"))).notes == ()
    bare = text.replace("\n{0}", "").replace("=2)", "=2) for (i = 0; i < n; i++) x[i] = {0};")
    assert annotate(file(bare.replace("{0}", "1"))).notes == ()
    assert "offsets" in annotate(file(bare.replace("{0}", "offsets[i]"))).notes[0]
    text = "double w[CELLS];\n" + (EXAMPLES / "vec_axpy.c").read_text().replace("gcc -O3 @CFLAGS", "gcc -DCELLS=9")
    assert annotate(file(text), runs=1, seconds=300, repeats=1).notes == ()


def test_a_new_file_that_does_not_compile_is_not_written(file, tmp_path, monkeypatch):
    from tilewright.workloads.annotated.verbs import annotate as module

    path = file(
        "void f(int n, double *x) {\n int i;\n/*@ Loop() @*/\nfor (i = 0; i < n; i++) x[i] = 1;\n/*@ end @*/\n}\n"
    )
    monkeypatch.setattr(module, "replaced", lambda text, _: text.replace("x[i] = 1", "x[i] = last"))
    with pytest.raises(ToolchainError, match=r"a.c compiles, what became of it does not: a.c:4:\d+: error: .last."):
        annotate(path, out=tmp_path / "b.c")
    assert not (tmp_path / "b.c").exists()


def test_line_ends_stay_what_they_are(file, tmp_path):
    path, out = tmp_path / "a.c", tmp_path / "b.c"
    text = "void f(int n, double *x) {\n int i;\n/*@ Loop(\ntransform Unroll(ufactor=2)\n"
    text += "for (i = 0; i < n; i++) x[i] = 1;\n) @*/\nfor (i = 0; i < n; i++)\n  x[i] = 1;\n/*@ end @*/\n}\n"
    for end in ("\n", "\r\n"):
        path.write_bytes(text.replace("\n", end).encode())
        annotate(path, out=out)
        new = out.read_bytes()
        assert new.count(b"\r\n") == (new.count(b"\n") if end == "\r\n" else 0)
        assert b"x[i + 1] = 1;" in new


def test_the_same_loops_are_no_gain(file, measured):
    """A winner whose code is the original's own, or not surely faster, claims nothing."""
    text = (EXAMPLES / "vec_axpy.c").read_text()
    text = re.sub(r"param UF\[\] = .*;", "param UF[] = [1];", re.sub(r"param CFLAGS\[\] = .*;", "", text))
    path = file(text.replace("@CFLAGS", ""))
    result = annotate(path, runs=1, seconds=300)
    (size,) = result.to_dict()["regions"][0]["results"]
    if not size.get("automatic"):
        assert size["kept_original"] is True
        assert size["speedup"] == 1.0
        assert result.text.partition("@*/")[2] == path.read_text().partition("@*/")[2]
    assert not Beside(rounds=((1.0, 2.0), (1.9, 3.0)), command=(), same=True).gained
    assert not Beside(rounds=((1.0, 2.0), (2.0, 3.0)), command=()).gained
    assert not Beside(rounds=((1.0, 2.0),), command=()).gained
    assert Beside(rounds=((1.0, 2.0), (1.9, 3.0)), command=()).gained


def test_a_size_without_time_keeps_the_original(file, monkeypatch):
    """What was found for other sizes is written; only where nothing was found is the file refused."""
    text = (EXAMPLES / "vec_axpy.c").read_text().replace("param N[] = [100000]", "param N[] = [100, 200, 300]")
    start, late = CpuMeter.start, {200}

    def started(meter):
        if meter.case.numbers["N"] in late:
            raise TimeUpError("the time was over before the original body was built and run", "give more --seconds")
        start(meter)

    monkeypatch.setattr(CpuMeter, "start", started)
    result = annotate(file(text), runs=1, seconds=300, repeats=1)
    assert [f"N == {size}" in result.text for size in (100, 200, 300)] == [True, False, True]
    sizes = result.to_dict()["regions"][0]["results"]
    assert [size["validated"] for size in sizes] == [True, False, True]
    assert sizes[1]["notes"] == [
        "the time was over before the original body was built and run: the original body stays"
    ]
    assert sizes[1]["kept_original"] is True
    assert "N=200: not tuned" in str(result)
    late |= {100, 300}
    with pytest.raises(TimeUpError, match="the time was over before the original body was built and run"):
        annotate(file(text), runs=1, seconds=300, repeats=1)


def test_analysis_ends_with_the_time():
    nest = parse_code("for (i = 1; i < n; i++) { x[i] = x[i-1]; y[i] = x[i]; z[i] = y[i-1] + z[i-1]; }", "a test")
    left = iter([5.0, 4.0, 3.0, 0.0])
    with limited(lambda: next(left)), pytest.raises(TimeUpError, match="the time was over before the loops were an"):
        analyse(nest)
    assert analyse(nest).complete


def test_a_wrong_variant_never_wins(file):
    """An old body that says something else than the annotation: every variant disagrees."""
    text = (EXAMPLES / "vec_axpy.c").read_text()
    head, tail = text.rsplit("y[i] += a*x[i];", 1)
    with pytest.raises(UsageError, match="'y' differs from the original body's"):
        annotate(file(head + "y[i] += a*x[i] + 1e-6;" + tail), runs=2, seconds=300, repeats=1)


def test_outputs_do_not_overwrite_their_source(file):
    path = file((EXAMPLES / "vec_axpy.c").read_text())
    with pytest.raises(UsageError, match="would overwrite"):
        annotate(path, out=path)


def test_shell_text_in_a_build_command_is_refused_before_anything_runs(file, tmp_path):
    text = (EXAMPLES / "vec_axpy.c").read_text().replace("gcc -O3 @CFLAGS", f"gcc -O3 ; touch {tmp_path}/HIT")
    with pytest.raises(UsageError, match="a build command is a compiler and its flags"):
        annotate(file(text), seconds=5)
    assert not (tmp_path / "HIT").exists()


def test_the_command_line(tmp_path):
    out = tmp_path / "o.c"
    arguments = ["annotate", str(EXAMPLES / "vec_axpy.c"), "-o", str(out), "--runs", "2", "--seconds", "300", "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["output"] == str(out)
    assert document["regions"][0]["results"][0]["validated"] is True
    assert out.exists()
    bad = CliRunner().invoke(app, ["annotate", str(tmp_path / "missing.c")])
    assert bad.exit_code == 2


class Bowl:
    """A meter whose best point is known."""

    def __init__(self, best):
        self.best = best
        self.seen = []

    def measure(self, points):
        self.seen += points
        return [self.again(point) for point in points]

    def again(self, point):
        cost = 1.0 + sum((point[name] - best) ** 2 for name, best in self.best.items())
        return Measurement(seconds=(cost,))


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_searches_find_the_bottom_of_a_bowl(name):
    space = ParameterSpace(
        names=("a", "b", "c"),
        values=(tuple(range(12)), tuple(range(9)), tuple(range(7))),
        # DIRECT judges a box by its middle, which a constraint may exclude.
        refused=lambda values: "odd" if values["c"] % 2 and name != "Direct" else "",
    )
    meter = Bowl({"a": 7, "b": 3, "c": 4})
    runs = 500 if name == "Exhaustive" else 150
    choice = search_loops(space, name, meter, runs=runs, deadline=Deadline(), seed=1)
    assert choice.winner is not None
    assert choice.winner.seconds <= (1.0 if name in {"Exhaustive", "Model", "Randomlocal"} else 6.0)
    assert name == "Direct" or all(point["c"] % 2 == 0 for point in meter.seen)
    assert len(meter.seen) == len({tuple(point.items()) for point in meter.seen})


def test_failures_do_not_stop_a_search():
    class Half(Bowl):
        def again(self, point):
            if point["a"] % 2:
                return Measurement(outcome=Outcome.CRASH, detail="it crashed")
            return super().again(point)

    space = ParameterSpace(names=("a",), values=(tuple(range(8)),))
    choice = search_loops(space, "Exhaustive", Half({"a": 3}), runs=8, deadline=Deadline())
    assert choice.winner.values["a"] in {2, 4}
    assert choice.finished


def test_refused_transforms_name_what_is_wrong(file):
    text = (EXAMPLES / "vec_axpy.c").read_text().replace("transform Unroll", "transform Unrol")
    with pytest.raises(UsageError, match="the transforms are"):
        annotate(file(text), runs=1, seconds=300)
    assert IllegalTransformError.__mro__[1] is UsageError


def test_the_analysis_ends_a_tenth_after_the_search(tmp_path, monkeypatch):
    ends = []

    def deadline(end):
        ends.append(end)
        return Deadline(end=0.0)  # there is no time for anything

    monkeypatch.setattr(annotate_module, "Deadline", deadline)
    with pytest.raises(UsageError):
        annotate(tmp_path / "missing.c", seconds=100)
    assert ends[1] - ends[0] == pytest.approx(10, abs=1)
