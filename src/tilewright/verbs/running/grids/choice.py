"""Kinds of arrays, and which kind of run they ask for. No library is imported: whoever hands over its arrays has."""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from tilewright.base.paths import as_path
from tilewright.runtime.devices.arrays import lies_on_device
from tilewright.runtime.formats.series import is_series
from tilewright.verbs.options import RunOptions
from tilewright.verbs.running.grids.device import Device
from tilewright.verbs.running.grids.engine import Engine
from tilewright.verbs.running.grids.memory import Memory


def kind_of(arrays: Sequence[Any], scalars: Mapping[str, Any], options: RunOptions) -> type[Engine]:
    """Return what runs a program on arrays.

    A ``numpy.memmap`` alone is an array like any other, as a source and as a target; from one to another is a run out
    of core. So are zarr arrays and paths, and whatever gives ``memory`` or ``resume``.
    """
    sources = [each for each in flat(arrays) if type(each) is not np.ndarray]
    targets = [] if options.out is None else flat((options.out,))
    on_disk = any(map(only_on_disk, sources))
    if any(map(is_distributed, sources)):
        kind = "Ranks"
    elif any(map(is_lazy, sources)):
        kind = "Dask"
    elif targets and not on_disk and writes_series(options):
        kind = "Series"
    elif on_disk or _asks_for_disk(options, targets) or (_any_mapped(sources) and _any_mapped(targets)):
        kind = "Disk"
    elif options.axes is not None:
        kind = "Batch"
    else:
        return in_memory(sources, scalars)
    engine: type[Engine] = getattr(import_module(f"tilewright.verbs.running.grids.{kind.lower()}"), kind)
    return engine


def in_memory(arrays: Sequence[Any], scalars: Mapping[str, Any]) -> type[Memory]:
    """Return what runs a program on arrays of this process or of a device."""
    values = (*arrays, *scalars.values()) if scalars else arrays
    return Device if any(lies_on_device(each) for each in values) else Memory


def writes_series(options: RunOptions) -> bool:
    """Whether a run writes its states to a file; a zarr path without ``every`` is that of an array."""
    if not is_series(options.out) or options.memory is not None:
        return False
    return options.every is not None or as_path(options.out, "out").suffix.lower() != ".zarr"


def _asks_for_disk(options: RunOptions, targets: Sequence[Any]) -> bool:
    return options.memory is not None or options.resume or any(map(only_on_disk, targets))


def _any_mapped(values: Sequence[Any]) -> bool:
    return any(isinstance(each, np.memmap) for each in values)


def is_distributed(value: object) -> bool:
    """Whether a value is an array over ranks."""
    ranks = sys.modules.get("tilewright.distributed.rank_arrays")
    return ranks is not None and isinstance(value, ranks.Array)


def is_lazy(value: object) -> bool:
    """Whether a value is a Dask array, or one of xarray's over it."""
    return module_of(value) == "dask" or (
        module_of(value) == "xarray" and module_of(getattr(value, "data", None)) == "dask"
    )


def only_on_disk(value: object) -> bool:
    """Whether a value is a path, or an array of zarr's."""
    return isinstance(value, str | os.PathLike) or module_of(value) == "zarr"


def module_of(value: object) -> str:
    """Return the name of the library that a value is of."""
    return type(value).__module__.partition(".")[0]


def flat(values: Sequence[Any]) -> list[Any]:
    """Return arrays one after the other, time levels included."""
    return [each for value in values for each in (value if isinstance(value, tuple) else (value,))]
