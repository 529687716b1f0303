"""Kernels of the literature in the annotation style of the original tool's users: PolyBench, sparse, boundaries.

Every file is tuned for this CPU, and compiled for a GPU whose kernels run on a device made of a process; both compute
what the file's own text computes. What a GPU cannot take is refused with the dependence that says so.
"""

import itertools
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tilewright.base.errors import IllegalTransformError
from tilewright.workloads.annotated.call import make_input
from tilewright.workloads.annotated.nests.nest import Verbatim
from tilewright.workloads.annotated.parse.file import read_file, read_text, sibling
from tilewright.workloads.annotated.verbs.annotate import annotate
from tilewright.workloads.annotated.verbs.case import Case, input_sizes, make_case
from tilewright.workloads.annotated.verbs.gpu import DeviceVariant, device_variant
from tilewright.workloads.annotated.verbs.options import AnnotatedOptions, space_of

FOLDER = Path(__file__).with_name("literature")
FILES = sorted(path.stem for path in FOLDER.glob("*.c"))
OFTEN = {"covariance_import", "chill_matmul", "fdtd_polysyn", "counted_down", "spmv_csr"}
"""Those with something of their own; the others run with ``-m stress``."""
RECURRENCES = {
    "cholesky": "the loop over 'i' cannot run in parallel, nor can one inside it: flow dependence of 'A'",
}
"""What a GPU cannot take: every loop carries a dependence, and no rewrite frees one."""
SLOW = {"fdtd_polysyn"}
"""What is analysed for seconds at every point, so that one of them has to be enough."""
_MAIN = """
#include <stdio.h>
static void tw_pass(const char *name, const char *mode, void *data, size_t bytes) {
  FILE *file = fopen(name, mode);
  if (file == NULL || (mode[0] == 'r' ? fread(data, 1, bytes, file) : fwrite(data, 1, bytes, file)) != bytes) exit(2);
  fclose(file);
}
int main(void) {
  START
  void *tw_p[COUNT + 1];
  static const size_t sizes[] = {SIZES, 0};
  char name[64];
  for (int k = 0; k < COUNT; k++) {
    tw_p[k] = GIVEN(sizes[k]);
    snprintf(name, sizeof name, "in%d", k);
    tw_pass(name, "rb", tw_p[k], sizes[k]);
  }
  tw_run(tw_p);
  for (int k = 0; k < COUNT; k++) {
    snprintf(name, sizeof name, "out%d", k);
    tw_pass(name, "wb", tw_p[k], sizes[k]);
  }
  return 0;
}
"""


def marked(names: list[str]) -> list:
    return [name if name in OFTEN else pytest.param(name, marks=pytest.mark.stress) for name in names]


def test_there_are_files():
    assert len(FILES) >= 30
    assert set(FILES) >= OFTEN | RECURRENCES.keys()


@pytest.mark.parametrize("name", marked(FILES))
def test_a_file_is_tuned_and_computes_what_its_text_says(name):
    result = annotate(FOLDER / f"{name}.c", runs=4, seconds=300, repeats=1, search="Randomsearch", seed=3)
    for site in result.to_dict()["regions"]:
        for size in site["results"]:
            assert set(size["outcomes"]) == {"ok"}, size["failures"]
            assert size["validated"]
            assert size["finite"]


def case_of(name: str) -> Case:
    path = FOLDER / f"{name}.c"
    (site,) = read_file(read_text(path), lambda other: sibling(FOLDER, other))
    return make_case(site, site.spec, input_sizes(site.spec, {})[0], FOLDER)


def variants(name: str, case: Case) -> list[DeviceVariant]:
    """One point of the space of large values, and the first one."""
    space = space_of(case)
    points = [[len(each) - 1 - n % 2 * (len(each) > 1) for n, each in enumerate(space.values)], [0] * len(space.values)]
    options = AnnotatedOptions(backend="cuda")
    return [device_variant(case, space.at(tuple(point)), options) for point in points[: 1 if name in SLOW else 2]]


def outputs(folder: Path, unit: str, case: Case, command: Sequence[str]) -> list[np.ndarray]:
    """Compile a unit with a main function, run it on random inputs, and return what it leaves."""
    folder.mkdir()
    rng, device = np.random.default_rng(7), command[0] == "g++"
    start = [make_input(each, rng, case.inputs) for each in case.inputs]
    for number, array in enumerate(start):
        array.tofile(folder / f"in{number}")
    main = _MAIN.replace("START", "device::start();" if device else "").replace("COUNT", str(len(start)))
    main = main.replace(
        "GIVEN(sizes[k])", "device::allocate(device::host, sizes[k], false)" if device else "malloc(sizes[k])"
    )
    text = unit + main.replace("SIZES", ", ".join(str(array.nbytes) for array in start))
    source = folder / ("unit.cpp" if device else "unit.c")
    source.write_text(text, encoding="utf-8")
    made = subprocess.run(
        [*command, "-w", str(source), "-o", str(folder / "unit"), "-lm"], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr[:2000]
    done = subprocess.run([str(folder / "unit")], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    return [np.fromfile(folder / f"out{n}", array.dtype).reshape(array.shape) for n, array in enumerate(start)]


@pytest.mark.parametrize("name", marked([name for name in FILES if name not in RECURRENCES]))
def test_a_file_computes_on_a_gpu_what_its_text_says(name, tmp_path, device_compiler):
    case = case_of(name)
    wanted = outputs(tmp_path / "text", case.reference(), case, ("cc", "-std=gnu17", "-O1", "-ffp-contract=off"))
    seen = set()
    for number, made in enumerate(variants(name, case)):
        prelude = "\n".join(dict.fromkeys(made.preludes))
        bodies = [
            re.sub(r"(\w+)<<<(.*?)>>>\((.*)\);", r"device::launch(\2)([=] { \1(\3); });", each) for each in made.bodies
        ]
        unit = case.unit([Verbatim(body) for body in bodies], prelude)
        if unit in seen:
            continue
        seen.add(unit)
        got = outputs(tmp_path / f"device{number}", unit, case, (*device_compiler, "-include", "cuda_runtime.h"))
        for each, one, other in zip(case.inputs, got, wanted, strict=True):
            if one.dtype.kind == "f":
                largest = float(np.max(np.abs(other)))
                assert np.isfinite(largest)
                np.testing.assert_allclose(
                    one, other, rtol=0, atol=2000 * np.finfo(one.dtype).eps * largest, err_msg=each.name
                )
            else:
                np.testing.assert_array_equal(one, other, err_msg=each.name)


@pytest.mark.parametrize("name", sorted(RECURRENCES))
def test_a_recurrence_is_refused_for_a_gpu_with_its_dependence(name):
    with pytest.raises(IllegalTransformError, match=re.escape(RECURRENCES[name])):
        variants(name, case_of(name))


def test_the_files_ask_for_every_module():
    texts = "".join(path.read_text() for path in FOLDER.glob("*.c"))
    asked = (
        "begin PolySyn",
        "begin SpMV",
        "begin CHiLL",
        "import spec",
        "transform CUDA",
        "transform OpenCL",
        "transform Composite",
    )
    assert [
        each for each in itertools.chain(asked, ("-Xptxas", "$CC", "-framework", "for (;")) if each not in texts
    ] == []
