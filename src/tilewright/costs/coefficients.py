"""The empirical coefficients of the CPU models, as plain numbers: their provenance and ranges are the machine's."""

from dataclasses import dataclass, fields

from tilewright.machines.machine import Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuCoefficients:
    """What the CPU models read of a machine besides its speeds and sizes.

    Each attribute is the value of the machine's parameter of the same name, which
    :data:`tilewright.machines.machine.PARAMETERS` describes.
    """

    cache_fraction: float
    l3_tile_fraction: float
    l3_grid_fraction: float
    l3_reuse_fraction: float
    l2_ways: float
    l3_ways: float
    overlap_exponent: float
    bytes_per_fetch: float
    l3_exposed_fraction: float
    l3_exposed_fraction_boxes: float
    l3_overlap_exponent: float
    far_row_ratio: float
    transpose_in_operations: float
    transpose_out_operations: float
    copy_operations: float
    strategy_margin: float
    uncalibrated_margin: float


def coefficients(machine: Machine) -> CpuCoefficients:
    """Return the coefficients of a machine; those of a GPU are estimates that no model of GPUs reads."""
    return CpuCoefficients(**{each.name: getattr(machine, each.name).value for each in fields(CpuCoefficients)})
