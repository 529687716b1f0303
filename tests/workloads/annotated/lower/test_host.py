"""Device programs of annotated loops run on a device made of this process: memory, copies, streams, launches, results.

``device/device.hpp`` says what that device refuses. Every nest runs with launches drawn at random, in both dialects,
as a host would run it; the loops as they are written give the results that it has to have.
"""

import itertools
import random
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from tests.sampling import covering
from tests.workloads.annotated.guessed_types import scalar_types

from tilewright.codegen.print.source import CUDA, OPENCL
from tilewright.workloads.annotated.lower.apply import Applied, apply_transforms
from tilewright.workloads.annotated.lower.device import DeviceProgram, lower
from tilewright.workloads.annotated.lower.host import host_body, host_prelude
from tilewright.workloads.annotated.lower.kernels import kernels_text
from tilewright.workloads.annotated.lower.lowering import code
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests.nest import Expr, Name, Num, Stmt
from tilewright.workloads.annotated.nests.scalars import inline_temporaries, localise
from tilewright.workloads.annotated.parse.c import parse_code, parse_expression
from tilewright.workloads.annotated.parse.evaluate import formula

SIZES = (1, 2, 5, 40, 131)
"""Extents ``n``: loops without an iteration, with less than a thread's share each, and with several rounds."""


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops, the types of their arrays by name (``x`` has ``n`` elements, ``A`` has ``n`` times 9), and scalars.

    ``counts`` are the elements of arrays that have others than ``n``.
    """

    text: str
    arrays: dict[str, str]
    scalars: dict[str, str] = field(default_factory=dict)
    counts: dict[str, str] = field(default_factory=dict)


def doubles(names: str) -> dict[str, str]:
    return dict.fromkeys(names, "double")


NESTS = {
    "axpy": Nest("for (i=0;i<n;i++) y[i] += a*x[i];", doubles("xy"), {"a": "double"}),
    "near": Nest("for (i=1;i<n-1;i++) y[i] = x[i-1] + x[i+1];", doubles("xy")),
    "lopsided": Nest("for (i=2;i<n-3;i++) y[i] += x[i-2]*z[i+3] + x[i+1];", doubles("xyz")),
    "ahead": Nest("for (i=0;i<n-2;i++) y[i] = x[i+1]*x[i+2];", doubles("xy")),
    "bounded by data": Nest("for (i=0;i<c[0]/64*n;i++) y[i] = x[i];", {**doubles("xy"), "c": "int"}),
    "falling": Nest("for (i=n-2;i>=1;i--) y[i] = x[i+1] - 0.5*x[i-1];", doubles("xy")),
    "stride": Nest("for (i=1;i<n;i+=3) y[i] = 2*x[i] + y[i-1];", doubles("xy")),
    "falling stride": Nest("for (i=n-1;i>=0;i-=2) y[i] = x[i] + 1;", doubles("xy")),
    "sums": Nest(
        "for (i=0;i<n;i++) { s += x[i]*y[i]; b = max(b, x[i]); w = min(w, y[i]); }",
        doubles("xy"),
        {"s": "double", "b": "double", "w": "double"},
    ),
    "product": Nest("for (i=1;i<n;i+=2) q = q * (1 + 0.001*x[i]);", doubles("x"), {"q": "double"}),
    "count": Nest("for (i=n-1;i>=0;i--) m = m + c[i];", {"c": "int"}, {"m": "int"}),
    "time": Nest(
        "for (t=0;t<4;t++) { for (i=1;i<n-1;i++) b[i] = 0.5*(a[i-1]+a[i+1]); for (i=1;i<n-1;i++) a[i] = b[i]; }",
        doubles("ab"),
    ),
    "rows": Nest("for (i=0;i<n;i++) for (j=0;j<9;j++) C[i][j] += A[i][j]*B[j][j] + x[i];", doubles("ABCx")),
    "triangle": Nest(
        "for (k=0;k<n-1;k++) { for (i=k+1;i<n;i++) x[i] = x[i]/(1+y[k]); y[k] = x[k+1]*0.5; x[k] = y[k]; }",
        doubles("xy"),
    ),
    "between": Nest(
        "{ for (i=0;i<n;i++) s += x[i]; g = s/n; for (i=0;i<n;i++) y[i] = x[i] - g; }",
        doubles("xy"),
        {"s": "double", "g": "double"},
    ),
    "types": Nest(
        "for (i=0;i<n;i++) { h[i] = 2*e[i] + f[i]; k[i] = h[i] + l[i]; u[i] = u[i] + c[i]; v[i] = k[i] + p; }",
        {"h": "long", "e": "int", "f": "short", "k": "int64_t", "l": "int32_t", "u": "unsigned", "c": "char",
         "v": "float"},
        {"p": "long"},
    ),
    "long sum": Nest("for (i=0;i<n;i++) s += c[i];", {"c": "int64_t"}, {"s": "int64_t"}),
    "short extremes": Nest(
        "for (i=0;i<n;i++) { w = min(w, c[i]); b = max(b, c[i] - 70); v = max(v, u[i]); }",
        {"c": "short", "u": "unsigned"},
        {"w": "short", "b": "short", "v": "unsigned"},
    ),
    "char extremes": Nest(
        "for (i=0;i<n;i++) { w = min(w, c[i]); b = max(b, c[i] - 70); v = min(v, k[i]); m = max(m, k[i]); }",
        {"c": "char", "k": "size_t"},
        {"w": "char", "b": "char", "v": "size_t", "m": "size_t"},
    ),
    "float extremes": Nest(
        "for (i=0;i<n;i++) { w = min(w, x[i]); b = max(b, x[i] - 70); v = max(v, k[i] - 70); }",
        {"x": "float", "k": "int64_t"},
        {"w": "float", "b": "float", "v": "int64_t"},
    ),
    "float halo": Nest("for (i=1;i<n;i++) y[i] = x[i-1]*z[i];", {"x": "float", "y": "float", "z": "double"}),
    "one side of two": Nest("for (i=0;i<n;i++) y[i] = z[i]*x[i] + 1;", {**doubles("xy"), "z": "float"}),
    "guarded": Nest("for (i=0;i<n;i++) { if (i > 3) y[i] = x[i-4]; }", doubles("xy")),
    "one thread": Nest(
        "{ for (i=0;i<n;i++) y[i] = x[i]; if (x[0] > 1.5) for (j=0;j<n;j++) y[0] += x[j]; }", doubles("xy")
    ),
    "scalar test": Nest(
        "{ for (i=0;i<n;i++) y[i] = x[i]; if (a > 1) y[0] = a*y[0]; g = 2*a; y[0] += g; }", doubles("xy"),
        {"a": "double", "g": "double"},
    ),
    "condition": Nest("for (i=0;i<n;i++) if (x[i] > 1.5) y[i] = x[i]; else y[i] = -x[i];", doubles("xy")),
}  # fmt: skip


def extent(name: str) -> tuple[Expr, ...]:
    return (Name("n"), Num("9")) if name.isupper() else (Name("n"),)


def program_of(nest: Nest, prefix: str, args: dict[str, object]) -> DeviceProgram:
    stmt = parse_code(nest.text, "x")
    types = scalar_types(stmt, {**nest.scalars, **nest.arrays})
    stmt = localise(inline_temporaries(stmt, types, kept=nest.scalars), types, kept=nest.scalars)
    nine = Num("9")
    shapes = {name: (nine, nine) if name == "B" else extent(name) for name in nest.arrays}
    shapes |= {name: (parse_expression(count, "x"),) for name, count in nest.counts.items()}
    return lower(stmt, args, NestContext(types=types), shapes, prefix)


def drawn(draw: random.Random, kind: str) -> dict[str, object]:
    """Arguments of a transform."""
    threads = draw.choice((16, 32, 64, 96)) if kind == "CUDA" else draw.choice((1, 3, 7, 16, 33))
    args: dict[str, object] = {
        "kind": kind,
        "threadCount": threads,
        "blockCount": draw.choice((1, 2, 5)),
        "streamCount": draw.choice((1, 2, 3, 7)),
        "cacheBlocks": draw.random() < 0.5,
        "unrollInner": draw.choice((0, 1, 4)),
    }
    if kind == "CUDA":
        args |= {"pinHostMem": draw.random() < 0.5, "preferL1Size": draw.choice((0, 16, 32, 48))}
        args["dataOnDevice"] = draw.random() < 0.25
    else:
        args |= {"vecHint": draw.choice((0, 4)), "sizeHint": draw.random() < 0.5}
    return args


def case_text(number: int, nest: Nest, body: str, *, resident: bool) -> str:
    """A function that runs the loops as they are and on the device, and compares."""
    takes, arrays, scalars = ["int n"], list(nest.arrays), list(nest.scalars)
    for name, ctype in nest.arrays.items():
        takes.append(f"{ctype} (*{name})[9]" if name.isupper() else f"{ctype} *{name}")
    takes += [f"{ctype} &{name}" for name, ctype in nest.scalars.items()]
    stmt = parse_code(nest.text, "x")
    lines = [
        f"static void device_{number}({', '.join(takes)}) {{\n{body}}}",
        f"static void plain_{number}({', '.join(takes)}) {{\n{code(stmt, 1)}}}",
        f"static void case_{number}(int n, const char *where) {{",
        "  device::where = where;",
    ]
    for name in arrays:
        count = nest.counts.get(name, "81" if name == "B" else "n * 9" if name.isupper() else "n")
        lines.append(f"  device::Array<{nest.arrays[name]}> {name}({count}, {int(resident)}, device::draw(2));")
    starts = {name: "2" if re.match("unsigned|size_t", ctype) else "-9" for name, ctype in nest.scalars.items()}
    lines += [
        f"  {nest.scalars[name]} {name}_got = {starts[name]}, {name}_wanted = {starts[name]};" for name in scalars
    ]
    casts = {name: f"({nest.arrays[name]} (*)[9])" if name.isupper() else "" for name in arrays}
    for what, member, ending in (("plain", "wanted.data()", "wanted"), ("device", "given", "got")):
        given = ["n", *(f"{casts[name]}{name}.{member}" for name in arrays), *(f"{name}_{ending}" for name in scalars)]
        lines += [
            f"  {what}_{number}({', '.join(given)});",
            *["  device::allow(device::own, false);"][what != "plain" :],
        ]
    lines.append(f"  device::finished({len(arrays) if resident else 0});")
    lines += [f'  {name}.compare("{name}");' for name in arrays]
    lines += [f'  device::agree("{name}", (double){name}_got, (double){name}_wanted);' for name in scalars]
    return "\n".join([*lines, "}"])


def cuda_code(program: DeviceProgram) -> tuple[str, str]:
    """What the top of the file needs, and the region; launches are calls of functions."""
    body = re.sub(r"(\w+)<<<(.*?)>>>\((.*)\);", r"device::launch(\2)([=] { \1(\3); });", host_body(program, CUDA))
    return host_prelude(program, CUDA), body


def opencl_code(program: DeviceProgram) -> tuple[str, str]:
    """The same; kernels are functions that the device knows by their names."""
    text = kernels_text(program, OPENCL)
    names = re.findall(r"(\w+_kernel\w*)\(", " ".join(re.findall(r"__kernel .*", text)))
    entries = [f'static int tw_entry_{name} = device::kernel("{name}", {name});' for name in names]
    return "\n".join([text, *entries, host_prelude(program, OPENCL)]), host_body(program, OPENCL)


@pytest.fixture
def complaints(tmp_path, device_compiler):
    """Compile cases into one program and run it; what it complains about."""

    def run(kind: str, cases: Sequence[tuple[str, Nest, DeviceProgram | Stmt, Sequence[int]]]) -> str:
        cuda = kind == "CUDA"
        parts = ["#include <cuda_runtime.h>" if cuda else "#include <CL/cl.h>"]
        mains = []
        for number, (label, nest, what, sizes) in enumerate(cases):
            if isinstance(what, DeviceProgram):
                prelude, body = (cuda_code if cuda else opencl_code)(what)
                parts += [prelude, case_text(number, nest, body, resident=what.launch.resident)]
            else:
                parts.append(case_text(number, nest, code(what, 1), resident=False))
            mains += [f'  case_{number}({n}, "{label}, n = {n}");' for n in sizes]
        parts.append("\n".join(["int main() {", "  device::start();", *mains, "}"]))
        unit, program = tmp_path / f"{kind}.cpp", tmp_path / kind
        unit.write_text("\n".join(parts), encoding="utf-8")
        command = [*device_compiler, str(unit), "-o", str(program)]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr[:3000]
        done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
        assert done.returncode in {0, 1}, f"ended with {done.returncode}: {done.stderr}"
        return done.stderr

    return run


def transformed(nest: Nest, transform: str = "") -> tuple[Applied, NestContext]:
    """What becomes of loops with transforms before or inside them."""
    stmt = parse_code(f"{transform} {nest.text}", "x")
    types = scalar_types(stmt, {**nest.scalars, **nest.arrays})
    stmt = localise(inline_temporaries(stmt, types, kept=nest.scalars), types, kept=nest.scalars)
    setting = NestContext(types=types)
    read, parse = lambda each: formula(each).value({}), lambda each: parse_code(f"v = {each};", "x").value
    return apply_transforms(stmt, setting, read, parse), setting


def own_launches(kind: str, prefix: str) -> tuple[Nest, DeviceProgram]:
    """Two loops whose transforms give them launches of their own."""
    names = ("threadCount", "blockCount") if kind == "CUDA" else ("workItemsPerGroup", "workGroups")
    first, second = (
        f"transform {kind}({names[0]}={t}, {names[1]}={b}, cacheBlocks=True)" for t, b in ((64, 1), (32, 3))
    )
    nest = Nest(
        f"{{ {first} for (i=0;i<n;i++) s += x[i]*y[i]; {second} for (i=1;i<n-1;i++) {{ y[i] = x[i-1] + x[i+1];"
        " w = min(w, x[i]); } }",
        doubles("xy"),
        {"s": "double", "w": "double"},
    )
    result, setting = transformed(nest)
    program = lower(result.stmt, result.device, setting, dict.fromkeys("xy", (Name("n"),)), prefix)
    assert [each.launch.threads for each in program.kernels] == [64, 32]
    return nest, program


SHORT = {
    "guard": Nest("for (i=0;i<n;i++) if (i+1 < n) y[i] = x[i+1];", doubles("xy"), counts={"y": "n - 1"}),
    "no guard": Nest("for (i=0;i<n-2;i++) y[i] = x[i+1];", doubles("xy"), counts={"y": "n - 2", "x": "n - 1"}),
    "tail": Nest("for (i=0;i<n;i++) { z[i] = 1; if (i+9 < n) y[i] = x[i]; }", doubles("xyz"),
                 counts={"y": "n - 9", "x": "n - 9"}),
}  # fmt: skip
"""Arrays that are shorter than the loop, whose other iterations a condition keeps away from them."""


@pytest.mark.parametrize(("kind", "part"), covering(["CUDA", "OpenCL"], range(2)))
def test_any_launch_computes_what_the_loops_say_and_leaves_nothing_behind(kind, part, complaints):
    """Every other nest in each dialect by default, so that each nest runs in one.

    So do copies that end with the arrays however the loops are cut, and kernels with launches of their own.
    """
    draw = random.Random(5)  # noqa: S311
    cases = []
    for name, nest in list(NESTS.items())[part::2]:
        there = kind == "CUDA" and name != "bounded by data"
        for more in (
            {"dataOnDevice": False},
            {"dataOnDevice": there},
            {"dataOnDevice": False, "streamCount": draw.choice((2, 3, 7))},
        ):
            args = drawn(draw, kind) | more
            number = len(cases)
            cases.append((f"{name} {args}".replace('"', ""), nest, program_of(nest, f"tw_{number}", args), SIZES))
    assert any(program.streams for _, _, program, _ in cases)
    assert any(kernel.cached for _, _, program, _ in cases for kernel in program.kernels)
    for (name, nest), streams in itertools.product(SHORT.items(), (1, 3, 7)):
        args = {"kind": kind, "threadCount": 32, "blockCount": 2, "streamCount": streams}
        program = program_of(nest, f"tw_{len(cases)}", args)
        assert (program.streams is not None) == (streams > 1)
        cases.append((f"{name} {streams}", nest, program, (10, 40, 131)))
    cases.append(("launches of their own", *own_launches(kind, f"tw_{len(cases)}"), SIZES))
    assert complaints(kind, cases) == ""


GUARDED = {
    "read": Nest("for (i=0;i<n;i++) for (j=0;j<n+9;j++) if (j < n) y[i] += x[j];", doubles("xy")),
    "write": Nest("for (i=0;i<n+5;i++) for (j=0;j<3;j++) if (i < n) y[i] += x[i];", doubles("xy")),
    "both": Nest("for (i=0;i<n+5;i++) for (j=0;j<9;j++) if (i < n) A[i][j] = A[i][j] + x[i]*y[i];", doubles("Axy")),
    "other branch": Nest(
        "for (i=0;i<n+4;i++) for (j=0;j<2;j++) if (i >= n) y[0] += 1; else y[i] += x[i];", doubles("xy")
    ),
    "no iteration": Nest("for (i=0;i<2*n;i++) for (j=i;j<n;j++) y[j] += x[i]*x[j];", doubles("xy")),
    "loop inside": Nest(
        "for (i=0;i<n+2;i++) for (j=0;j<5;j++) if (i < n) for (k=0;k<9;k++) A[i][k] += x[i];", doubles("Ax")
    ),
}


def test_transformed_loops_touch_only_what_the_loops_touch(complaints):
    """What a condition or an empty loop keeps from being read is not read early, into a scalar or an unrolled body."""
    asked = [
        "transform ScalarReplace(dtype='double')",
        "transform UnrollJam(ufactor=3)",
        "transform ScalarReplace() transform RegTile(loops=['i','j'], ufactors=[2,3])",
        "transform Composite(tile=[('j',4,'jj')], unrolljam=(['i','j'],[2,2]), scalarreplace=(True,'double'))",
        "transform Composite(permut=[['j','i']], unrolljam=(['j'],[4]), scalarreplace=(True,'double'))",
    ]
    cases = [
        (f"{name}: {transform}", nest, transformed(nest, transform)[0].stmt, SIZES)
        for name, nest in {**GUARDED, **NESTS}.items()
        for transform in (asked if name in GUARDED else asked[:2])
    ]
    assert complaints("CUDA", cases) == ""
