"""Tiles that several threads share: the order of their parts, and that a wrong one is found."""

from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules import catalogue
from tilewright.schedules.tree.affine import STEPS, Name, Whole, extent_of
from tilewright.schedules.tree.nodes import Compute, Loop, Node, Parallel, Range
from tilewright.schedules.tree.order import walk

T, PART = Name("t"), Name("part")


def shared(*, together: bool) -> Node:
    """A grid of two halves, for two threads that meet after every step, or after all of them."""
    half = extent_of(0) // 2
    halves = (half * PART, (extent_of(0) - half) * PART + half)
    parts = (Range("part", Whole(0), Whole(2)),)
    step = Compute(T, Whole(0), (halves,))
    if together:
        inside: Node = Loop(name="t", low=Whole(0), high=STEPS, child=Parallel(parts, step))
    else:
        inside = Parallel(parts, Loop(name="t", low=Whole(0), high=STEPS, child=step))
    return Parallel((Range("tile", Whole(0), Whole(1)),), inside, 2)


def test_parts_take_turns():
    pieces = list(walk(shared(together=True), (8,), steps=3))
    assert [(each.turn, each.part, each.time) for each in pieces] == [(t, part, t) for t in range(3) for part in (0, 1)]
    assert {(each.wavefront, each.tile) for each in pieces} == {(0, 0)}
    alone = list(walk(shared(together=False), (8,), steps=3))
    assert [(each.turn, each.part, each.time) for each in alone] == [(0, part, t) for part in (0, 1) for t in range(3)]


def test_threads_that_do_not_meet_between_steps_are_found(monkeypatch, oracle):
    problem = make_problem(program("jacobi1d"), (9,), 4)
    complaints = []
    for together in (True, False):
        tree = shared(together=together)
        monkeypatch.setattr(catalogue, "tree", lambda *_, tree=tree: tree)
        complaints.append(oracle(problem, "none"))
    assert complaints[0] is None
    assert complaints[1].startswith("memory")
