"""Annotated loops on a card that is not there, and on one that is: what is counted, priced, run and said."""

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from tilewright.base.errors import UsageError
from tilewright.cli.app import app
from tilewright.machines.defaults import GpuDescription
from tilewright.machines.files import load, names
from tilewright.runtime.devices import cuda
from tilewright.workloads.annotated.parse.file import read_file
from tilewright.workloads.annotated.verbs import gpu
from tilewright.workloads.annotated.verbs.annotate import annotate
from tilewright.workloads.annotated.verbs.case import input_sizes, make_case
from tilewright.workloads.annotated.verbs.gpu import device_variant
from tilewright.workloads.annotated.verbs.options import AnnotatedOptions, space_of
from tilewright.workloads.annotated.verbs.priced import expected_seconds, kernel_launch

EXAMPLES = Path(__file__).parents[4] / "examples" / "annotated"
REGION = """
void f() {{
  /*@ begin PerfTuning (
    def build {{ arg build_command = '{build}'; }}
    def performance_params {{ {params} }}
    def input_params {{ param n[] = [{n}]; }}
    def input_vars {{ {inputs} }}
  ) @*/
  int i, j, k;
  /*@ begin Loop(transform CUDA({arguments}) {body} ) @*/
  {body}
  /*@ end @*/
  /*@ end @*/
}}
"""
AXPY = "decl static double x[n] = random; decl static double y[n] = random; decl double a = 1.5;"
MATRIX = "decl static float A[n][n] = random; decl static float x[n] = random; decl static float y[n] = 0;"
NVCC = """#!{python}
import re, subprocess, sys
words = sys.argv[1:]
source, target = next(word for word in words if word.endswith(".c")), words[words.index("-o") + 1]
text = open(source).read()
text = re.sub(r"(\\w+)<<<(.*?)>>>\\((.*)\\);", r"device::launch(\\2)([=] {{ \\1(\\3); }});", text)
open(source + "pp", "w").write(text)
open("{log}", "a").write(" ".join(words) + "\\n")
kept = [word for word in words if word.startswith(("-D", "-std"))]
command = [*{command}, *kept, "-shared", "-include", "cuda_runtime.h", source + "pp", "-o", target]
sys.exit(subprocess.run(command).returncode)
"""
"""In the place of nvcc: kernels run on a device made of a process, whose threads take turns."""


def region(
    body, inputs, arguments="threadCount=TC, blockCount=28", params="param TC[] = [64, 128];", n=1000, build="nvcc"
):
    return REGION.format(body=body, inputs=inputs, arguments=arguments, params=params, n=n, build=build)


def first_variant(text):
    (site,) = read_file(text, pytest.fail)
    case = make_case(site, site.spec, input_sizes(site.spec, {})[0], Path())
    values = space_of(case).at((0,) * len(site.spec.params))
    return case, device_variant(case, values, AnnotatedOptions(backend="cuda"))


def counted(text):
    """What one iteration of the first kernel does, and its accesses by stride and elements."""
    case, made = first_variant(text)
    (program,) = made.programs
    return kernel_launch(program.kernels[0], program, case, case.known, None)


def test_an_update_of_a_row_is_counted():
    one = counted(region("for (i=0;i<=n-1;i++) y[i] += a*x[i];", AXPY))
    assert (one.iterations, one.doubles, one.floats, one.specials) == (1000.0, 2.0, 0.0, 0.0)
    assert (one.threads, one.blocks, one.registers) == (64, 28, 32)
    assert sorted((each.count, each.stride, each.nbytes) for each in one.accesses) == [
        (1.0, 1, 8000.0),
        (2.0, 1, 8000.0),
    ]


@pytest.mark.parametrize(
    ("element", "stride"), [("A[i][j]", 100), ("A[j][i]", 1), ("A[n-1-i][j]", -100), ("A[j][2*i/3]", None)]
)
def test_strides_between_threads_follow_from_subscripts(element, stride):
    body = f"for (i=0;i<=n-1;i++) for (j=0;j<=n-1;j++) y[i] += {element}*x[j];"
    one = counted(region(body, MATRIX, n=100))
    found = {each.stride: each.count for each in one.accesses if each.nbytes == 40000.0}
    assert found == {stride: 100.0}
    assert {each.stride: each.count for each in one.accesses if each.nbytes == 400.0}[0] == 100.0  # x[j]
    assert (one.floats, one.iterations) == (200.0, 100.0)


