"""Pipelines on a device, one group of their stencils after the other."""

from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.runtime.devices import call
from tilewright.runtime.devices.device import Device
from tilewright.runtime.memory import Array
from tilewright.workloads.pipelines.fusions import Fusion
from tilewright.workloads.pipelines.lower.device import emit_gpu_group
from tilewright.workloads.pipelines.problem import PipelineProblem


def execute(
    device: Device,
    problem: PipelineProblem,
    fusion: Fusion,
    block: tuple[int, int, int, int],  # (T_y, T_x, N_y, N_x)
    inputs: Mapping[str, Array],  # contiguous
    scalars: Sequence[float],
) -> dict[str, Array]:
    """Run the groups of a fusion; return the inputs and what every group hands on."""
    grids = dict(inputs)
    for group in fusion:
        source = emit_gpu_group(problem, group, device.dialect, block)
        layout = source.layout
        results = {grid: np.empty(problem.shape, problem.dtype(grid)) for grid in layout.outputs}
        given = [*(grids[grid] for grid in layout.inputs), *results.values()]
        numbers = [*map(np.int32, problem.shape), *map(np.dtype(layout.scalar_type).type, scalars)]
        call.run(device, source, [(0, layout.groups(problem.shape), [*given, *numbers])], [*results.values()])
        grids |= results
    return grids
