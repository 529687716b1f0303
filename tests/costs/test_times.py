"""Every model of time returns named terms, none of them below 0, whose sum is its seconds by construction."""

import math

import numpy as np
import pytest

from tilewright.base.constants import ALIGNMENT_LANES
from tilewright.costs import transfers
from tilewright.costs.arrays import BlockShapes
from tilewright.costs.breakdown import Times
from tilewright.costs.setting import make_setting
from tilewright.costs.time import evaluate as evaluate_tiles
from tilewright.costs.time import sizes_of
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import parse
from tilewright.workloads.annotated.costs import ElementAccess, LoopLaunch, launch_times, region_times
from tilewright.workloads.chains import times as chains
from tilewright.workloads.pipelines.catalogue import pipeline
from tilewright.workloads.pipelines.cpu_costs import count_group
from tilewright.workloads.pipelines.gpu_costs import card, evaluate
from tilewright.workloads.pipelines.problem import make_pipeline_problem
from tilewright.workloads.pipelines.rows import RowTile
from tilewright.workloads.tables import alignment_costs as alignment
from tilewright.workloads.tables import costs as orthogonal
from tilewright.workloads.tables.catalogue import recurrence_named
from tilewright.workloads.tables.orthogonal import complete_table

CPU, GPU = load("zen3"), load("k20c")
SIZES = [np.array([float(size)]) for size in (936, 1008, 552, 368)]
BLUR = make_pipeline_problem(pipeline("blur", radius=3), (1024, 1024))


def stencil(text, machine):
    setting, tiling = make_setting(make_problem(program("heat2d"), (1000, 1500), 20), machine), parse(text)
    return evaluate_tiles(tiling.family, sizes_of(tiling, setting), setting)


def table(machine):
    recurrence = recurrence_named("lcs")
    tiling = complete_table(recurrence, parse("orthogonal:t=64,s=128,sub=8"))
    return orthogonal.predict(orthogonal.make_case(recurrence, (1000, 3000), "int32", machine), tiling)


def aligned():
    case = alignment.AlignmentCase(lengths=(5000, 6000), letters=20, traced=True, machine=CPU)
    return alignment.times(case, 500, 8 * ALIGNMENT_LANES)


def rows():
    return count_group(BLUR, (0, 1), 4, CPU).costs(RowTile(width=256, rows=4, lines=1))


def blocks():
    shapes = BlockShapes(**{name: np.array([size]) for name, size in {"ty": 4, "tx": 32, "ny": 2, "nx": 1}.items()})
    return evaluate(BLUR, (0, 1), shapes, card(GPU))


def launch():
    row = ElementAccess(count=3.0, itemsize=8, stride=7, nbytes=2.0**30)
    known = {"threads": 256, "blocks": 112, "l1": 0, "registers": 20, "spill_bytes": 8.0, "shared_bytes": 1024}
    counts = {"floats": 1.0, "doubles": 2.0, "integers": 3.0, "specials": 0.1, "chip_words": 2.0, "barriers": 2}
    return launch_times(LoopLaunch(iterations=1e6, accesses=(row,), **known, **counts), GPU)


def streamed():
    moved = {"read_bytes": 9000, "write_bytes": 8000, "bandwidths": (1e9, 5e8)}
    case = transfers.Streamed(extent=500, steps=60, held_bytes=2e4, memory=2_000_000, **moved)
    return transfers.passes(case, lambda steps: (steps, steps), lambda n, steps: n * steps * 2e-6, wraps=False)


def exchanged(rate, bandwidth):
    block, ranks, wraps = (256, 256), (4, 4), (False, False)
    link = transfers.Link(latency=1e-4, bandwidth=bandwidth)
    return transfers.exchanges(
        200,
        8,
        link,
        lambda steps: (transfers.exchange(block, ranks, ((steps, steps),) * 2, wraps), block),
        lambda window, steps: math.prod(window) * steps * rate,
        around=lambda steps: transfers.strips(block, ranks, ((steps, steps),) * 2, wraps),
    )


def test_what_a_disk_and_a_network_do_not_hide_is_said_in_their_terms():
    """By the models as they are described: the first window is read, and the last one written, with nothing beside."""
    found = streamed()
    disk_turn, computed = found.disk_seconds / found.count, found.compute_seconds / found.count
    beside = min(disk_turn, computed) / found.slabs
    assert found.seconds == pytest.approx(found.count * (max(disk_turn, computed) + beside), rel=1e-12)
    serial, hidden = exchanged(1e-10, 1e8), exchanged(1e-7, 1e6)
    assert serial.seconds == pytest.approx(serial.compute_seconds + serial.message_seconds, rel=1e-12)
    assert max(hidden.compute_seconds, hidden.message_seconds) <= hidden.seconds
    assert hidden.seconds < hidden.compute_seconds + hidden.message_seconds


MODELS = {
    "none": lambda: stencil("none", CPU),
    "hybrid": lambda: stencil("hybrid:t=8,s=8x64", CPU),
    "hybrid, thread blocks": lambda: stencil("hybrid:t=8,s=8x64,threads=1x64", GPU),
    "streaming": lambda: stencil("streaming:t=4,s=256x256", CPU),
    "skewed": lambda: stencil("skewed:t=8,s=32x64", GPU),
    "table, CPU": lambda: table(CPU),
    "table, GPU": lambda: table(GPU),
    "alignment": aligned,
    "pipeline, CPU": rows,
    "pipeline, GPU": blocks,
    "products": lambda: chains.times(chains.machine_rates(GPU, 4), SIZES[0], SIZES[1]),
    "products of the host": lambda: chains.estimated_times(chains.machine_rates(CPU, 8), 8).times(
        "left", SIZES, (SIZES[0], SIZES[1])
    ),
    "tree": lambda: chains.energy(chains.machine_rates(GPU, 4), [(1e9, 1e6), (1e6, 1e7)]),
    "loop": launch,
    "region": lambda: region_times(1e-3, (1e6, 2e7), 5, 3, GPU),
    "disk": streamed,
    "network": lambda: exchanged(1e-10, 1e8),
    "network, overlapped": lambda: exchanged(1e-7, 1e6),
}


def test_every_model_names_its_terms():
    for name, evaluated in MODELS.items():
        found = evaluated()
        assert isinstance(found, Times), name
        assert all((np.asarray(term) >= 0).all() for term in found.terms.values()), name
        assert (np.asarray(found.seconds) > 0).all(), name
        if isinstance(found, transfers.Exchanges):
            assert found.overlapped == name.endswith("overlapped"), name
