"""Random loop nests whose loops are made parallel: what runs in any order computes what the loops say.

Each nest is planned for threads and for a device. Every loop that is called parallel then runs its iterations from the
last to the first, one after the other, and the results are compared with the nest's own: a dependence that was missed
shows at once, without a race that has to happen. Recurrences, sums in two directions, triangles, loops that count
down and subscripts from arrays are among the nests.
"""

import ctypes
import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tilewright.workloads.annotated.lower import parallel as loop_parallel
from tilewright.workloads.annotated.lower.harness import BoundVariable, emit_unit
from tilewright.workloads.annotated.lower.parallel import ParallelLoops, plan_parallel
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests.dependences import Nest
from tilewright.workloads.annotated.nests.nest import Binary, Loop, Num, Stmt, swap
from tilewright.workloads.annotated.nests.scalars import inline_temporaries, localise
from tilewright.workloads.annotated.parse.c import parse_code

from .nests import results

EXTENT = 14
NUMBERS = {"M": 11, "N": 13, "W": EXTENT}
ARRAYS = {
    "C": (EXTENT * EXTENT,),
    "A": (EXTENT, EXTENT),
    "B": (EXTENT, EXTENT),
    "x": (EXTENT,),
    "y": (EXTENT,),
    "z": (EXTENT,),
    "c": (EXTENT,),
}
TYPES = {**dict.fromkeys("ABCxyz", "double"), "c": "int", "s": "double", "q": "double"}
CASES = 24


def nest_text(draw: random.Random) -> str:
    """Draw a nest as C."""
    depth = draw.choices((1, 2, 3), (15, 65, 20))[0]
    text = _loops(draw, ["i", "j", "k"][:depth], [])
    if draw.random() < 0.7:
        return text
    # A matrix with one index, whose rows are as long as its bounds say and nobody else.
    flat = re.sub(r"\bA\[([^]]*)\]\[([^]]*)\]", r"C[(\1)*W + \2]", text)
    return re.sub(r"M - 2|N - 3", "W - 3", flat)


def _loops(draw: random.Random, counters: list[str], outer: list[str]) -> str:
    name, rest = counters[0], counters[1:]
    low, high = "2", draw.choice(("M - 2", "N - 3"))
    if outer and draw.random() < 0.2:
        low, high = draw.choice(((f"{outer[-1]}", high), (low, f"{outer[-1]}"), (f"{outer[-1]} + 1", high)))
    head = f"for ({name} = {low}; {name} <= {high}; {name}++)"
    if draw.random() < 0.25:
        head = f"for ({name} = {high}; {name} >= {low}; {name}--)"
    inside = [*outer, name]
    body = (
        [_loops(draw, rest, inside)] if rest else [_statement(draw, inside) for _ in range(draw.choice((1, 1, 2, 3)))]
    )
    if rest and draw.random() < 0.4:
        body.insert(draw.choice((0, 1)), _statement(draw, inside))
    if not rest and draw.random() < 0.15:
        body[0] = f"if ({name} % 2 == 0) {body[0]}"
    return f"{head} {{ {' '.join(body)} }}"


def _statement(draw: random.Random, counters: list[str]) -> str:
    def near(reach: float) -> str:
        shift = draw.choice((-1, 1)) if draw.random() < reach else 0
        return f"{draw.choice(counters)}{shift:+d}" if shift else draw.choice(counters)

    def item(name: str, reach: float) -> str:
        if name in {"s", "q"}:
            return name
        if name == "z" and draw.random() < 0.5:
            return f"z[c[{near(0)}]]"
        if len(ARRAYS[name]) == 2 and len(counters) > 1 and draw.random() < 0.8:
            one, other = counters[:2]
            shifts = [draw.choice((-1, -1, 0, 1)) if draw.random() < reach else 0 for _ in range(2)]
            return f"{name}[{one}{shifts[0]:+d}][{other}{shifts[1]:+d}]"
        return name + "".join(f"[{near(reach)}]" for _ in ARRAYS[name])

    target = draw.choice(("A", "A", "A", "y", "y", "z", "s"))
    op = draw.choice(("=", "=", "+=", "+=", "-=")) if target == "A" else draw.choice(("=", "+=", "+=", "+=", "-="))
    names = [
        target if draw.random() < 0.4 else draw.choice(("A", "B", "x", "y", "z", "s", "q"))
        for _ in range(draw.choice((1, 2, 2)))
    ]
    terms = " + ".join(
        f"{draw.uniform(0.05, 0.3):.3f}*{item(name, 0.7)}" for name in names if not (name == "s" == target)
    )
    return f"{item(target, 0.15)} {op} {terms or '0.25'};"


