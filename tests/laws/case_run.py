"""Runs a case, compares it with NumPy, and makes one that fails small.

A case is made into a script, which is what runs and what a failure prints: a few lines that anybody can paste. Its
result is compared with :mod:`tests.laws.by_numpy`, which takes nothing of the package but the script's own function.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from tests.distributed.in_threads import on_ranks

import tilewright as tw

from .by_numpy import PointsAt, Run, Side
from .case import COMPLEX, CONSTANT, DIMENSIONS, FACES, HISTORY, NARROW, PROGRAMS, TILINGS, WHOLE, Case, refusals

FACTOR = 0.7
"""That of robin's condition."""
STEP = 1e-6
"""Of the differences that a gradient is compared with."""
OPENCL = "opencl:oclgrind"
"""The device of cases on OpenCL's devices."""


def fields_of(case: Case) -> dict[str, int]:
    """Levels of every field of a case's program."""
    return HISTORY.get(case.program, {"u": 1})


def updated_of(case: Case) -> tuple[str, ...]:
    """The fields that its steps change."""
    return tuple(each for each in fields_of(case) if each not in CONSTANT.get(case.program, ()))


def _drawn(case: Case, low: float, high: float, shape: Sequence[int]) -> str:
    """Text that draws numbers of a case's element type."""
    if case.dtype in WHOLE:
        return f"draw.integers({round(10 * low)}, {round(90 * high)}, {tuple(shape)})"
    text = f"draw.uniform({low}, {high}, {tuple(shape)})"
    return f"{text} + 1j * {text}" if case.dtype in COMPLEX else text


def _number(case: Case, real: float, whole: int) -> complex:
    if case.dtype in WHOLE:
        return whole
    return complex(real, real / 3) if case.dtype in COMPLEX else real


def sides_of(case: Case) -> list[tuple[str, str]]:
    """The boundary's kinds per axis."""
    if case.boundary == "sides":
        return [("fixed", "constant"), ("nearest", "mirror"), ("reflect", "constant"), ("wrap", "wrap")][: case.rank]
    if case.boundary == "along":
        return [("constant", "constant"), *[("nearest", "nearest")] * (case.rank - 1)]
    kind = "constant" if case.boundary == "per step" else case.boundary
    return [(kind, kind)] * case.rank


def _side(case: Case, kind: str) -> str:
    """Text of a side, with its value where it has one: itself a text where texts hold such numbers."""
    if kind not in {"constant", *FACES}:
        return repr(kind)
    number, factor = _number(case, 0.5, 3), FACTOR if kind == "robin" else 0.0
    if case.dtype in COMPLEX:
        return f"tw.Boundary({kind!r}, {number}, {factor})"
    return repr(f"{kind}:{number}" + (f":{factor}" if factor else ""))


def _boundary(case: Case) -> str:
    if case.boundary == "per step":
        return 'tw.Boundary("constant", edge)'
    if case.boundary == "along":
        return "(" + ", ".join(["tw.Boundary('constant', edge)", *["'nearest'"] * (case.rank - 1)]) + ",)"
    if case.boundary != "sides":
        return _side(case, case.boundary)
    pairs = [", ".join(_side(case, kind) for kind in pair) for pair in sides_of(case)]
    return f"({', '.join(f'({pair})' for pair in pairs)},)"


def _grid(case: Case) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape of a case's arrays, and the axes in it that are the program's."""
    every = tuple(range(case.rank))
    first, *others = case.shape[::-1]
    return {
        "none": (case.shape, every),
        "front": ((2, *case.shape), tuple(axis - case.rank for axis in every)),
        "back": ((*case.shape, 2), every),
        "middle": ((first, 2, *others), (*range(case.rank, 1, -1), 0)),
        "turned": (case.shape[::-1], every[::-1]),
    }[case.batch]


def tiling_of(case: Case) -> str | None:
    """The tiling's text."""
    if case.family in {"none", "auto"}:
        return "none" if case.family == "none" else None
    sizes = TILINGS[case.family].get(case.rank, "t=2")
    return f"{case.family}:{sizes.split(';')[case.tile % len(sizes.split(';'))]}"