def test_a_scalar_between_keeps_its_stride():
    inputs = AXPY.replace("double a = 1.5", "static int o[5] = {-2,-1,0,1,2}")
    body = """for (i=0;i<=n-1;i++) for (j=0;j<=4;j++) { k = i+o[j]; if (k>=0&&k<n) y[i] += x[k]; }"""
    # o[j] differs from turn to turn and not from thread to thread.
    assert {each.stride for each in counted(region(body, inputs)).accesses} == {0, 1}


def test_cache_blocks_bring_elements_once_through_shared_memory():
    body = "for (i=1;i<=n-2;i++) y[i] = x[i-1]+x[i]+x[i+1];"
    plain, cached = (
        counted(region(body, AXPY, f"threadCount=TC, blockCount=28, cacheBlocks={each}")) for each in (False, True)
    )
    assert sum(each.count for each in plain.accesses) == 4.0
    assert sum(each.count for each in cached.accesses) == 1.0 + 66 / 64
    assert (cached.chip_words, cached.barriers) == (2 * (66 / 64 + 3), 2)
    assert cached.shared_bytes == 66 * 8


def test_unrolling_saves_turns_of_the_inner_loop():
    body = "for (i=0;i<=n-1;i++) for (j=0;j<=n-1;j++) y[i] += A[i][j]*x[j];"
    plain, four = (
        counted(region(body, MATRIX, f"threadCount=TC, blockCount=28, unrollInner={each}", n=100)) for each in (1, 4)
    )
    assert plain.integers - four.integers == 3.0 * 100 * (1 - 1 / 4)


def test_a_loop_of_the_host_launches_its_kernels_again_and_again():
    body = """for (k=0;k<=n-1;k++) {
    for (i=1;i<=n-2;i++) y[i] = x[i-1]+x[i+1];
    for (i=1;i<=n-2;i++) x[i] = y[i];
  }"""
    case, made = first_variant(region(body, AXPY, n=50))
    machine = load("c2070")
    whole = expected_seconds(made.programs, {}, case, machine)
    assert whole > 100 * machine.launch_seconds.value


def test_every_gpu_of_the_catalogue_has_a_price_of_its_own():
    case, made = first_variant(region("for (i=0;i<=n-1;i++) y[i] += a*x[i];", AXPY, n=10**6))
    gpus = [load(name) for name in names() if name not in {"host", "k20c-regression"} and load(name).kind == "gpu"]
    found = [expected_seconds(made.programs, {}, case, each) for each in gpus]
    copies = 3 * 8e6 / gpus[0].host_bandwidth.value  # x and y there, y back
    assert all(copies < seconds < 3 * copies for seconds in found)
    assert len(set(found)) == len(gpus) > 12


@pytest.mark.filterwarnings("ignore")
def test_without_a_device_points_are_priced_for_a_card_and_said_to_be(tmp_path):
    path = tmp_path / "f.c"
    path.write_text(region("for (i=0;i<=n-1;i++) y[i] += a*x[i];", AXPY, build="nvcc -arch=sm_20"))
    found = {}
    for name in (None, "gtx980", "h200"):
        result = annotate(path, backend="cuda", machine=name)
        (size,) = result.to_dict()["regions"][0]["results"]
        found[size["priced_for"]] = size["expected_seconds"]
        assert f"2 of 2 points priced for {size['priced_for']}, expected and not measured" in str(result)
        assert f"on {size['priced_for']}, expected, not measured" in str(result)
        assert "points measured" not in str(result)
        assert size["validated"] is False
    assert set(found) == {"c2070", "gtx980", "h200"}  # the first is the build command's
    assert len(set(found.values())) == 3


