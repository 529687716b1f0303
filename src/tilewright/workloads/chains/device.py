"""Fused pairs of matrix products on a device."""

import numpy as np

from tilewright.codegen.products.matmul_gpu import emit_gpu
from tilewright.runtime.devices import call
from tilewright.runtime.devices.device import Device
from tilewright.runtime.memory import Array
from tilewright.schedules.code import GroupBlock


def fused_product(
    device: Device, fusion: str, operands: tuple[Array, Array, Array], block: GroupBlock, *, counting: bool = False
) -> tuple[Array, int]:
    """Multiply as :func:`tilewright.workloads.chains.fused.fused_product` does.

    Returns the product, and the words that moved between memory and the chip, modulo 2^32, if they are counted.
    """
    a1, a2, a3 = (np.ascontiguousarray(each) for each in operands)
    source = emit_gpu(fusion, a1.dtype.name, device.dialect, block, counting=counting)
    p = (a1.shape[0], a1.shape[1], a2.shape[1], a3.shape[1])
    result, words = np.empty((p[0], p[3]), a1.dtype), np.zeros(1, np.uint32)
    counted = [words] if counting else []
    arguments: list[Array | np.generic] = [a1, a2, a3, result, *map(np.int32, p), *counted]
    call.run(device, source, [(0, block.groups(fusion, p), arguments)], [result, *counted])
    return result, int(words[0])