def given(case: Case) -> str:
    """The first part of a case's script: the program, its data and the options."""
    shape, axes = _grid(case)
    lines = ["import numpy as np", "import tilewright as tw"]
    lines += ["import ml_dtypes"] if case.dtype == "bfloat16" else []
    lines += ["import xarray"] if case.layout == "labelled" else []
    lines += ["", PROGRAMS[case.program], "", "draw = np.random.default_rng(7)"]
    for field, levels in fields_of(case).items():
        one = LAYOUTS[case.layout].format(f'({_drawn(case, 0, 1, shape)}).astype("{case.dtype}")')
        lines.append(f"{field} = {f'tuple({one} for _ in range({levels}))' if levels > 1 else one}")
    cells = case.shape[::-1] if case.batch == "turned" else case.shape
    lines.append(
        {
            "number": f"a = {_number(case, 0.3, 3)}",
            "per step": f"a = tw.per_step({_drawn(case, 0.1, 0.3, (case.steps,))})",
            "per cell": f'a = ({_drawn(case, 0.1, 0.3, cells)}).astype("{case.dtype}")',
            "row": f'a = ({_drawn(case, 0.1, 0.3, case.shape[-1:])}).astype("{case.dtype}")',
        }[case.coefficient]
    )
    if case.boundary in {"per step", "along"}:
        values = (case.steps,) if case.boundary == "per step" else (1, *case.shape[1:])
        text = _drawn(case, 0, 1, values)
        lines.append(f"edge = {text if case.boundary == 'per step' else f'({text}).astype({case.dtype!r})'}")
    options = {"steps": case.steps, "dtype": case.dtype, "boundary": _boundary(case), "threads": case.threads}
    options |= {"strict": case.strict} | ({} if case.result == "gradient" else {"tiling": tiling_of(case)})
    options["backend"] = OPENCL if case.target == "opencl" else case.target
    written = [f"{name}={each if name == 'boundary' else repr(each)}" for name, each in options.items()]
    if case.batch != "none":
        written.append(f"axes={axes}")
    if case.mask != "none":
        lines.append(f"mask = draw.uniform(0, 1, {case.shape}) < 0.7")
        written.append("where=mask")
    if case.points != "none":
        spots = f"draw.uniform(0, 1, (5, {case.rank})) * (np.array({case.shape}) - 1)"
        lines.append(f"spots = np.rint({spots})" if case.points == "cells" else f"spots = {spots}")
        lines += ["spots[1] = spots[0]", f"wavelet = {_drawn(case, 0, 0.1, (case.steps, 5))}"]
        written += ["sources=tw.Points(spots, values=wavelet)", "receivers=tw.Points(spots[::-1], every=1)"]
    lines.append(f"options = dict(a=a, b={_number(case, 0.2, 2)}, {', '.join(written)})")
    return "\n".join(lines)


LAYOUTS = {
    "plain": "{}",
    "by columns": "np.asfortranarray({})",
    "backwards": "np.flip(np.flip({}).copy())",
    "strided": "np.repeat({}, 2, -1)[..., ::2]",
    "swapped": "(lambda each: each.astype(each.dtype.newbyteorder()))({})",
    "labelled": "xarray.DataArray({})",
}
"""How an array is made to lie in memory, or to be of another kind."""
ENGINES = {
    "memory": "",
    "disk": """
        def saved(name, values):
            np.save(folder / f"{name}.npy", values)
            return folder / f"{name}.npy"

        def large(levels, name):
            levels = levels if isinstance(levels, tuple) else (levels,)
            return tuple(saved(f"{name}{age}", each) for age, each in enumerate(levels))
    """,
    "ranks": """
        def dealt(values):
            array = tw.distributed.Array(values.shape, values.dtype, comm=comm)
            array.local[...] = values[tuple(slice(*each) for each in array.box)]
            return array

        def large(levels, name):
            levels = levels if isinstance(levels, tuple) else (levels,)
            return tuple(dealt(each) if isinstance(each, np.ndarray) else each for each in levels)
    """,
    "dask": """
        import dask.array as da

        def large(levels, name):
            levels = levels if isinstance(levels, tuple) else (levels,)
            return tuple(da.asarray(each).rechunk(tuple(n // 2 + 1 for n in each.shape)) for each in levels)
    """,
}
"""How arrays become those of an engine."""
LEAST_MEMORY = """
    memory = 4096
    while True:
        try:
            {call}
            break
        except tw.ArrayError as error:
            if " of memory" not in str(error):
                raise
            memory = 3 * memory // 2
"""
"""A run out of core in many slabs."""


