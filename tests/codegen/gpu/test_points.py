"""Sources and receivers in kernels of GPUs: under Oclgrind, which reports races and wrong accesses, and by NVRTC."""

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.runtime.interpreted import source_of
from tests.sampling import some

import tilewright as tw
from tilewright.inputs.stencil import as_program
from tilewright.programs.stencil import rounding
from tilewright.programs.stencil.problem import PointFields, make_problem
from tilewright.runtime.devices import nvrtc, opencl
from tilewright.schedules.tiling import parse
from tilewright.verbs.options import RunOptions
from tilewright.verbs.running.problem import check

pytestmark = [
    pytest.mark.filterwarnings("ignore:the source of"),
]

OCLGRIND = "opencl:oclgrind"
TILINGS = {
    "none": ("none", "none", "none"),
    "prism": ("hexagonal:t=4,s=5,threads=16", "hybrid:t=4,s=4x16,threads=1x16", "hybrid:t=4,s=5x4x16,threads=1x2x8"),
    "rows": ("none", "hybrid:t=4,s=4x16,threads=1x16,rows=2", "none"),
    "skewed": ("skewed:t=2,s=24,threads=8", "skewed:t=2,s=8x24,threads=2x8", "skewed:t=2,s=4x6x16,threads=1x2x8"),
    "diamond": ("diamond:t=4,s=16,threads=16", "diamond:t=4,s=12x16,threads=1x16", "none"),
    "streaming": ("none", "streaming:t=2,s=16x16", "none"),
}
SHAPES = {1: (90,), 2: (24, 30), 3: (10, 11, 18)}
STEPS = 6


def diffused(rank):
    """A program of one version and a coefficient field, which every family has kernels of."""
    centre = (0,) * rank
    body = lambda u, m: u[centre] + m[centre] * tw.laplacian(u, accuracy=2)  # noqa: E731  (it has a name by tw.stencil)
    return tw.stencil(body, name=f"diffused{rank}")


def waved(rank):
    """A program of two versions and reach 2."""
    centre = (0,) * rank
    body = lambda u, m: 1.9 * u[centre] - 0.95 * u.prev[centre] + m[centre] * tw.laplacian(u, accuracy=4)  # noqa: E731
    return tw.stencil(body, name=f"waved{rank}")


def points(rank, seed=0, count=9, steps=STEPS, every=None, **more):
    """Sources, two at the corners of a grid, and receivers, several of them in one row."""
    generator = np.random.default_rng(seed)
    places = generator.uniform(0, 1, (count, rank)) * (np.array(SHAPES[rank]) - 1)
    places[0], places[1] = 0, np.array(SHAPES[rank]) - 1
    heard = np.concatenate([places[::-1] * 0.97, places[:3]])
    if rank > 1:
        heard[:4, :-1] = heard[0, :-1]
    return tw.Points(places, values=generator.normal(size=(steps, count)), **more), tw.Points(heard, every=every)


def interpreted(capfd, program, arrays, tiling, **given):
    """Run on the interpreter, which must have nothing to report."""
    opencl.prepare_oclgrind()
    capfd.readouterr()
    found = tw.run(program, *arrays, backend=OCLGRIND, tiling=tiling, **given)
    said = capfd.readouterr()
    assert not re.search("race|invalid|uninitialized", (said.err + said.out).lower()), said.err[:2000]
    return found


def judged(capfd, program, arrays, tiling, **given):
    """Run with the operations in their order, and compare bit for bit with NumPy."""
    wanted, traced = tw.run(program, *arrays, backend="numpy", **given)
    result, traces = interpreted(capfd, program, arrays, tiling, strict=True, **given)
    whole, host = (each if isinstance(each, tuple) else (each,) for each in (result, wanted))
    assert all(np.array_equal(a, b) for a, b in zip(whole, host, strict=True))
    assert traces.keys() == traced.keys()
    assert all(np.array_equal(traces[field], traced[field]) for field in traces)
    assert all(np.abs(each).max() > 0.1 for each in traced.values())


def checked(name, *arrays, **options):
    """A run's checked problem with its points."""
    asked = RunOptions(**options)
    return check(as_program(name), arrays, {}, asked).with_points(asked, 1)


