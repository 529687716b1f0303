"""Complex constants in a stencil's body make its fields complex, by NumPy's rules for types."""

import functools
import json
import pickle
import random
import re
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import TraceError, UsageError
from tilewright.base.fingerprint import canonical, fingerprint
from tilewright.programs.stencil.expression import Const, Scalar, Value, apply, as_value
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.programs.stencil.stability import growth
from tilewright.tracing import trace

X = np.linspace(-1, 1, 40)


def schroedinger(u):
    return u[0] + 0.1j * (u[-1] - 2 * u[0] + u[1])


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ("float16", "complex64"),
        ("float32", "complex64"),
        ("float64", "complex128"),
        ("int32", "complex128"),
        ("complex64", "complex64"),
        ("complex128", "complex128"),
    ],
)
def test_a_complex_constant_makes_fields_complex_by_numpys_rules(given, result):
    u = (X * 9).astype(given)
    got = tw.run(schroedinger, u, steps=3, boundary="wrap", backend="numpy")
    assert got.dtype == result
    w = u.astype(result)
    for _ in range(3):
        w = w + 0.1j * (np.roll(w, 1) - 2 * w + np.roll(w, -1))
    assert w.dtype == result
    np.testing.assert_allclose(got, w, rtol=1e-5)


def test_a_real_type_cannot_hold_it():
    with pytest.raises(UsageError, match="computes complex128 values here, which float32 cannot hold"):
        tw.run(schroedinger, X, steps=1, dtype="float32")
    text = "the constant 0.1j of 'schroedinger' does not fit float32 (hint: it holds real numbers from"
    for verb in (tw.predict, tw.tune):
        with pytest.raises(UsageError, match=re.escape(text)):
            verb(schroedinger, shape=(40,), steps=2, machine="host")


def test_constants_of_numpy_folding_and_calls_of_stencils():
    constants = [node for node in trace(lambda u: u[0] * (np.complex64(2j) * 3)).statements[0].tape if _is_const(node)]
    assert constants == [Const(6j)]

    @tw.stencil
    def scaled(u, factor):
        return factor * u[0]

    assert [node for node in trace(lambda u: scaled(u, 2j)).statements[0].tape if _is_const(node)] == [Const(2j)]
    assert trace(lambda u: u[0] * abs(3 + 4j)).complex_constant is None


@tw.stencil
def doubled(u):
    return u[0, 0] * 2j


def times(number, u):
    return u[0] * number


def _is_const(node: object) -> bool:
    return isinstance(node, Const)


@pytest.mark.parametrize(
    ("number", "text"),
    [(1j, "u[0] * 1j"), (-0.5j, "u[0] * (-0-0.5j)"), (1 / 3 - 2j, "u[0] * (0.333333-2j)"), (0j, "u[0] * 0j")],
)
def test_complex_constants_are_printed_as_python_has_them(number, text):
    assert repr(tw.stencil(lambda u: u[0] * number)).endswith(f"u <- {text}")


def test_fingerprints_tell_complex_constants_apart_and_are_the_same_in_every_process():
    numbers = (1j, -1j, 1 + 0j, 1.0, complex(-0.0, 1.0))
    assert len({fingerprint(trace(functools.partial(times, number), "f")) for number in numbers}) == len(numbers)
    assert canonical(0.5 - 1j) == {"z": ["0x1.0000000000000p-1", "-0x1.0000000000000p+0"]}
    program = trace(schroedinger)
    assert pickle.loads(pickle.dumps(program)) == program  # noqa: S301  (our own)
    script = (
        "import pickle, sys; from tilewright.base.fingerprint import fingerprint\n"
        "print(fingerprint(pickle.load(sys.stdin.buffer)))"
    )
    done = subprocess.run(
        (sys.executable, "-c", script), input=pickle.dumps(program), capture_output=True, timeout=60, check=True
    )
    assert done.stdout.decode().strip() == fingerprint(program)


def test_where_and_sources_work_beside_complex_constants():
    where = X > 0
    got = tw.run(schroedinger, X, steps=2, backend="numpy", where=where)
    np.testing.assert_array_equal(got[~where], X[~where])
    assert np.any(got.imag[where])


def test_waves_of_both_directions_count_where_weights_are_complex():
    # G = 1 - 0.2 sin(angle): below 1 for every wave of one direction, 1.2 for one of the other.
    found = growth(trace(lambda u: u[0] + 0.1j * (u[1] - u[-1])))
    assert found is not None
    assert found.factor == pytest.approx(1.2)
    mirrored = growth(trace(lambda u: u[0] - 0.1j * (u[1] - u[-1])))
    assert mirrored is not None
    assert mirrored.factor == pytest.approx(1.2)