def pulled_back(case: Case, fields: Sequence[str]) -> str:
    """The run of a gradient."""
    (shape, _), updated = _grid(case), updated_of(case)
    lines = ["draw = np.random.default_rng(8)"]
    lines.append(f"worth = tuple(draw.normal(size={shape}) for _ in range({len(updated)}))")
    worth = "worth" if len(updated) > 1 else "worth[0]"
    if case.points != "none":
        lines.append(f"heard = draw.normal(size=({case.steps}, 5))")
        worth = f'({worth}, {{"u": heard}})'
    lines.append(f"result, pullback = tw.vjp({', '.join([case.program, *fields])}, **options)")
    return "\n".join([*lines, f"gradients, others = pullback({worth})", "found = gradients, others"])


def called(case: Case) -> str:
    """The second part of a case's script: the run, which gives ``found``."""
    lines = [textwrap.dedent(ENGINES[case.engine]).strip()]
    fields, updated = fields_of(case), updated_of(case)
    shape, _ = _grid(case)
    first = [each if case.engine == "memory" else f"large({each}, {each!r})" for each in fields]

    def call(target: str, arrays: Sequence[str], more: str = "", part: int = 0, *, levels: bool = False) -> str:
        if case.engine == "disk" and "out=" in more:
            more += ", memory=memory"
        elif case.engine == "disk":
            names = [
                [f'folder / "{field}-{part}-{age}.npy"' for age in range(fields[field] if levels else 1)]
                for field in updated
            ]
            texts = [f"({', '.join(each)})" if len(each) > 1 else each[0] for each in names]
            more = f"{more}, out={f'({chr(44).join(texts)})' if len(texts) > 1 else texts[0]}, memory=memory"
        more += ", levels=True" if levels else ""
        text = f"{target} = tw.run({', '.join([case.program, *arrays])}{more}, **options)"
        return textwrap.dedent(LEAST_MEMORY).strip().format(call=text) if case.engine == "disk" else text

    state = "seen" if case.points == "none" else "(seen, _)"
    if case.result == "levels":
        lines.append(call("found", first, levels=True))
    elif case.result == "parts":
        lines.append(call(state, first, levels=True))
        again = ["seen"] if len(updated) == 1 else [f"seen[{number}]" for number in range(len(updated))]
        lines.append(call("found", [*again, *first[len(updated) :]], part=1))
    elif case.result == "looks":
        copies = "[np.copy(each) for each in view]" if len(updated) > 1 else "np.copy(view)"
        lines += ["seen = []", call("last", first, f", every=2, callback=lambda step, view: seen.append({copies})")]
        lines.append("found = last, seen")
    elif case.result == "ended":
        lines.append(call("found", first, ", every=2, callback=lambda step, _: step >= 4"))
    elif case.result == "record":
        lines += [call("done", first, ", record=True"), "found = done.levels, done.traces"]
    elif case.result == "gradient":
        lines.append(pulled_back(case, first))
    elif case.result == "series":
        lines += [call("last", first, ', every=2, out=folder / "u.zarr"'), 'saved = tw.load(folder / "u.zarr")']
        lines.append(f"found = last, [saved.at(number)[:{len(updated)}] for number in range(len(saved.steps))]")
    elif case.result == "out" and case.engine != "disk":
        targets = ", ".join(f'np.zeros({shape}, "{case.dtype}")' for _ in updated)
        lines.append(call("found", first, f", out={f'({targets})' if len(updated) > 1 else targets}"))
    else:
        lines.append(call("found", first))
    return "\n".join(lines)


