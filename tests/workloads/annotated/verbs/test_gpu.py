"""Regions without a specification on a device: how much of every array is copied, and when."""

import re

import pytest

from tilewright.base.errors import IllegalTransformError, UsageError
from tilewright.runtime.devices import nvrtc
from tilewright.runtime.warn import forget_warnings
from tilewright.workloads.annotated.verbs.annotate import annotate


def text_of(tmp_path, body: str, parameters: str = "int n, int m, double *x, double *y", backend: str = "cuda") -> str:
    forget_warnings()
    path = tmp_path / "a.c"
    kind = "CUDA(threadCount=64)" if backend == "cuda" else "OpenCL(workGroups=2)"
    path.write_text(
        f"""void f({parameters}) {{
  int i, j;
  /*@ begin Loop(transform {kind} {body}) @*/
  {body}
  /*@ end @*/
}}
"""
    )
    return annotate(path, backend=backend).text


def copied(text: str) -> dict[str, str]:
    """The number of elements of every array that is copied to the device."""
    return dict(re.findall(r"cudaMemcpy\(dev_(\w+), \w+, \(size_t\)(.*) \* sizeof\(\w+\), cudaMemcpyHost", text))


@pytest.mark.parametrize(
    ("body", "sizes"),
    [
        ("for (i=0;i<n;i++) if (i+1<n) y[i] = x[i+1];", {"y": "(n <= 1 ? 0 : n - 1)", "x": "(n <= 1 ? 0 : n)"}),
        ("for (i=0;i<n;i+=2) y[i] = x[i];", {"y": "(n <= 0 ? 0 : n % 2 + n - 1)"}),
        ("for (i=0;i<n;i++) for (j=0;j<n-i;j++) y[i] += x[j];", {"x": "(n <= 0 ? 0 : n)"}),
    ],
)
def test_copies_take_what_guards_and_steps_leave(tmp_path, body, sizes):
    found = copied(text_of(tmp_path, body))
    assert {name: found[name] for name in sizes} == sizes


def test_what_subscripts_do_not_tell_is_taken_from_the_declaration(tmp_path):
    body = "for (i=0;i<n;i++) for (j=0;j<m;j++) if (z[i] > 0) A[i][j] = x[j];"
    text = text_of(tmp_path, body, "int n, int m, double A[n][2*m], double x[m], int z[10]")
    found = copied(text)
    assert found["A"] == "(n * (2 * m))"
    assert found["x"] == "m"
    assert found["z"] == "(m >= 1 && n >= 1 ? n : 0)"
    assert "A[i * (2 * m) + j]" in text
    assert "const int m" in text
    assert (
        copied(
            text_of(tmp_path, "for (i=0;i<n;i++) if (x[i] > 0) y[i] = 1;", "int n, double x[n], double y[static n]")
        )["y"]
        == "n"
    )


@pytest.mark.parametrize(
    ("body", "parameters", "name"),
    [
        ("for (i=0;i<n;i++) if (x[i] > 0) y[i] = 1;", "int n, double *x, double *y", "y"),
        ("for (i=0;i<n;i++) if (x[i] > 0) y[i] = 1;", "int n, double x[n], double y[]", "y"),
        ("for (i=0;i<n;i++) for (j=0;j<m;j++) A[i][j] = x[j];", "int n, int m, double **A, double *x", "A"),
        ("for (i=0;i<n;i++) for (j=0;j<m;j++) if (i*m+j < n) y[i*m+j] = 1;", "int n, int m, double *y", "y"),
    ],
)
def test_an_array_whose_size_nothing_tells_is_refused_by_name(tmp_path, body, parameters, name):
    says = f"the size of '{name}' is neither declared nor told by its subscripts"
    for backend in ("cuda", "opencl"):
        with pytest.raises(UsageError, match=says) as caught:
            text_of(tmp_path, body, parameters, backend)
        assert f"double {name}[n]" in caught.value.hint


def test_an_array_of_the_hosts_that_a_kernel_would_need_is_refused(tmp_path):
    body = "for (i=0;i<n;i++) { double w[2]; w[0] = x[i]; for (j=0;j<n;j++) y[j] += w[0]; }"
    with pytest.raises(IllegalTransformError, match="the array 'w' is declared on the host"):
        text_of(tmp_path, body, "int n, double x[n], double y[n]")


def test_kernels_of_declared_arrays_compile(tmp_path):
    if not nvrtc.available():
        pytest.skip("needs pip install 'tilewright[cuda]'")
    body = "for (i=1;i<n-1;i++) for (j=1;j<m-1;j++) A[i][j] = B[i-1][j] + B[i+1][j] + B[i][j-1] + B[i][j+1];"
    text = text_of(tmp_path, body, "int n, int m, double A[n][m], const double B[n][m]")
    assert "B[(i - 1) * m + j]" in text
