"""Arguments of the wrong type: what annotations allow, and public functions with values of all kinds."""

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import waves
from tilewright.base.arguments import checked, described
from tilewright.base.errors import UsageError
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.sparse import krylov


def _taker(hint):
    def take(value):
        return value

    take.__annotations__ = {"value": hint}
    return checked(take)


def test_what_an_annotation_allows_becomes_pythons():
    for hint, given, got in [
        (float, np.float32(1.5), 1.5),
        (float, 3, 3.0),
        (float, np.array(2), 2.0),
        (int, 4.0, 4),
        (int, np.int8(4), 4),
        (int | None, None, None),
        (bool, np.True_, True),
        (bool, 1, True),
        (float | bool, True, True),
        (Path, "a/b", Path("a/b")),
        (tuple[int, int], [3, np.int64(4)], (3, 4)),
        (tuple[float, ...], np.array([1, 2]), (1.0, 2.0)),
        (Sequence[int], (1, 2.0), (1, 2.0)),
        (Mapping[str, float], {"a": 1}, {"a": 1}),
        (np.ndarray, U := np.ones(2), U),
        (Callable[..., Any], abs, abs),
        (Any, U, U),
    ]:
        found = _taker(hint)(given)
        assert found is got or (found == got and type(found) is type(got)), (hint, given, got)
        assert _taker(hint)(value=given) is found or _taker(hint)(value=given) == found, (hint, given, got)


@pytest.mark.parametrize(
    ("hint", "given", "said"),
    [
        (float, "1", "a number, got '1'"),
        (float, True, "a number, got True"),
        (float, 1j, "a number, got 1j"),
        (float, 10**400, "a number, got 1000"),
        (float | None, (1.0, 3.0), r"a number or None, got \(1.0, 3.0\)"),
        (int, 2.5, "a whole number, got 2.5"),
        (int, float("nan"), "a whole number, got nan"),
        (int, 2**63, "a whole number, got 9223372036854775808"),
        (int, np.True_, "a whole number"),
        (bool, 2, "True or False, got 2"),
        (str, b"x", r"a text, got b'x' \(hint: use .decode\(\)\)"),
        (tuple[int, int], (1, 2, 3), r"a pair of whole numbers, got \(1, 2, 3\)"),
        (Sequence[float], "ab", "a sequence of numbers, got 'ab'"),
        (Sequence[float], [1.0, None], r"a sequence of numbers, got \[1.0, None\]"),
        (Mapping[str, float], {"a": "b"}, "a mapping, got"),
        (krylov.VectorKernel, "axpy", "a VectorKernel, got 'axpy'"),
    ],
)
def test_what_it_does_not_allow_is_one_sentence(hint, given, said):
    for call in (lambda: _taker(hint)(given), lambda: _taker(hint)(value=given)):
        with pytest.raises(UsageError, match=f"'value' of .*take is {said}"):
            call()


def test_options_of_any_name_are_checked_too():
    @checked
    def scaled(*values: float, **factors: float) -> float:
        return sum(values) * sum(factors.values())

    assert scaled(1, 2, a=np.float32(3)) == 9.0
    with pytest.raises(UsageError, match=r"'b' of .*scaled is a number, got 'x'"):
        scaled(1, b="x")
    with pytest.raises(UsageError, match=r"'values' of .*scaled is a number, got None"):
        scaled(1, None)
    assert described(Sequence[tuple[float, ...]]) == "a sequence of sequences of numbers"


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        (waves.layers.Layers, "a Sponge, a CPML, a FreeSurface, None or a sequence of these"),
        (
            typing.get_type_hints(inspect.unwrap(tw.image.blur))["boundary"],
            "a text, a Boundary, a mapping, None or a sequence of these",
        ),
        (int | str | tuple[int | str, ...], "a whole number, a text or a sequence of these"),
        (int | Sequence[int], "a whole number or a sequence of whole numbers"),
        (int | str | Sequence[float], "a whole number, a text or a sequence of numbers"),
        (Sequence[int | str | None], "a sequence of whole numbers, texts or None"),
        (
            Sequence[int] | Sequence[tuple[int, int]],
            "a sequence of whole numbers or a sequence of pairs of whole numbers",
        ),
        (Sequence[waves.FreeSurface | Boundary], "a sequence of FreeSurfaces or Boundaries"),
    ],
)
def test_what_several_kinds_allow_is_said_once(hint, said):
    assert described(hint) == said


