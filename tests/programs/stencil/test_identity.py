"""The same expression has the same prediction to the last digit, whatever it is called and however it is written."""

import itertools
import re
from dataclasses import replace

import pytest

import tilewright as tw
from tilewright.machines import files
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.catalogue import names, program
from tilewright.programs.stencil.identity import identity

R2 = [(0, 1), (0, -1), (1, 0), (-1, 0)]
R3 = [(0, 0, 1), (0, 0, -1), (0, 1, 0), (0, -1, 0), (1, 0, 0), (-1, 0, 0)]
BOX2 = list(itertools.product((1, 0, -1), repeat=2))
BOX3 = list(itertools.product((1, 0, -1), repeat=3))


def total(q, offsets):
    """A sum in another order than the catalogue's."""
    found = q[offsets[0]]
    for offset in offsets[1:]:
        found = q[offset] + found
    return found


def gradient(q):
    c = q[0, 0]
    a, b, d, e = c - q[-1, 0], c - q[1, 0], c - q[0, -1], c - q[0, 1]
    return 1.0 / tw.sqrt(e * e + d * d + b * b + (0.1 + a * a)) + c


def maxwell(p, q, r):
    return (
        p[0, 0] - 0.5 * (r[0, 0] - r[-1, 0]),
        q[0, 0] - 0.5 * (r[0, 0] - r[0, -1]),
        r[0, 0] - 0.5 * (q.new[0, 1] - q.new[0, 0] + p.new[1, 0] - p.new[0, 0]),
    )


MINE = {
    "jacobi1d": lambda q: (1 / 3) * (q[1] + q[0] + q[-1]),
    "jacobi2d": lambda q: 0.2 * (q[0, 0] + total(q, R2)),
    "heat2d": lambda q: total(q, BOX2) * (1 / 9),
    "laplacian2d": lambda q: 0.125 * total(q, R2) + 0.5 * q[0, 0],
    "gradient2d": gradient,
    "heat3d": lambda q: (1 / 27) * total(q, BOX3),
    "laplacian3d": lambda q: (0.5 / 6) * total(q, R3) + 0.5 * q[0, 0, 0],
    "wave2d": lambda q: 2.0 * q[0, 0] - q.prev[0, 0] + 0.1 * (total(q, R2) - 4 * q[0, 0]),
    "wave3d": lambda q: 2.0 * q[0, 0, 0] - q.prev[0, 0, 0] + 0.1 * (total(q, R3) - 6 * q[0, 0, 0]),
    "heat2d_var": lambda q, c: c[0, 0] * (total(q, R2) - 4 * q[0, 0]) + q[0, 0],
    "fdtd2d": maxwell,
}
ALIASES = {
    "j1d3pt": "star1d1r",
    "j2d5pt": "star2d1r",
    "j2d9pt": "star2d2r",
    "j2d9pt-gol": "box2d1r",
    "j3d7pt": "star3d1r",
    "j3d27pt": "box3d1r",
}
SHAPE = re.compile(r"(star|box)(\d)d(\d)r")
WRITTEN = [name for name in names() if name in MINE or SHAPE.fullmatch(ALIASES.get(name, name))]
HEAVY = re.compile(r"box3d[34]r|star3d[34]r|box2d[34]r")


def weighted(kind, rank, reach):
    """A star or a box with the catalogue's weights, summed from the last point to the first."""
    offsets = list(itertools.product(range(-reach, reach + 1), repeat=rank))
    if kind == "star":
        ends = [(axis, sign * far) for axis in range(rank) for far in range(1, reach + 1) for sign in (-1, 1)]
        offsets = [(0,) * rank, *(tuple(at if a == axis else 0 for a in range(rank)) for axis, at in ends)]
    raw = [1.0 / (1.0 + sum(map(abs, offset))) * (1.0 + 0.01 * i) for i, offset in enumerate(offsets)]
    weights = [each / sum(raw) for each in raw]

    def mine(q):
        found = None
        for offset, weight in reversed(list(zip(offsets, weights, strict=True))):
            term = q[offset if rank > 1 else offset[0]] * weight
            found = term if found is None else term + found
        return found

    return mine


def written_anew(name):
    if name in MINE:
        return tw.stencil(MINE[name])
    kind, rank, reach = SHAPE.fullmatch(ALIASES.get(name, name)).groups()
    return tw.stencil(weighted(kind, int(rank), int(reach)))


def calibrated():
    """A CPU whose file has values of its own for every program of the catalogue."""
    kinds = ("", " streaming", " none", " row", " none row")
    many = [(f"{name}{kind}", 1e-9 * (3 + place % 7)) for place, name in enumerate(names()) for kind in kinds]
    known = tuple((key, Quantity(value=value, unit="s", source="measured")) for key, value in many)
    return replace(files.load("zen3"), c_iter=known)


CPU = calibrated()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.stress if HEAVY.match(name) else ()) for name in WRITTEN],
)
def test_a_program_of_the_catalogue_written_anew_costs_the_same(name):
    mine = written_anew(name)
    assert mine.program.name != name
    assert identity(mine.program) == identity(program(name))
    shape = {1: (2**20,), 2: (1000, 2048), 3: (160,) * 3}[program(name).rank]
    for machine, model in (("gtx980", ("exact", "published")[WRITTEN.index(name) % 2]), (CPU, "exact")):
        given = {"shape": shape, "steps": 40, "machine": machine, "model": model}
        own, others = (tw.predict(each, **given).to_dict() for each in (mine, name))
        assert own.pop("program") != others.pop("program")
        assert own == others
    tile = f"hybrid:t=2,s={'x'.join(['4'] * (len(shape) - 1))}x32" if len(shape) > 1 else "hexagonal:t=4,s=64"
    given = {"shape": shape, "steps": 40, "machine": "titanx", "tiling": "none" if name == "fdtd2d" else tile}
    if not re.search("[234]r|pt$", name):
        assert tw.predict(mine, **given).costs == tw.predict(name, **given).costs


def test_another_expression_is_another_program():
    jacobi = identity(program("jacobi2d"))
    for other in (
        lambda q: 0.21 * (q[0, 0] + total(q, R2)),
        lambda q: 0.2 * (q[0, 0] + total(q, R2[1:])),
        lambda q: 0.2 * q[0, 0] + total(q, R2),
        lambda q: (q[0, 0] + total(q, R2)) / 5.0,
        lambda q: 0.2 * (q[0, 0] + q[0, 0] + total(q, R2)),
        lambda q: 0.2 * (q[0, 0] * total(q, R2)),
    ):
        assert identity(tw.stencil(other).program) != jacobi


def test_what_a_paper_measured_prices_no_other_familys_code_and_says_whose_code_it_is():
    given = {"shape": (4096, 4096), "steps": 512, "machine": "gtx980"}
    streaming = tw.predict("jacobi2d", **given, tiling="streaming:t=20,s=586x456,threads=1x124")
    assert 0.04 < streaming.costs.seconds < 0.055  # more by far if C_iter of hybrid code priced it
    sweep = tw.predict("jacobi2d", **given, tiling="none")
    assert {streaming.c_iter.source, sweep.c_iter.source} == {"estimated"}
    printed = tw.predict("jacobi2d", **given, tiling="hybrid:t=16,s=8x64", model="published")
    assert printed.c_iter.value == 3.39e-8
    assert printed.to_dict()["c_iter"]["code"] == "measured on the authors' code"
    assert "(paper), measured on the authors' code" in dict(printed.facts())["C_iter"]
