"""What a model expects of a variant before it is built: the logarithm of a time, up to a constant."""

import math
from collections.abc import Callable, Mapping

from tilewright.workloads.annotated.nests.nest import Transform, statements
from tilewright.workloads.annotated.verbs.case import Case

_REGISTERS = 16.0
"""Names of vector registers: copies beyond them spill."""
_CACHE_BYTES = 2.0**20
"""What a tile should stay below: a second-level cache."""
_ELEMENT = 8.0


def prior_of(case: Case) -> Callable[[Mapping[str, object]], float]:
    """Return an estimate for the points of a case.

    Copies of a body pay until their values no longer fit the registers, tiles while they are larger than a few cache
    lines and fit the cache; ``-O`` levels and parallel loops count as compilers' and threads' usual gains.
    """
    roles = _roles(case)

    def expected(values: Mapping[str, object]) -> float:
        total, copies, tile = 0.0, 1.0, 1.0
        for name, value in values.items():
            role = roles.get(name, "")
            if role == "unroll" and isinstance(value, int):
                copies *= max(1, value)
            elif role == "tile" and isinstance(value, int) and value > 1:
                tile *= value
            elif role == "parallel" and value is True:
                total -= 0.3
            elif isinstance(value, str):
                total -= 0.2 * sum(level in value for level in ("-O1", "-O2", "-O3")) + 0.1 * ("-O3" in value)
        total += -0.1 * math.log2(min(copies, _REGISTERS)) + 0.15 * max(0.0, math.log2(copies / _REGISTERS))
        if tile > 1.0:
            total += 0.1 * max(0.0, math.log2(_ELEMENT * tile / _CACHE_BYTES)) + 0.1 * max(0.0, 6.0 - math.log2(tile))
        return total

    return expected


def _roles(case: Case) -> dict[str, str]:
    """Guess what every parameter is for, from the arguments that mention it."""
    spec = case.site.spec
    names = [each.name for each in spec.params] if spec is not None else []
    found: dict[str, str] = {}
    for loop in case.site.loops:
        for node in statements(loop.code):
            if not isinstance(node, Transform):
                continue
            for key, text in node.arguments:
                role = "unroll" if key in {"ufactor", "ufactors", "unrolljam", "regtile", "unrollInner"} else ""
                role = "tile" if key in {"tile", "tsize"} else "parallel" if key in {"openmp", "parallelize"} else role
                for name in names:
                    if role and name in text:
                        found.setdefault(name, role)
    return found