def script(case: Case) -> str:
    """A case as a script of its own, which shows what it finds, and beside it what NumPy does where that is a line."""
    lines = [given(case)]
    text = called(case)
    lines += ["from pathlib import Path; from tempfile import mkdtemp; folder = Path(mkdtemp())"] * ("folder" in text)
    lines += ["from mpi4py import MPI; comm = MPI.COMM_WORLD  # mpiexec -n 2 python …"] * ("comm" in text)
    if case.engine == "memory" and case.result == "newest" and case.target != "numpy":
        arrays = ", ".join(fields_of(case))
        plain = '{**options, "backend": "numpy", "tiling": None}'
        return "\n".join(
            [*lines, text, f"wanted = tw.run({case.program}, {arrays}, **{plain})", "print(found, wanted)"]
        )
    return "\n".join([*lines, text, "print(found)"])


def flat(found: Any) -> Iterator[np.ndarray]:
    """The arrays of a result, in order, whatever its form and kind."""
    if isinstance(found, Mapping):
        found = tuple(found.values())
    if isinstance(found, tuple | list):
        for each in found:
            yield from flat(each)
    elif hasattr(found, "gather"):
        yield found.gather()
    elif hasattr(found, "dask"):
        yield found.compute(scheduler="synchronous")
    else:
        yield np.asarray(found)