def allowed(case):
    """The reference in double precision and by how much a case may be off it."""
    sources = [each.without_held(case.problem) for each in case.points.sources]

    def added(step):
        return {each.field: (each.weights.places, each.added(step, 1, case.problem.dtype)[:, 0]) for each in sources}

    return rounding.bound(case.problem, case.given.versions, case.given.scalars, added=added)


@pytest.mark.stress
@pytest.mark.parametrize("family", TILINGS)
@pytest.mark.parametrize("boundary", ["fixed", "constant", "nearest", "reflect", "mirror", "wrap"])
def test_every_family_and_boundary_adds_and_records(capfd, family, boundary):
    kind = tw.Boundary("constant", 0.5) if boundary == "constant" else boundary
    for rank, tiling in enumerate(TILINGS[family], 1):
        if tiling == "none" and family != "none":
            continue
        if (family, boundary, rank) == ("skewed", "nearest", 1):
            continue  # LLVM makes an operation of this text, llvm.usub.sat, that the interpreter lacks
        generator = np.random.default_rng(rank)
        u, m = generator.normal(size=SHAPES[rank]), generator.uniform(0.02, 0.05, SHAPES[rank])
        dtype = "float32" if len(family + boundary) % 2 else "float64"
        arrays = [u.astype(dtype), m.astype(dtype)]
        source, receiver = points(rank, every=rank, scale="m" if rank == 2 else None)
        judged(
            capfd, waved(rank), [(arrays[0], arrays[0]), arrays[1]],
            tiling, steps=STEPS, boundary=kind, sources={"u": source}, receivers={"u": receiver},
        )  # fmt: skip


@pytest.mark.parametrize("tiling", some(["streaming:t=2,s=16x16", "hybrid:t=4,s=4x16,threads=1x16", "none"], 1))
def test_several_fields_in_ordered_statements(capfd, tiling):
    arrays = [np.random.default_rng(i).normal(size=SHAPES[2]).astype(np.float32) for i in range(3)]
    given = {name: points(2, seed) for seed, name in enumerate(("ex", "ey", "hz"))}
    sources, receivers = ({name: each[i] for name, each in given.items()} for i in (0, 1))
    judged(capfd, "fdtd2d", arrays, tiling, steps=STEPS, boundary="reflect", sources=sources, receivers=receivers)


@pytest.mark.stress
def test_a_recurrence_reads_what_was_added(capfd):
    @tw.stencil
    def sweep(u):
        return 0.3 * u.new[-1, 0] + 0.3 * u.new[0, -1] + 0.3 * u[0, 0]

    u = np.random.default_rng(7).normal(size=(14, 17))
    places = np.random.default_rng(8).uniform(0, 1, (6, 2)) * [13, 16]
    judged(capfd, sweep, [u], "none", steps=4, boundary="fixed", sources=tw.Points(places, values=2.0),
           receivers=tw.Points(places))  # fmt: skip


@pytest.mark.stress
def test_scalars_that_vary_are_found_beside_points(capfd):
    """In tiles inside the grid, too, whose loops have names of their own."""

    @tw.stencil
    def heated(u, a):
        return u[0, 0] + a * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])

    u, rates = np.random.default_rng(9).normal(size=(40, 44)), np.linspace(0.05, 0.2, STEPS)
    source, receiver = points(2)
    for tiling in ("streaming:t=2,s=16x16", "hybrid:t=4,s=4x16,threads=1x16"):
        given = {"steps": STEPS, "a": rates}
        alone = interpreted(capfd, heated, [u], tiling, strict=True, **given)
        assert np.array_equal(alone, tw.run(heated, u, backend="numpy", **given))
        judged(capfd, heated, [u], tiling, sources=source, receivers=receiver, **given)