def test_a_card_must_be_named_where_nothing_says_which(tmp_path):
    path = tmp_path / "f.c"
    path.write_text(region("for (i=0;i<=n-1;i++) y[i] += a*x[i];", AXPY, build="gcc -O3"))
    result = CliRunner().invoke(app, ["annotate", str(path), "--backend", "cuda"])
    assert result.exit_code == 2
    assert "there is no CUDA device here" in result.stderr
    assert "--machine c2070" in result.stderr
    for backend, machine in (("c", "h200"), ("cuda", "zen3")):
        with pytest.raises(
            UsageError, match=f"a machine is a GPU that variants for cuda are priced for, got {machine}"
        ):
            annotate(path, backend=backend, machine=machine)


@pytest.fixture
def device(tmp_path, monkeypatch, device_compiler):
    """A CUDA device, and an nvcc whose kernels run in a process; returns the file that says how it was called."""
    folder, log = tmp_path / "bin", tmp_path / "nvcc.log"
    folder.mkdir()
    (folder / "nvcc").write_text(NVCC.format(python=sys.executable, command=device_compiler, log=log))
    (folder / "nvcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    card = GpuDescription(name="NVIDIA H200", units=132)
    monkeypatch.setattr(cuda, "select", lambda: SimpleNamespace(architecture="sm_90", describe=lambda: card))
    return log


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("matmult_seqdia", {"m": 12, "n": 12}), ("blur_streams", {"N": 600}), ("vec_dot_norm", {"N": 500})],
)
def test_with_a_device_variants_run_and_are_compared(device, name, sizes):
    result = annotate(
        EXAMPLES / f"{name}.c",
        backend="cuda",
        runs=2,
        seconds=300,
        repeats=1,
        sizes=sizes,
        search="Randomsearch",
        seed=2,
    )
    (size,) = result.to_dict()["regions"][0]["results"]
    assert size["outcomes"] == {"ok": 2}, size["failures"]
    assert size["validated"]
    assert size["priced_for"] is None
    assert size["speedup"] > 0
    assert "2 of " in str(result)
    assert "points measured" in str(result)
    assert size["command"] == "nvcc -arch=sm_90"
    assert "-O3 -arch=sm_90" in device.read_text()
    assert "<<<" in result.text


def test_arrays_that_are_on_the_device_are_brought_there_to_be_timed(device, tmp_path):
    path, arguments = tmp_path / "f.c", "threadCount=TC, blockCount=28, dataOnDevice=True"
    path.write_text(region("for (i=0;i<=n-1;i++) y[i] += a*x[i];", AXPY, arguments))
    result = annotate(path, backend="cuda", runs=1, repeats=1)
    (size,) = result.to_dict()["regions"][0]["results"]
    assert size["validated"]
    assert any(note.startswith("timed with copies") for note in size["notes"])
    assert "cudaMemcpy(" not in result.text


def test_what_computes_something_else_on_the_device_is_no_variant(device, monkeypatch):
    real = gpu.device_variant

    def broken(*arguments):
        made = real(*arguments)
        return replace(made, preludes=tuple(text.replace("3.0", "4.0") for text in made.preludes))

    monkeypatch.setattr(gpu, "device_variant", broken)
    with pytest.raises(UsageError, match="'y' differs from the original body's by"):
        annotate(EXAMPLES / "blur_streams.c", backend="cuda", runs=1, repeats=1, sizes={"N": 600})


def test_a_named_card_and_a_missing_nvcc_are_priced_though_there_is_a_device(device, monkeypatch):
    options = {"backend": "cuda", "runs": 1, "sizes": {"N": 600}}
    one = annotate(EXAMPLES / "blur_streams.c", **options, machine="h100")
    assert one.to_dict()["regions"][0]["results"][0]["priced_for"] == "h100"
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.warns(UserWarning, match="there is a CUDA device, but no nvcc that builds for it"):
        two = annotate(EXAMPLES / "blur_streams.c", **options)
    assert two.to_dict()["regions"][0]["results"][0]["priced_for"] == "nvidia-h200"