def test_a_run_with_complex_constants_can_be_checked(tmp_path):
    for body in ("u[0] + 0.1j * (u[-1] - 2 * u[0] + u[1])", "u[0] + 0.01j * u[0] * u[0] * u[-1]"):
        (tmp_path / "mine.py").write_text(f"def f(u):\n    return {body}\n", encoding="utf-8")
        command = (sys.executable, "-m", "tilewright", "run", f"{tmp_path}/mine.py:f", "--shape", "64", "--steps", "4")
        done = subprocess.run(
            (*command, "--check", "--dtype", "complex64", "--backend", "numpy", "--json"),
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "discards" not in done.stderr
        assert json.loads(done.stdout)["checked"] is True


def test_tables_pipelines_and_matrices_compute_in_real_numbers():
    with pytest.raises(TraceError, match=r"a recurrence computes in real numbers, .* has the constant 2j"):
        tw.recurrence(lambda t: t[-1, -1] * 2j)
    with pytest.raises(TraceError, match=r"a pipeline computes in real numbers, .* has the constant 2j"):
        tw.pipeline(lambda image: doubled(image))  # noqa: PLW0108  (pipelines are functions)
    with pytest.raises(UsageError, match=r"the constant 0\.1j of .* does not fit float64"):
        tw.sparse.from_stencil(trace(schroedinger), (20,))


def test_models_and_tuning_know_complex_numbers():
    given = {"shape": (4000,), "steps": 2, "dtype": "complex64"}
    assert tw.predict(schroedinger, machine="host", **given).costs.seconds > 0
    assert tw.tune(schroedinger, effort="none", **given).problem.dtype == "complex64"


U2 = FieldBuilder("u")


def noise(shape, dtype):
    generator = np.random.default_rng(0)
    return ((generator.standard_normal(shape) + 1j * generator.standard_normal(shape)) / 2).astype(dtype)


def complex_expression(draw, depth):
    """A random expression of complex numbers: every form of products and quotients, of what is real and what is not."""
    if depth == 0:
        read = U2[draw.choice([(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)])]
        return draw.choice([read, read, read.conj(), read.real, abs(read), 0.75 - 0.5j, 1.25, 0.5j, Value(Scalar("k"))])
    a, b = complex_expression(draw, depth - 1), complex_expression(draw, depth - draw.choice((1, depth)))
    forms = {
        "sum": lambda: a + b,
        "difference": lambda: a - b,
        "product": lambda: a * b,
        "quotient": lambda: a / (b + 3),
        "inverse": lambda: 1 / (b + 2j),
        "real": lambda: a * abs(b) - 2.5,
        "square": lambda: 1.0 - a * a,
        "power": lambda: apply("pow", as_value(b) + 4, 0.5) * a,
    }
    return forms[draw.choice(list(forms))]()


@pytest.mark.parametrize(("seed", "dtype"), list(enumerate(["complex64", "complex128"] * 3)))
def test_strict_complex_numbers_are_the_same_bits_under_every_tiling(seed, dtype):
    """Cells in vectors, cells that are left over and cells of thin tiles are computed by different code."""
    draw = random.Random(f"complex/{seed}")  # noqa: S311
    program = stencil(
        f"c{seed}", 2, {"u": 0.1 * complex_expression(draw, 3) + 0.2 * U2[1, 0] * U2[0, 1] - 0.1 * U2[0, 0]}
    )
    u = noise((12, 43), dtype)
    u[::3, 1::4] = u[::3, 1::4].real - 0j
    u[1::3, 1::4] = np.conj(u[1::3, 1::4].real + 0j)  # imaginary parts of either zero
    given = {"steps": 9, "boundary": draw.choice(["wrap", "fixed"]), "strict": True, "backend": "c"}
    given |= {"k": 0.5 + 0.25j} if program.scalars else {}
    expected = tw.run(program, u, tiling="none", **given)
    assert np.isfinite(expected).all()
    for tiling in ("hybrid:t=8,s=2x1", "hybrid:t=2,s=4x16"):
        np.testing.assert_array_equal(bits(tw.run(program, u, tiling=tiling, **given)), bits(expected))


def bits(array):
    return array.view(np.uint8)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("form", ["product", "inverse", "shifted"])
def test_forms_of_complex_numbers_are_the_same_bits_under_every_tiling(form, dtype):
    body = {
        "product": lambda u: u[0, 0] * u[0, 1] * 0.1 + u[1, 0] * 0.2,
        "inverse": lambda u: 1 / (u[0, 1] + 3) + u[1, 0] * 0.2,
        "shifted": lambda u: 1.5 - (u[0, 1] * 0.5 + 0.25),
    }[form]
    u = noise((20, 64), dtype)
    u.imag[:, ::3] = -0.0
    given = {"steps": 9, "boundary": "wrap", "strict": True, "backend": "c"}
    expected = tw.run(body, u, tiling="none", **given)
    found = tw.run(body, u, tiling="hybrid:t=8,s=2x1", **given)
    np.testing.assert_array_equal(bits(found), bits(expected))
