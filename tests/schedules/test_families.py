"""The contract of families: every member of every family."""

import importlib
import pickle
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from tests.oracles.counting import exact_counts

import tilewright as tw
from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.codegen.gpu.emit import emit_device, launches
from tilewright.costs import time as time_model
from tilewright.costs.setting import make_setting
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules import catalogue, families
from tilewright.schedules.family import FAMILIES, HOMES, Family, Legal, Parts, Violation, family_named
from tilewright.schedules.tiling import NONE, Tiling, parse
from tilewright.tuning.spaces import space
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

EVERY = catalogue.families()
OF_STENCILS = [each for each in EVERY if not each.tables]
SHAPES = {1: (90,), 2: (19, 22), 3: (9, 10, 17), 4: (4, 5, 6, 7)}
LARGE = {1: (2**20,), 2: (900, 1100), 3: (90, 110, 130)}
NAMES = {1: "jacobi1d", 2: "j2d5pt", 3: "j3d7pt"}


def ranks_of(chosen):
    return [(family, rank) for family in chosen for rank in family.ranks if rank in NAMES]


def problem_of(family, rank, shapes=SHAPES, **options):
    name = "smith_waterman" if family.tables else NAMES[rank]
    return make_problem(program(name), shapes[rank], 1 if family.tables else 6, **options)


def small(family, rank):
    """A tiling of small sizes, as far as the family has any."""
    if family.untiled:
        return Tiling(family=family)
    sizes = (4,) if family.tables else (8, 5, 8)[:rank]
    return Tiling(family=family, time=4, space=sizes)


def test_the_list_has_every_module_and_each_its_value():
    modules = {each.stem for each in Path(families.__path__[0]).glob("[a-z]*.py")}
    assert modules == set(FAMILIES) - set(HOMES)
    assert all(importlib.import_module(module).FAMILY is family_named(name) for name, module in HOMES.items())
    assert EVERY == FAMILIES
    for family in EVERY:
        assert isinstance(family, Family)
        assert all(each is family for each in (pickle.loads(pickle.dumps(family)), deepcopy(family)))  # noqa: S301
        assert family_named(str(family)) is Tiling(family=str(family)).family is family


@pytest.mark.parametrize("family", EVERY)
def test_what_is_required_is_there(family):
    assert family.ranks
    assert set(family.ranks) <= {1, 2, 3, 4}
    assert "\n" not in family.summary
    assert len(family.summary) < 120
    assert not (family.modelled and family.candidates(problem_of(family, min(family.ranks))))
    assert type(family).complete is not Family.complete
    assert type(family).tree is not Family.tree


@pytest.mark.parametrize(("family", "rank"), ranks_of(EVERY))
def test_a_name_alone_is_completed_to_a_legal_tiling_that_is_written_and_read(family, rank):
    problem = problem_of(family, rank, LARGE)
    whole = catalogue.legal(problem, parse(str(family)))
    assert catalogue.complete(problem, whole) == whole == parse(str(whole))
    assert whole.to_dict()["family"] == str(family)
    assert len(whole.space) == (0 if family.untiled else 1 if family.tables else rank)
    others = {1, 2, 3, 4} - set(family.ranks)
    for other in others:
        cells = make_problem(program("star1d1r"), (9,), 2) if other == 1 else None
        if cells is not None and not family.tables:
            with pytest.raises(IllegalTilingError, match="tiles cut"):
                catalogue.complete(cells, Tiling(family=family))


@pytest.mark.parametrize(("family", "rank"), ranks_of(OF_STENCILS))
def test_the_order_keeps_every_read(oracle, family, rank):
    """Brute force, of tiles that compute no cell twice."""
    problem = problem_of(family, rank)
    tiling = catalogue.legal(problem, small(family, rank))
    if not family.streams:
        assert oracle(problem, tiling) is None
    assert {piece.time for piece in catalogue.scan(problem, tiling)} == set(range(problem.steps))


@pytest.mark.parametrize("family", OF_STENCILS)
def test_what_wraps_around_the_grid_is_cut_by_no_tile(family):
    rank = min(family.ranks)
    verdict = catalogue.check(problem_of(family, rank, boundary="wrap"), small(family, rank))
    assert isinstance(verdict, Legal if family.untiled else Violation)


@pytest.mark.parametrize(("family", "rank"), ranks_of(EVERY))
def test_the_work_of_tiles_is_what_is_counted(family, rank):
    problem = problem_of(family, rank, {1: (3000,), 2: (150, 170), 3: (60, 70, 80)})
    tiling = catalogue.complete(problem, small(family, rank))
    work, counts = family.work(problem, tiling), exact_counts(problem, tiling)
    for name in ("points", "live_in", "live_out", "footprint"):
        assert getattr(work.block, name) == getattr(counts, name)
    assert counts.wavefronts <= work.spans.wavefronts <= 1.1 * counts.wavefronts
    assert counts.tiles <= work.spans.tiles <= 1.1 * counts.tiles
    assert counts.subtiles_per_tile <= work.spans.subtiles <= 1.1 * counts.subtiles_per_tile