def ran(case: Case, folder: Path) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Run a case's script; return its arrays, and the names that it made.

    Raises:
        AssertionError: If an array that was given changed, or is part of the result.
    """

    def on(comm: object) -> tuple[list[np.ndarray], dict[str, Any]]:
        names: dict[str, Any] = {"comm": comm, "folder": folder, "__name__": "script"}
        exec(compile(given(case), case.name, "exec"), names)  # noqa: S102
        inputs = [*flat([names[field] for field in fields_of(case)])]
        before = [np.array(each) for each in inputs]
        exec(compile(called(case), case.name, "exec"), names)  # noqa: S102
        assert all(map(np.array_equal, inputs, before)), "an array that was given changed"
        if case.result == "gradient":
            return [slope(case, names)], names
        found = list(flat(names["found"]))
        assert not any(np.shares_memory(one, other) for one in inputs for other in found), "a result is an input"
        return found, names

    return on_ranks(2, on)[1][0] if case.engine == "ranks" else on(None)


def moves_of(case: Case) -> dict[str, Any]:
    """A direction of what a gradient is by: the levels of every field, the scalars, what sources emit."""
    draw = np.random.default_rng(9)
    found: dict[str, Any] = {
        name: [draw.normal(size=case.shape) for _ in range(levels)] for name, levels in fields_of(case).items()
    }
    found["a"] = draw.normal(size={"per cell": case.shape, "row": case.shape[-1:]}.get(case.coefficient, ()))
    found["b"], found["wavelet"] = draw.normal(), draw.normal(size=(case.steps, 5))
    return found


def slope(case: Case, names: dict[str, Any]) -> np.ndarray:
    """The derivative along the direction by the gradient, as a share of the sizes of its parts."""
    moves, others = moves_of(case), names["others"]
    pairs = []
    for name, gradient in zip(fields_of(case), names["gradients"], strict=True):
        levels = gradient if isinstance(gradient, tuple) else (gradient,)
        pairs += zip(map(np.asarray, levels), moves[name], strict=True)
    pairs += [(np.asarray(others[name]), moves[name]) for name in ("a", "b") if name in others]
    if case.points != "none":
        pairs.append((others["sources"]["u"], moves["wavelet"]))
    parts = [float((one * move).sum()) for one, move in pairs]
    names["size"] = 1.0 + sum(float(np.abs(one * move).sum()) for one, move in pairs)
    return np.array(sum(parts) / names["size"], case.dtype)


def differences(case: Case, names: Mapping[str, Any], run: Run) -> np.ndarray:
    """The derivative along the direction by differences of runs in NumPy, as :func:`slope` has it."""
    moves = moves_of(case)

    def value(by: float) -> float:
        sources = run.sources and replace(run.sources, values=run.sources.values + by * moves["wavelet"])
        varied = [name for name in ("a", "b") if name not in run.varying]
        there = replace(
            run,
            fields={
                name: [each + by * move for each, move in zip(levels, moves[name], strict=True)]
                for name, levels in run.fields.items()
            },
            scalars=run.scalars | {name: run.scalars[name] + by * moves[name] for name in varied},
            sources=sources,
            dtype=np.dtype(np.float64),
        )
        states, records = there.computed()
        heard = float((names["heard"] * np.array(records)).sum()) if records and sources else 0.0
        newest = [states[-1][field][0] for field in updated_of(case)]
        return heard + sum(float((one * other).sum()) for one, other in zip(names["worth"], newest, strict=True))

    return np.array((value(STEP) - value(-STEP)) / (2 * STEP) / names["size"], case.dtype)


def expected(case: Case, names: Mapping[str, Any]) -> list[np.ndarray]:
    """What the run gives, by NumPy, from what the script defined."""
    _, axes = _grid(case)
    rank, batched = case.rank, case.batch not in {"none", "turned"}

    def grids(values: Any) -> list[np.ndarray]:
        array = np.asarray(values)
        if array.ndim < rank:
            return [array] * (2 if batched else 1)
        if batched and array.ndim == rank:
            return [array] * 2
        turned = np.moveaxis(array, axes, range(-rank, 0))
        return list(turned) if batched else [turned]

    fields = {
        name: [grids(each) for each in (names[name] if levels > 1 else (names[name],))]
        for name, levels in fields_of(case).items()
    }
    scalars = {"a": names["a"], "b": names["options"]["b"]}
    if case.coefficient == "per step":
        scalars["a"] = names["a"].values
    split = {"a": grids(scalars["a"])} if case.coefficient in {"per cell", "row"} else {}
    constant = names["edge"] if case.boundary in {"per step", "along"} else _number(case, 0.5, 3)
    sides = [tuple(Side(kind=kind, values=constant, factor=FACTOR) for kind in pair) for pair in sides_of(case)]
    parts = []
    for number in range(2 if batched else 1):
        run = Run(
            body=names[case.program],
            fields={name: [each[number] for each in levels] for name, levels in fields.items()},
            scalars=scalars | {name: each[number] for name, each in split.items()},
            varying=("a",) if case.coefficient == "per step" else (),
            sides=sides,
            steps=case.steps,
            dtype=np.dtype(case.dtype),
            sources=None if case.points == "none" else PointsAt(places=names["spots"], values=names["wavelet"]),
            receivers=None if case.points == "none" else PointsAt(places=names["spots"][::-1]),
            mask=names.get("mask"),
        )
        if case.result == "gradient":
            return [differences(case, names, run)]
        parts.append(_results(case, run))
    if case.batch == "none":
        return parts[0]
    return [
        np.moveaxis(np.stack(each) if batched else each[0], range(-rank, 0), axes) for each in zip(*parts, strict=True)
    ]


def _results(case: Case, run: Run) -> list[np.ndarray]:
    """What a run gives of one grid, in the order of :func:`flat`."""
    states, records = run.computed()
    if case.result == "parts":
        states, records = replace(run, fields=states[-1]).computed()
    updated = updated_of(case)

    def newest(state: Mapping[str, Sequence[np.ndarray]]) -> list[np.ndarray]:
        return [state[field][0] for field in updated]

    def levels(state: Mapping[str, Sequence[np.ndarray]]) -> list[np.ndarray]:
        return [each for field in updated for each in state[field]]

    looks = [*range(2, case.steps, 2), *([case.steps] if case.steps else [])]
    done = min(case.steps, 4) if case.result == "ended" else case.steps
    found = levels(states[done]) if case.result in {"levels", "record"} else newest(states[done])
    if case.points != "none":
        found.append(np.array(records[:done], None if records else case.dtype).reshape(done, 5))
    if case.result == "looks":
        found += [each for step in looks for each in newest(states[step])]
    elif case.result == "series":  # the first record is the start as it was given
        found += [each for state in [run.fields, *(states[step] for step in looks)] for each in levels(state)]
    return found


def difference(case: Case, found: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> str:
    """Say what differs by more than the order of operations explains; nothing may where a run is strict."""
    if len(found) != len(right):
        return f"{len(found)} arrays in place of {len(right)}"
    texts = []
    for number, (ours, theirs) in enumerate(zip(found, right, strict=True)):
        trace = case.points != "none" and theirs.ndim == 2 and theirs.shape[1] == 5 and theirs.shape[0] <= case.steps
        if ours.shape != theirs.shape or (ours.dtype != np.dtype(case.dtype) and not trace):
            texts.append(f"array {number} is {ours.dtype}{ours.shape}, not {case.dtype}{theirs.shape}")
            continue
        exact = case.strict and case.dtype not in COMPLEX and not trace and case.boundary not in FACES
        exact = (exact and case.result != "gradient") or case.dtype in WHOLE
        if exact and ours.astype(theirs.dtype).tobytes() != theirs.tobytes():
            wrong = ours != theirs
            texts.append(
                f"array {number} differs in {int(wrong.sum())} of {wrong.size} cells, first at {_first(wrong)}"
            )
        elif not exact:
            wide = np.result_type(theirs.dtype, np.float32) if case.dtype in NARROW else theirs.dtype
            one, other = ours.astype(wide), theirs.astype(wide)
            eps = 2.0**-8 if case.dtype == "bfloat16" else float(np.finfo(case.dtype).eps)
            most = 8 * (case.steps + 1) * eps * max(1.0, float(np.abs(other).max(initial=0)))
            most = max(most, STEP) if case.result == "gradient" else most
            wrong = ~(np.abs(one - other) <= most)
            if wrong.any():
                worst = float(np.abs(one - other).max())
                texts.append(
                    f"array {number} is off by up to {worst:.3g} in {int(wrong.sum())} of {wrong.size} cells, "
                    f"first at {_first(wrong)}"
                )
    return "; ".join(texts)


def _first(wrong: np.ndarray) -> tuple[int, ...]:
    return tuple(int(each) for each in np.argwhere(wrong)[0]) if wrong.any() else ()


def outcome(case: Case, folder: Path) -> str:
    """Run a case; what is wrong with it, or an empty text."""
    sentences = refusals(case)
    try:
        found, names = ran(case, Path(mkdtemp(dir=folder)))  # what an earlier case wrote is of another shape, perhaps
    except tw.TilewrightError as error:
        if any(re.search(each, str(error)) for each in sentences):
            return ""
        return f"{type(error).__name__}: {error}" + (f", not {sentences}" if sentences else "")
    except Exception as error:  # noqa: BLE001  (whatever it is, it is the case's)
        return f"{type(error).__name__}: {error}"
    if sentences:
        return f"it is not refused: {sentences}"
    return difference(case, found, expected(case, names))


def shrunk(case: Case, folder: Path) -> tuple[Case, str]:
    """The plainest case that still fails, one dimension after the other made plain; and what is wrong with it."""
    text, plain = outcome(case, folder), Case()
    again = bool(text)
    while again:
        again = False
        for name in DIMENSIONS:
            if getattr(case, name) == getattr(plain, name):
                continue
            other = replace(case, **{name: getattr(plain, name)})
            if refusals(other) or not (found := outcome(other, folder)):
                continue
            case, text, again = other, found, True
    return case, text


def judge(case: Case, folder: Path) -> None:
    """Fail with the smallest case like this one that fails, and a script that shows it."""
    if outcome(case, folder):
        small, text = shrunk(case, folder)
        raise AssertionError(f"{text}\n{case!r}, of which this is left:\n{small!r}\n\n{script(small)}\n")