def reversed_loop(loop: Loop) -> Loop:
    """The same iterations from the last to the first."""
    count = Binary("/", Binary("-", loop.last, loop.first), Num(str(loop.step)))
    last = Binary("+", loop.first, Binary("*", count, Num(str(loop.step))))
    return replace(loop, first=last, last=loop.first, step=-loop.step)


def planned(text: str, *, device: bool) -> tuple[Stmt, ParallelLoops]:
    stmt = parse_code(text, "a law")
    stmt = localise(inline_temporaries(stmt, TYPES, {"s", "q"}), TYPES, {"s", "q"})
    known = {} if "W" in text else NUMBERS
    plan = plan_parallel(stmt, NestContext(known=known, types=TYPES), device=device)
    new = plan.stmt
    for loop, _ in plan.loops:
        new = swap(new, loop, reversed_loop(loop))
    return new, plan


def unit(stmt: Stmt, name: str) -> str:
    bound = [BoundVariable(ctype=TYPES[each], name=each, extents=extents) for each, extents in ARRAYS.items()]
    bound += [BoundVariable(ctype="double", name=each) for each in ("s", "q")]
    return re.sub(r"\btw_run\b", name, emit_unit(stmt, bound, numbers=NUMBERS, loose={}))


def inputs(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    values = [rng.uniform(0.5, 1.5, extents) for extents in ARRAYS.values()]
    values[-1] = rng.integers(0, EXTENT, EXTENT).astype(np.int32)
    return [*values, rng.uniform(0.5, 1.5, 1), rng.uniform(0.5, 1.5, 1)]


def ran(library: ctypes.CDLL, name: str, seed: int) -> list[np.ndarray]:
    arrays = inputs(seed)
    function = getattr(library, name)
    function.restype = ctypes.c_double
    function((ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays)))
    return arrays


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Diagonals of several tiles in nests this small."""
    monkeypatch.setattr(loop_parallel, "_TILE", 3)


def compared(seed: int, folder: Path) -> Counter[str]:
    """Plan and run a batch of nests; count what was done to them."""
    draw = random.Random(f"parallel/{seed}")  # noqa: S311
    texts = [nest_text(draw) for _ in range(CASES)]
    units: dict[str, str] = {}
    found: Counter[str] = Counter()
    for number, text in enumerate(texts):
        units[f"plain{number}"] = unit(parse_code(text, "a law"), f"plain{number}")
        for kind in ("threads", "device"):
            stmt, plan = planned(text, device=kind == "device")
            units[f"{kind}{number}"] = unit(stmt, f"{kind}{number}")
            found["parallel" if plan.loops else "sequential"] += 1
            found["rows"] += "C[" in text and bool(plan.loops)
            said = " ".join(plan.notes)
            words = ("is split into", "is brought outside", "as a wavefront")
            found.update(word for word in words if word in said)
            found["sums into arrays"] += any(each.count is not None for _, sums in plan.loops for each in sums)
    library = results(units, folder, ["cc"])
    for number, text in enumerate(texts):
        wanted = ran(library, f"plain{number}", seed)
        for kind in ("threads", "device"):
            got = ran(library, f"{kind}{number}", seed)
            for name, one, other in zip([*ARRAYS, "s", "q"], got, wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-10, err_msg=f"{kind}: {name} of {text}")
    return found


def test_parallel_loops_run_in_any_order(tmp_path):
    found = compared(0, tmp_path / "0") + compared(1, tmp_path / "1")
    assert min(found["parallel"], found["sequential"]) > 10
    for what in ("is split into", "is brought outside", "as a wavefront", "sums into arrays", "rows"):
        assert found[what] >= 1, found


def test_a_missed_dependence_shows(tmp_path, monkeypatch):
    monkeypatch.setattr(Nest, "carried", lambda *_: None)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        compared(0, tmp_path)


@pytest.mark.stress
@pytest.mark.parametrize("seed", [2, *range(100, 130)])
def test_many_more_parallel_loops_run_in_any_order(seed, tmp_path):
    compared(seed, tmp_path)
