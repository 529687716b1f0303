"""Annotated files tuned on this machine: the new code beside the original body, built with the same flags.

python benchmarks/annotated.py [NAME…] [--seconds N] [--output FILE]

The examples, and the kernels of the literature that the tests tune, at sizes that people compute with. Files that are
not named stay on record. Times are medians of runs in turn, one process, the data in memory; every variant is compared
with the original body before it is timed. Where BLAS has the operation, its time on as many threads is beside it.
Where N seconds do not suffice, so that times would be of different moments or a variant left out, the file is tuned
again with twice as many; every row says how many it took.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import blas

import environment
import tilewright as tw
from tilewright.workloads.annotated.nests.limit import LATE

EXAMPLES = Path(__file__).parents[1] / "examples" / "annotated"
SIZES: dict[str, dict[str, int]] = {
    "matmult_seqdia": {"m": 512, "n": 512},
    "cg_iteration": {"m": 1000, "n": 1000},
    "bratu_ex5": {"Mx": 1000, "My": 1000},
    "jacobi_time_loop": {"T": 100, "N": 3000},
    "heat_expression": {"T": 200, "N": 1_000_000},
    "vec_maxpy": {},
    "matmul_composite": {},
}
"""Examples that are tuned, and at which sizes of their input."""
LITERATURE = Path(__file__).parents[1] / "tests" / "workloads" / "annotated" / "verbs" / "literature"
KERNELS: dict[str, dict[str, int]] = {
    "2mm": {"NI": 400, "NJ": 400, "NK": 400, "NL": 400},
    "3mm": {"NI": 400, "NJ": 400, "NK": 400, "NL": 400, "NM": 400},
    "atax": {"M": 2000, "N": 2000},
    "bicg": {"NX": 2000, "NY": 2000},
    "chill_matmul": {"N": 500},
    "cholesky": {"N": 600},
    "counted_down": {"N": 2_000_003},
    "doitgen": {"NR": 60, "NQ": 60, "NP": 120},
    "durbin": {"N": 2000},
    "fdtd_polysyn": {"tmax": 50, "nx": 1000, "ny": 1000},
    "floyd_warshall": {"N": 400},
    "gemver_cuda": {"N": 2000},
    "gesummv": {"N": 2000},
    "gramschmidt": {"M": 400, "N": 300},
    "heat3d": {"T": 20, "N": 120},
    "lu_linear": {"N": 500},
    "lu_polysyn": {"N": 500},
    "ludcmp": {"N": 500},
    "mvt": {"N": 2000},
    "nussinov": {"N": 500},
    "poisson_borders": {"M": 2000, "N": 2000},
    "seidel2d": {"T": 20, "N": 1000},
    "spmv_csr": {"NROWS": 200_000},
    "spmv_inode": {"NROWS": 200_000},
    "symm": {"M": 400, "N": 400},
    "syr2k": {"N": 400, "M": 400},
    "syrk": {"N": 400, "M": 400},
    "trisolv": {"N": 2000},
    "trmm_opencl": {"M": 400, "N": 400},
}
"""Kernels of the literature, and the sizes."""
ROUNDS = 3
"""Rounds in which the winner and the original body are timed in turn, and other kernels too; a row has no fewer."""
DOUBLINGS = 5

_IN_BLAS = frozenset(
    "2mm 3mm atax bicg chill_matmul doitgen gesummv mvt symm syr2k syrk trisolv trmm_opencl".split()  # noqa: SIM905
)
"""Kernels that BLAS computes."""


def _blas(name: str) -> Callable[[], object] | None:
    """Return what BLAS does for a kernel, on data of its own, or None where it has no such operation."""
    rng = np.random.default_rng(1)
    n = next(iter(KERNELS[name].values())) if name in _IN_BLAS else 0

    def matrix() -> np.ndarray:
        return np.asfortranarray(rng.random((n, n)))

    a, b, c, x, y = matrix(), matrix(), matrix(), rng.random(n), rng.random(n)
    regular = a + n * np.eye(n)
    rows = KERNELS["doitgen"]["NR"] * KERNELS["doitgen"]["NQ"]
    tall, square = np.asfortranarray(rng.random((rows, 120))), np.asfortranarray(rng.random((120, 120)))
    calls: dict[str, Callable[[], object]] = {
        "2mm": lambda: blas.dgemm(1.0, blas.dgemm(1.5, a, b), c),
        "3mm": lambda: blas.dgemm(1.0, blas.dgemm(1.0, a, b), blas.dgemm(1.0, b, c)),
        "chill_matmul": lambda: blas.dgemm(1.0, a, b, 1.0, c, overwrite_c=1),
        "atax": lambda: blas.dgemv(1.0, a, blas.dgemv(1.0, a, x), trans=1),
        "bicg": lambda: (blas.dgemv(1.0, a, x), blas.dgemv(1.0, a, y, trans=1)),
        "mvt": lambda: (blas.dgemv(1.0, a, x), blas.dgemv(1.0, a, y, trans=1)),
        "gesummv": lambda: (blas.dgemv(1.5, a, x), blas.dgemv(1.2, b, x)),
        "doitgen": lambda: blas.dgemm(1.0, tall, square),
        "symm": lambda: blas.dsymm(1.5, a, b, 1.2, c, overwrite_c=1),
        "syr2k": lambda: blas.dsyr2k(1.5, a, b, 1.2, c, overwrite_c=1),
        "syrk": lambda: blas.dsyrk(1.5, a, 1.2, c, overwrite_c=1),
        "trisolv": lambda: blas.dtrsv(regular, x),
        "trmm_opencl": lambda: blas.dtrmm(1.5, a, b, overwrite_b=1),
    }
    return calls.get(name)


def _seconds(call: Callable[[], object], rounds: int = 15) -> float:
    """Return the median time of a call after the first one."""
    taken = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[1:])


def tuned(name: str, seconds: float) -> dict[str, Any] | None:
    """Tune an example; return what was found, or None if the time did not suffice for what rows are compared by."""
    file = EXAMPLES / f"{name}.c" if name in SIZES else LITERATURE / f"{name}.c"
    try:
        result = tw.annotate(file, sizes=SIZES.get(name) or KERNELS.get(name), seconds=seconds)
    except tw.UsageError as error:
        if LATE not in error.message:
            raise
        return None
    (region,) = result.to_dict()["regions"]
    (size,) = region["results"]
    late = any(LATE in note for note in size["notes"])
    return None if late or size["rounds"] < ROUNDS else size


def enough(name: str, seconds: float) -> tuple[dict[str, Any], float]:
    """Tune an example for as long as it takes that variants and original are timed often enough.

    Returns:
        What was found, and the seconds it was given.

    Raises:
        SystemExit: If the time does not suffice when it was doubled again and again.
    """
    for doubled in range(DOUBLINGS + 1):
        given = seconds * 2**doubled
        if (size := tuned(name, given)) is not None:
            return size, given
        print(f"{name}: {given:g} s do not suffice for {ROUNDS} rounds of every variant", file=sys.stderr, flush=True)
    sys.exit(f"{name}: not measured; give more --seconds")


def measured(name: str, seconds: float) -> dict[str, Any]:
    """Tune an example and return what came out of it."""
    size, given = enough(name, seconds)
    keys = (
        "input",
        "winner",
        "seconds",
        "original_seconds",
        "speedup",
        "speedup_low",
        "speedup_high",
        "rounds",
        "search",
        "evaluated",
        "space_size",
        "outcomes",
    )
    found = {key: size[key] for key in (*keys, "validated", "command")}
    call = _blas(name)
    return {
        **found,
        "tuning_seconds": given,
        "stencil_tiling": size.get("stencil_tiling"),
        "blocked_products": size.get("blocked_products", False),
        "kept_original": size.get("kept_original"),
        "blas_seconds": None if call is None else _seconds(call),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join((*SIZES, *KERNELS))}; all by default")
    parser.add_argument(
        "--seconds", type=float, default=30.0, help="time to tune one example, more where it is too short"
    )
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "annotated.json")
    chosen = parser.parse_args()
    record = json.loads(chosen.output.read_text(encoding="utf-8")) if chosen.output.exists() else {}
    for name in chosen.names or (*SIZES, *KERNELS):
        record[name] = {**measured(name, chosen.seconds), "environment": environment.describe(environment.cores())}
        found = record[name]
        beside = f", {found['blas_seconds'] / found['seconds']:.2f} times BLAS" if found["blas_seconds"] else ""
        kind = "products" if found["blocked_products"] else found["stencil_tiling"] or found["winner"]
        print(f"{name}: {found['speedup']:.2f} times as fast{beside}, {kind}", flush=True)
        chosen.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