@pytest.mark.stress
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("tiling", ["none", "hybrid:t=4,s=4x16,threads=1x16", "streaming:t=2,s=16x16"])
def test_without_strict_the_result_is_that_to_rounding(capfd, tiling, dtype):
    u = np.random.default_rng(14).uniform(0.1, 1.0, SHAPES[2]).astype(dtype)
    source, receiver = points(2)
    given = {"steps": STEPS, "boundary": "nearest", "sources": source, "receivers": receiver}
    result, traces = interpreted(capfd, "heat2d", [u], tiling, **given)
    exact, most = allowed(checked("heat2d", u, **given))
    error, good = rounding.worst_excess(result, exact["u"], most["u"])
    assert good, error
    _, heard = tw.run("heat2d", u.astype(np.float64), backend="numpy", **given)
    off = 2 * float(most["u"].max())
    assert off < 1e-3
    assert np.abs(traces["u"] - heard["u"]).max() < off


def launched(monkeypatch, **given):
    """How often a kernel is started in a run in time tiles, and its result."""
    from tilewright.runtime.devices.opencl import OpenClDevice

    count, start = [0], OpenClDevice.start

    def counted(self, *args):
        count[0] += 1
        return start(self, *args)

    monkeypatch.setattr(OpenClDevice, "start", counted)
    u = np.random.default_rng(10).normal(size=SHAPES[2])
    made = tw.run("heat2d", u, steps=12, backend=OCLGRIND, tiling="hybrid:t=4,s=4x16,threads=1x16", **given)
    monkeypatch.setattr(OpenClDevice, "start", start)
    return count[0], made


def test_points_cut_no_run_and_tables_of_few_steps_give_the_same(monkeypatch):
    source, receiver = points(2, steps=12)
    inside = tw.Points(receiver.coordinates.clip(3, 19))  # cells that nothing updates are looked at before the run
    given = {"sources": source, "receivers": inside}
    plain, _ = launched(monkeypatch)
    many, (state, traces) = launched(monkeypatch, **given)
    assert many == plain
    monkeypatch.setattr("tilewright.runtime.points.MOST_BYTES", 5 * 8 * 60)
    _, (cut, heard) = launched(monkeypatch, **given)
    assert np.allclose(cut, state, rtol=1e-13)
    assert np.allclose(heard["u"], traces["u"], rtol=1e-13)


def test_fields_that_nothing_updates_and_cells_that_are_held_keep_their_values():
    generator = np.random.default_rng(11)
    u, k = generator.normal(size=(9, 9)), generator.normal(size=(9, 9))
    body = tw.stencil(lambda u, k: u[0, 0] + 0.1 * k[0, 0] * (u[0, 1] - u[0, -1]), name="advected")
    for receivers in ({"k": tw.Points([(2.5, 3)]), "u": tw.Points([(4, 0), (3, 0.5)])}, {"k": tw.Points([(2.5, 3)])}):
        _, traces = tw.run(body, u, k, steps=3, receivers=receivers, backend=OCLGRIND, tiling="none")
        assert np.allclose(traces["k"], (k[2, 3] + k[3, 3]) / 2)
        assert "u" not in traces or np.array_equal(traces["u"][:, 0], [u[4, 0]] * 3)


def test_a_run_may_be_looked_at_and_ended():
    u = np.random.default_rng(13).normal(size=(20, 23))
    given = {"sources": tw.Points([(9.5, 9.25)], values=np.arange(14.0)), "receivers": tw.Points([(12.5, 9)], every=1)}
    _, whole = tw.run("wave2d", (u, u), steps=14, backend="numpy", **given)
    seen = []
    _, cut = tw.run(
        "wave2d", (u, u), steps=14, every=3, callback=lambda n, v: seen.append(n) or n == 9, backend=OCLGRIND,
        tiling="none", **given,
    )  # fmt: skip
    assert seen == [3, 6, 9]
    assert np.allclose(cut["u"], whole["u"][:9], rtol=1e-12)


@pytest.mark.parametrize("tiling", ["none", "hybrid:t=8,s=8x64", "streaming:t=4,s=64x128"])
def test_texts_compile(tiling):
    problem = replace(
        make_problem(as_program(diffused(2)), (256, 256), 20, "float32"),
        points=PointFields(sources=("u",), receivers=("u",), cells=8),
    )
    source = source_of(problem, parse(tiling), "cuda")
    code = nvrtc.compile_cuda(source.text, "sm_90")
    assert (code.resources.spill_bytes, code.resources.stack_bytes) == (0, 0)
