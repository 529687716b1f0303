"""Interiors split from edges compute what the loops say, for every extent, and only what is an edge is split."""

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tilewright.workloads.annotated.lower.edges import has_edges, split_edges
from tilewright.workloads.annotated.lower.harness import BoundVariable, emit_unit
from tilewright.workloads.annotated.nests.nest import Assign, If, Loop, statements
from tilewright.workloads.annotated.parse.c import parse_code

EXTENTS = (-1, 0, 1, 2, 3, 9)
TEXTS = {
    "both ends": "for (i=0;i<N;i++) if (i == 0 || i == N-1) y[i] = 1; else y[i] = x[i-1] + x[i+1];",
    "mirrored": "for (i=2;i<=N;i++) { if (2 < i && N > i) y[i] = x[i-1] + x[i+1]; if (i != N) x[i] += 0.5*y[i]; }",
    "always": "for (i=0;i<N;i++) if (i >= 0 && i < N && !(i > N-1)) y[i] = x[i]; else y[i] = 7;",
    "never": "for (i=1;i<N;i++) if (i <= 0 || i >= N) y[i] = 7; else y[i] = x[i-1];",
    "two": "for (j=0;j<N;j++) for (i=0;i<N;i++) if (i == 0 || j == 0 || i == N-1 || j == N-1) A[j][i] = B[j][i];"
    " else A[j][i] = B[j][i-1] + B[j][i+1] + B[j-1][i] + B[j+1][i];",
    "recurrence": "for (i=0;i<N;i++) if (i > 0) y[i] = y[i-1] + x[i]; else y[i] = x[i];",
    "triangle": "for (j=0;j<N;j++) for (i=j;i<N;i++) if (i == j) A[j][i] = 1; else A[j][i] = A[j][i-1]*0.5;",
    "sums": "for (i=0;i<N;i++) { if (i == 0 || i == N-1) y[i] = 1; x[i] += y[i]; }",
    "values": "for (i=0;i<N;i++) if ((i == 0) + (i == N-1) == 0) y[i] = x[i-1] + x[i+1]; else y[i] = (i == 0)*2.0;",
    "other": "for (i=0;i<N;i++) if (x[i] > 0.6) y[i] = i == 0 ? 3 : x[i]; else if (i == N-1) y[i] = 9;",
}


def built(units: dict[str, str], folder: Path) -> ctypes.CDLL:
    files = []
    for name, text in units.items():
        files.append(folder / f"{name}.c")
        files[-1].write_text(text, encoding="utf-8")
    library = folder / "edges.so"
    flags = ["-O1", "-fPIC", "-shared", "-w", "-std=gnu17", "-ffp-contract=off"]
    done = subprocess.run(["cc", *flags, "-o", str(library), *map(str, files), "-lm"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize("name", TEXTS)
def test_edges_and_interior_compute_what_the_loop_says(name, tmp_path):
    stmt = parse_code(TEXTS[name], "a test")
    assert has_edges(stmt)
    new = split_edges(stmt)
    assert new != stmt
    extents = {"x": (12,), "y": (12,), "A": (12, 12), "B": (12, 12)}
    bound = [BoundVariable(ctype="double", name=each, extents=size) for each, size in extents.items()]
    bound.append(BoundVariable(ctype="int", name="N"))
    kinds = {"plain": stmt, "split": new}
    library = built({k: re.sub(r"\btw_run\b", k, emit_unit(kinds[k], bound, numbers={})) for k in kinds}, tmp_path)
    for extent in EXTENTS:
        found = []
        for kind in kinds:
            rng = np.random.default_rng(3)
            arrays = [*(rng.uniform(0.5, 1.5, size) for size in extents.values()), np.array(extent, "i4")]
            function = getattr(library, kind)
            function.restype = ctypes.c_double
            function((ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays)))
            found.append(arrays)
        for one, other in zip(*found, strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_interior_of_a_stencil_with_branches_has_none():
    interior = [
        node
        for node in statements(split_edges(parse_code(TEXTS["two"], "a test")))
        if isinstance(node, Loop) and node.index == "i" and any("B" in str(each) for each in [node])
    ]
    bodies = [node.body for node in interior if isinstance(node.body, Assign)]
    assert any("Num(text='1')" in str(body) and str(body).count("'B'") == 4 for body in bodies)
    assert not any(isinstance(node, If) for loop in interior for node in statements(loop.body))


@pytest.mark.parametrize(
    "text",
    [
        "for (i=0;i<N;i++) if (i == M) y[i] = 1;",
        "for (i=0;i<N;i++) if (j == 0) y[i] = 1;",
        "for (i=0;i<N;i+=2) if (i == 0) y[i] = 1;",
        "for (i=N-1;i>=0;i--) if (i == 0) y[i] = 1;",
        "for (i=c[0];i<N;i++) { if (i == c[0]) y[i] = 1; c[0] = 2; }",
        "for (i=0;i<N;i++) if (2*i == 0) y[i] = 1;",
    ],
)
def test_what_is_no_edge_is_left_alone(text):
    stmt = parse_code(text, "a test")
    assert not has_edges(stmt)
    assert split_edges(stmt) == stmt


def test_a_nest_whose_copies_are_too_large_stays_whole():
    body = " ".join(f"y[i] += x[{n}]*x[i]*x[i]*x[i];" for n in range(120))
    stmt = parse_code(f"for (i=0;i<N;i++) for (j=0;j<N;j++) {{ if (i == 0 || j == 0) y[0] = 1; {body} }}", "a test")
    assert split_edges(stmt) == stmt
