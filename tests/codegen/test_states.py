"""States that a band keeps: every one is the reference's, whether it is written past the caches or not."""

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright.codegen.emit import emit
from tilewright.inputs.memo import prepared
from tilewright.inputs.stencil import as_program
from tilewright.plan import read_target
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.points import Points
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.reference import start, step
from tilewright.programs.stencil.storage import Storage
from tilewright.runtime.session import Inputs
from tilewright.schedules import catalogue
from tilewright.schedules.tiling import parse
from tilewright.tuning.spaces import cpu_schedule

SHAPES = {1: (777,), 2: (23, 141), 3: (14, 11, 77)}
STEPS = 9


@tw.stencil
def decay(u, c):
    """Written where it is read: one version is enough."""
    return c[0, 1] * u[0, 0]


TILINGS = {
    "jacobi1d": ("none", "hexagonal:t=4,s=40", "skewed:t=4,s=64,sub=4"),
    "j2d9pt": ("none", "hybrid:t=4,s=8x64", "hybrid:t=8,s=4x160", "diamond:t=4,s=16x64", "hybrid:t=4,s=4x64,rows=3"),
    "wave2d": ("none", "hybrid:t=4,s=4x160", "hybrid:t=6,s=8x48,neighbours=loads"),
    "fdtd2d": ("none", "hybrid:t=4,s=8x160"),
    "box2d4r": ("hybrid:t=2,s=8x160", "hybrid:t=2,s=8x64,sums=loop"),
    "laplacian3d": ("none", "hybrid:t=4,s=2x8x80"),
    "decay": ("hybrid:t=4,s=4x160", "hybrid:t=4,s=4x48"),
}
CASES = [(name, tiling) for name, tilings in TILINGS.items() for tiling in tilings]
WAYS = [
    (dtype, sides, past) for dtype in ("float32", "float64") for sides in ("fixed", "reflect") for past in (0, 2**30)
]


def made(name):
    return decay if name == "decay" else program(name)


def kept(name, dtype, boundary):
    source = as_program(made(name))
    problem = make_problem(source, SHAPES[source.rank], STEPS, dtype, boundary)
    most = max(source.history(field) for field in source.updated)
    return problem, Storage(kept=STEPS + most)


@pytest.mark.parametrize(("case", "way"), covering(CASES, WAYS))
def test_every_state_is_the_references(private_folders, monkeypatch, case, way):
    (name, tiling), (dtype, boundary, past) = case, way
    monkeypatch.setattr(cpu_schedule, "_STREAMED", past)
    problem, storage = kept(name, dtype, boundary)
    draw = np.random.default_rng(3)
    fields = problem.program.fields
    arrays = {f: [draw.random(problem.shape).astype(dtype) for _ in range(problem.program.history(f))] for f in fields}
    for versions in arrays.values():  # what fixed edges keep is the same in all versions
        for older in versions[1:]:
            older[:] = versions[0]
    kernel = prepared(problem, read_target("c", 2), tiling, strict=False, storage=storage)
    session = kernel.start(problem, Inputs(arrays=arrays, scalars={}), 2)
    try:
        for again in range(2):
            if again:
                session.begin(arrays)
            session.advance(STEPS, last=True)
            state = start(problem, arrays)
            for done in range(STEPS + 1):
                for field in problem.program.updated:
                    found = session.newest(field, STEPS - done)
                    wanted = state[field][0]
                    error = float(np.abs(found - wanted).max() / np.abs(wanted).max())
                    assert error <= 16 * np.finfo(dtype).eps, (done, field)
                state = step(problem, state, {})
    finally:
        session.close()


@pytest.mark.parametrize("past", [0, 2**30])
def test_sources_are_in_the_states(private_folders, monkeypatch, past):
    monkeypatch.setattr(cpu_schedule, "_STREAMED", past)
    draw = np.random.default_rng(5)
    u, k = draw.random((30, 70)), 0.2 * draw.random((30, 70))
    options = {"steps": 12, "sources": {"u": Points([(9, 20), (20, 3)], draw.random((12, 2)))}}
    gradients = []
    for backend in ("c", "numpy"):
        y, pullback = tw.vjp("heat2d_var", u, k, backend=backend, checkpoints=20, **options)
        gradients.append(pullback(y)[0])
    for ours, plain in zip(*gradients, strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-12, atol=1e-12)


def test_sweeps_keep_the_versions_themselves():
    problem, storage = kept("j2d9pt", "float32", "fixed")

    def text(tiling):
        whole = catalogue.legal(problem, parse(tiling))
        source = emit(problem, cpu_schedule.cpu_schedule(problem, whole, storage))
        return source.text, source.layout[0]

    swept, layout = text("none")
    assert "_state_0" not in swept
    assert (layout.copies, layout.states) == ((STEPS + 1,), 0)
    tiled, layout = text("hybrid:t=4,s=8x64")
    assert "_state_0" in tiled
    assert (layout.copies, layout.states) == ((2 + STEPS + 1,), STEPS + 1)
