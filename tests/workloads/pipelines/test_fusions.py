"""Halos by longest path, legal partitions and lifetimes of pipelines."""

import itertools

import pytest

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.machines.files import load
from tilewright.report import progress
from tilewright.workloads.pipelines import fusions
from tilewright.workloads.pipelines.catalogue import pipeline
from tilewright.workloads.pipelines.problem import make_pipeline_problem
from tilewright.workloads.pipelines.search import Strips, search

CANNY = {"G1": (7, 7), "G2": (7, 4), "G3": (4, 4), "G4": (4, 1), "G5": (1, 1), "G6": (4, 1), "G7": (1, 1), "G8": (1, 1)}


def simple(halo):
    assert all(a == b for a, b in halo)
    return tuple(a for a, _ in halo)


def test_canny_fully_fused_has_the_published_halos():
    canny = pipeline("canny")
    plan = fusions.plan_group(canny, fusions.full(canny)[0])
    assert {grid: simple(halo) for grid, halo in plan.halos} == CANNY
    assert plan.inputs == ("G1",)
    assert plan.outputs == ("G9",)


def test_canny_stencils_are_those_of_table_10():
    reaches = [{g: simple(s.reach(g)) for g in s.inputs} for s in pipeline("canny").stencils]
    assert reaches[0] == {"G1": (0, 3)}
    assert reaches[1] == {"G2": (3, 0)}
    assert reaches[2] == {"G3": (0, 3)}
    assert reaches[4] == {"G3": (0, 3)}
    assert reaches[6] == {"G5": (0, 0), "G7": (0, 0)}
    assert reaches[7] == {"G5": (0, 0), "G7": (0, 0), "G8": (1, 1)}


@pytest.mark.parametrize("radius", [1, 7])
def test_blur_has_the_halos_of_equation_25(radius):
    blur = pipeline("blur", radius=radius)
    plan = fusions.plan_group(blur, (0, 1))
    assert {g: simple(h) for g, h in plan.halos} == {"G1": (radius, radius), "G2": (radius, 0)}


def brute_force(program):
    """Every set partition whose graph of groups has no cycle."""

    def partitions(items):
        if not items:
            yield []
            return
        head, *rest = items
        for smaller in partitions(rest):
            for i, part in enumerate(smaller):
                yield [*smaller[:i], [head, *part], *smaller[i + 1 :]]
            yield [[head], *smaller]

    edges = [
        (program.producer(grid), i)
        for i, stencil in enumerate(program.stencils)
        for grid in stencil.inputs
        if program.producer(grid) is not None
    ]
    found = set()
    for parts in partitions(list(range(len(program.stencils)))):
        home = {i: k for k, part in enumerate(parts) for i in part}
        arrows = {(home[a], home[b]) for a, b in edges if home[a] != home[b]}
        left = set(range(len(parts)))
        while left:
            free = {k for k in left if not any(b == k and a in left for a, b in arrows)}
            if not free:
                break
            left -= free
        if not left:
            found.add(frozenset(frozenset(part) for part in parts))
    return found


@pytest.mark.parametrize("name", ["blur", "sobel", "unsharp", "blend", "canny"])
def test_every_legal_fusion_is_found_once(name):
    program = pipeline(name)
    found = fusions.fusions(program)
    as_sets = {frozenset(frozenset(group) for group in fusion) for fusion in found}
    assert len(as_sets) == len(found)
    assert as_sets == brute_force(program)
    for fusion in found:
        done = set()
        for group in fusion:
            for i in group:
                needed = {program.producer(g) for g in program.stencils[i].inputs} - {None}
                assert needed <= done | set(group)
            done |= set(group)


def test_a_fusion_with_a_cycle_is_refused():
    with pytest.raises(IllegalTilingError, match="names every stencil"):
        fusions.parse(pipeline("blur"), "S1 | S3")
    with pytest.raises(IllegalTilingError, match=r"\(S1, S3\) \| S2 of 'unsharp' wait for each other's grids"):
        fusions.parse(pipeline("unsharp"), "(S1, S3) | S2")


@pytest.mark.parametrize("text", ["", "S1 |", "S0 | S1", "rows", "S1, S2; rm -rf", "S" * 4000])
def test_a_fusion_that_cannot_be_read(text):
    with pytest.raises((UsageError, IllegalTilingError)):
        fusions.parse(pipeline("blur"), text)


def test_a_written_fusion_is_read_back():
    canny = pipeline("canny")
    for fusion in fusions.fusions(canny)[::17]:
        assert fusions.parse(canny, fusions.text(fusion)) == fusion


def test_live_grids_never_share_memory_and_dead_ones_do():
    for name in ("canny", "harris", "unsharp"):
        program = pipeline(name)
        plan = fusions.plan_group(program, fusions.full(program)[0])
        piece = dict(zip(plan.shared, fusions.slots(program, plan), strict=True))
        first = {g: 0 if program.producer(g) is None else program.producer(g) + 1 for g in plan.shared}
        last = {g: max(i for i, s in enumerate(program.stencils) if g in s.inputs) + 1 for g in plan.shared}
        for a, b in itertools.combinations(plan.shared, 2):
            if piece[a] == piece[b]:
                assert last[a] < first[b] or last[b] < first[a], (name, a, b)
    assert len(set(piece.values())) < len(piece) or name == "unsharp"
    canny = pipeline("canny")
    plan = fusions.plan_group(canny, fusions.full(canny)[0])
    assert len(set(fusions.slots(canny, plan))) < len(plan.shared)


def test_a_search_that_takes_long_says_how_far_it_is(monkeypatch, terminal):
    monkeypatch.setattr(progress.waiting.__wrapped__, "__defaults__", (0.0,))
    stream, best = terminal(), Strips.best

    def slow(space, group):
        if len(group) > 1:
            stream.until("fusing blur: 67 % after")
        return best(space, group)

    monkeypatch.setattr(Strips, "best", slow)
    space = Strips(problem=make_pipeline_problem(pipeline("blur"), (64, 64)), machine=load("zen3"))
    assert search(space)[1].groups == 3
    assert "\rfusing blur: 67 % after" in stream.getvalue()
    assert stream.getvalue().endswith("\r")
