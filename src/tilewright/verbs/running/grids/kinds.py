"""Kinds of arrays. No library is imported: whoever hands over its arrays has done so."""

import os
import sys
from collections.abc import Sequence
from typing import Any


def is_distributed(value: object) -> bool:
    """Whether a value is an array over ranks."""
    ranks = sys.modules.get("tilewright.distributed.ranks")
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