@pytest.mark.parametrize(("family", "rank"), ranks_of(OF_STENCILS))
@pytest.mark.parametrize("machine", ["zen3", "h200"])
def test_there_is_a_price_where_there_is_code(family, rank, machine):
    problem, where = problem_of(family, rank, LARGE), load(machine)
    if where.kind == "gpu" and (rank == 1 and family.streams):
        pytest.skip("streaming tiles of GPUs have two dimensions at least")
    tiling = catalogue.complete(problem, small(family, rank))
    if where.kind == "gpu" and not family.gpu:
        with pytest.raises(UsageError, match=f"code of the family {family} for CPUs alone"):
            time_model.predict(problem, tiling, where)
        return
    whole = gpu_schedule(problem, tiling).tiling if where.kind == "gpu" and family.streams else tiling
    assert 0 < time_model.predict(problem, whole, where).seconds < np.inf


@pytest.mark.parametrize(("family", "rank"), ranks_of(OF_STENCILS))
def test_a_cpu_computes_what_numpy_does(family, rank):
    grid = np.random.default_rng(rank).random(SHAPES[rank])
    plain = tw.run(NAMES[rank], grid, steps=6, backend="numpy", strict=True)
    assert np.array_equal(tw.run(NAMES[rank], grid, steps=6, tiling=small(family, rank), strict=True), plain)


@pytest.mark.parametrize(("family", "rank"), ranks_of(OF_STENCILS))
@pytest.mark.parametrize("dialect", ["cuda", "opencl"])
def test_gpus_have_kernels_or_say_that_they_have_none(family, rank, dialect):
    if rank == 1 and family.streams:
        pytest.skip("streaming tiles of GPUs have two dimensions at least")
    problem = problem_of(family, rank)
    schedule = gpu_schedule(problem, small(family, rank))
    if not family.gpu:
        with pytest.raises(IllegalTilingError, match=f"no GPU code is made for the tiling family '{family}'"):
            emit_device(problem, schedule, dialect)
        return
    assert emit_device(problem, schedule, dialect).kernels
    assert list(launches(problem, schedule, problem.steps))


@pytest.mark.parametrize("family", EVERY)
def test_a_drawing(family):
    pytest.importorskip("matplotlib")
    from tilewright.report.drawing import drawn

    rank = min(family.ranks)
    assert drawn(problem_of(family, rank), small(family, rank)).axes


@pytest.mark.parametrize(("family", "rank"), ranks_of(OF_STENCILS))
def test_a_family_says_where_it_applies_and_what_to_try(family, rank):
    problem = problem_of(family, rank, LARGE)
    assert all(isinstance(catalogue.check(problem, each), Legal) for each in family.candidates(problem))
    for is_cpu in (True, False):
        among = family in space.families(problem, cpu=is_cpu)
        offered = family.modelled or (is_cpu and bool(family.candidates(problem)))
        assert among == (
            family == NONE.family or (not family.untiled and offered and family.applies(problem, gpu=not is_cpu))
        )
    swept = catalogue.sweep(problem, catalogue.complete(problem, small(family, rank)))
    assert swept is None or isinstance(swept, Parts)


def test_only_families_are_families():
    with pytest.raises(UsageError, match="there is no tiling family 'zzz'"):
        Tiling(family="zzz")
    assert parse("hybrid").family.hexagons


class Strips(type(family_named("skewed"))):
    """A family of one's own, which has no equations and takes whatever sizes it is given."""

    parallelograms = False
    offered = ()

    def complete(self, problem, tiling):
        return tiling

    def candidates(self, problem):
        return self.offered


@pytest.mark.parametrize("sizes", [[(8,)], [(8,), (8, 64)]])
def test_a_family_that_has_not_one_size_per_axis_is_refused_in_a_sentence(sizes):
    family, problem, machine = Strips("strips"), problem_of(family_named("skewed"), 2, LARGE), load("zen3")
    tilings = [Tiling(family=family, space=space) for space in sizes]
    sentence = r"strips tiles have one size per axis: 2, got 1 in 'strips:s=8' \(hint: write it like s=16x64\)"
    with pytest.raises(UsageError, match=sentence):
        catalogue.complete(problem, tilings[0])
    family.offered = tilings
    with pytest.raises(UsageError, match=sentence):
        space.feasible(make_setting(problem, machine), family=family)