WRONG = (
    None, "x", b"x", (1.0, 3.0), [], {}, object(), 1 + 2j, float("nan"), -1, 2.5, True, 10**400, abs, {"a": 1},
    np.zeros((2, 3, 4, 5)), np.array(["a", "b"]), np.array([1, 2], object), [[1], [2, 3]], [None], [1.0, "b"],
)  # fmt: skip
A = tw.sparse.Dia.from_diagonals({-1: -1.0, 0: 2.0, 1: -1.0}, (9, 9))
B, C = np.ones(9), np.full(9, 2.0)
IMAGE = np.random.default_rng(0).random((8, 9)).astype("float32")
MODEL = waves.Model(np.full((12, 13), 2000.0), 10.0)
HEARD = {"time": 0.01, "time_step": 1e-3, "frequency": 15.0, "layers": waves.Sponge(4)}
PIPELINE = {"boundary": "reflect", "fusion": "none", "strict": False, "backend": "numpy", "threads": 1, "out": None}
varied = tw.stencil(lambda u, k, c: k * c[0, 0] * u[0, 0] + u[1, 0], name="varied")
CALLS = {
    "image.blur": (tw.image.blur, {"image": IMAGE, "sigma": 1.0, **PIPELINE}),
    "image.blur with border": (tw.image.blur, {"image": IMAGE, "border": "reflect"}),
    "image.sobel": (tw.image.sobel, {"image": IMAGE, **PIPELINE}),
    "image.canny": (tw.image.canny, {"image": IMAGE, "sigma": 1.0, "low": 0.1, "high": 0.2, **PIPELINE}),
    "image.process": (
        tw.image.process,
        {"operation": "blur", "source": "none.png", "target": "none.png", "sigma": 1.0},
    ),
    "pipeline": (tw.pipeline, {"sigma": 1.0, "radius": 2, "name": ""}, "blur"),
    "align": (
        tw.align,
        {
            "a": "ACGT",
            "b": "ACGA",
            "match": 1,
            "mismatch": -1,
            "gap_open": 2,
            "gap_extend": 1,
            "threads": 1,
            "score_only": False,
            "tiling": "orthogonal:t=64,s=64",
            "backend": "c",
        },
    ),
    "align by a matrix": (tw.align, {"a": "MK", "b": "MKV", "matrix": "BLOSUM62"}),
    "sparse.cg": (tw.sparse.cg, {"matrix": A, "b": B, "x0": B, "rtol": 1e-5, "atol": 0.0, "maxiter": 5, "threads": 1}),
    "sparse.from_stencil": (
        tw.sparse.from_stencil,
        {
            "program": "laplacian2d",
            "shape": (3, 3),
            "boundary": "wrap",
            "dtype": "float64",
            "at": (np.ones((3, 3)),),
            "components": 1,
        },
    ),
    "sparse.from_stencil of values": (tw.sparse.from_stencil, {"k": 1.0, "c": B.reshape(3, 3)}, varied, (3, 3)),
    "Dia.from_diagonals": (tw.sparse.Dia.from_diagonals, {"diagonals": {0: B}, "shape": (9, 9), "dtype": "float64"}),
    "Dia.from_diagonals of values": (lambda values: tw.sparse.Dia.from_diagonals({0: values}), {"values": B}),
    "Dia.from_scipy": (tw.sparse.Dia.from_scipy, {"matrix": np.eye(3), "dtype": "float64", "fill": 16.0}),
    "Dia.matvec": (A.matvec, {"x": B, "out": B.copy(), "threads": 1, "add": False}),
    "Dia.rmatvec": (A.rmatvec, {"x": B, "out": B.copy(), "threads": 1, "add": False}),
    "Dia @": (lambda x: A @ x, {"x": B}),
    "@ Dia": (A.__rmatmul__, {"x": B}),
    "Dia.diagonal": (A.diagonal, {"offset": 0}),
    "Dia.astype": (A.astype, {"dtype": "float32"}),
    "Dia.to_scipy": (A.to_scipy, {"format": "csr"}),
    **{f"krylov.{name}": (getattr(krylov, name), {"x": B, "y": C}) for name in ("dot", "dot_norm")},
    **{
        f"krylov.{name}": (getattr(krylov, name), {"a": 1.0, "x": B, "y": C})
        for name in ("axpy", "aypx", "waxpy", "axpy_norm")
    },
    "krylov.norm": (krylov.norm, {"x": B}),
    "krylov.scale": (krylov.scale, {"a": 1.0, "x": B}),
    "krylov.maxpy": (krylov.maxpy, {"factors": [1.0], "xs": [B], "y": C}),
    "krylov.apply": (krylov.apply, {"scalars": (1.0,), "choice": None}, "axpy", B, C),
    "krylov.apply of anything": (lambda what: krylov.apply(what, B, C, scalars=(1.0,)), {"what": "axpy"}),
    "krylov.kernel": (
        lambda name, vectors, text, scalars: krylov.kernel(name, vectors, text, scalars=scalars),
        {"name": "q", "vectors": "x y", "text": "y = a * x", "scalars": "a"},
    ),
    "krylov.multiple": (krylov.multiple, {"terms": 2}),
    "krylov.fuse": (
        krylov.fuse,
        {"first": krylov.multiple(2), "second": krylov.CATALOGUE["norm2"], "share": {"x": "y"}},
    ),
    "krylov.tune": (krylov.tune, {"what": "axpy", "dtype": "float64"}, 0),
    "chain.plan": (
        tw.chain.plan,
        {
            "shapes": (4, 5, 3, 6),
            "memory": 1000,
            "model": "exact",
            "objective": "opcount",
            "weights": (1.0, 1.0),
            "machine": "k20c",
            "itemsize": 4,
            "pareto": False,
            "operands": (0, 1, 2),
            "transposed": (False, False, False),
        },
    ),
    "chain.multi_dot": (
        tw.chain.multi_dot,
        {"arrays": [B.reshape(3, 3)] * 3, "plan": None, "threads": 1, "times": None, "fuse": False},
    ),
    "chain.choose": (tw.chain.choose, {"sizes": (4, 5, 3), "dtype": "float64", "threads": 1, "times": None}),
    "chain.trial": (tw.chain.trial, {"plan": tw.chain.plan((4, 5, 3), memory=1000), "dtype": "float64"}),
    "chain.calibrate": (tw.chain.calibrate, {"dtype": "int"}),
    "waves.Model": (
        waves.Model,
        {"velocity": np.full((5, 5), 2000.0), "spacing": 10.0, "density": None, "shear": None},
    ),
    "waves.CPML": (waves.CPML, {"width": 20, "frequency": None, "reflection": 1e-6}),
    "waves.Sponge": (waves.Sponge, {"width": 20, "decay": None}),
    "waves.longest_step": (waves.longest_step, {"model": MODEL, "space_order": 4}),
    "waves.ricker": (waves.ricker, {"frequency": 15.0, "peak": None}),
    **{
        f"waves.{name}": (
            getattr(waves, name),
            {"spacing": (10.0, 10.0), "space_order": 4, "damped": True, "absorbed": (), "free": ()},
        )
        for name in ("acoustic", "pressure", "elastic")
    },
    "waves.shot": (
        waves.shot,
        {
            "model": MODEL,
            "source": (50.0, 50.0),
            "receivers": [(50.0, 60.0)],
            **HEARD,
            "space_order": 4,
            "dtype": "float32",
            "wavelet": None,
            "interpolation": "linear",
        },
    ),
    "waves.misfit": (
        waves.misfit,
        {"model": MODEL, "source": (50.0, 50.0), "receivers": [(50.0, 60.0)], "observed": np.zeros((10, 1)), **HEARD},
    ),
}


@pytest.mark.filterwarnings("ignore::tilewright.TilewrightWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CALLS)
def test_arguments_of_any_type_raise_nothing_but_errors_of_ours(private_folders, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    function, arguments, *first = CALLS[name]
    for key in arguments:
        for value in WRONG:
            try:
                function(*first, **{**arguments, key: value})
            except tw.TilewrightError:
                continue


def test_the_sentences_name_the_argument_and_what_was_given():
    with pytest.raises(UsageError, match=r"'sigma' of canny is a number, got \(1.0, 3.0\)"):
        tw.image.canny(IMAGE, sigma=(1.0, 3.0))
    with pytest.raises(UsageError, match=r"'sigma' of blur is a number or a pair of numbers, got \(1.0, 3.0, 2.0\)"):
        tw.image.blur(IMAGE, sigma=(1.0, 3.0, 2.0))
    with pytest.raises(
        UsageError, match=r"at holds one array per updated field \['u'\], got one array \(hint: at=\(array,\)\)"
    ):
        tw.sparse.from_stencil("laplacian2d", (3, 3), at=np.ones((3, 3)))
    with pytest.raises(UsageError, match="'fusion' of StencilPipeline is a text or None, got 3"):
        tw.pipeline("blur")(IMAGE, fusion=3)
