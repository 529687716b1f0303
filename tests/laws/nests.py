"""Random loop nests in annotated C: random transforms applied, run, and compared with the same loops over NumPy arrays.

The reference follows the loops as they are written, one iteration after the other, so order matters where it does.
"""

import ctypes
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.workloads.annotated.lower.apply import apply_transforms
from tilewright.workloads.annotated.lower.harness import BoundVariable, emit_unit
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests.scalars import inline_temporaries, localise
from tilewright.workloads.annotated.parse.c import parse_code
from tilewright.workloads.annotated.parse.evaluate import formula

EXTENT = 15
NUMBERS = {"M": 11, "N": 13, "K": 7}
RANKS = {"A": 2, "B": 2, "C": 2, "x": 1, "y": 1, "z": 1}
_BATCH = 12
Affine = tuple[dict[str, int], int]
"""Factors of counters, and a constant."""


@dataclass(frozen=True, slots=True)
class _Term:
    """``sign * factor * array[index] (* other[index])``; no array stands for a number."""

    factor: float
    reads: tuple[tuple[str, tuple[Affine, ...]], ...]


@dataclass(frozen=True, slots=True)
class _Assign:
    target: str
    index: tuple[Affine, ...]
    op: str
    terms: tuple[_Term, ...]


@dataclass(frozen=True, slots=True)
class _Loop:
    """``for (name = first; name < stop; name += step)``: the bounds are affine in outer counters and numbers."""

    name: str
    first: Affine
    stop: Affine
    step: int
    body: tuple["_Loop | _Assign", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NestCase:
    """One case.

    Attributes:
        seed: Seed of the batch.
        index: Its place.
        nest: The loops.
        transforms: What stands before them.
    """

    seed: int
    index: int
    nest: _Loop
    transforms: str

    @property
    def text(self) -> str:
        """The annotation's code."""
        return f"{self.transforms} {_printed(self.nest)}"

    def arrays(self) -> list[np.ndarray]:
        """The inputs."""
        generator = np.random.default_rng([self.seed, self.index, 5])
        return [generator.uniform(0.5, 1.5, (EXTENT,) * rank) for rank in RANKS.values()]


def _affine(form: Affine) -> str:
    parts = [name if factor == 1 else f"{factor}*{name}" for name, factor in form[0].items()]
    if form[1] or not parts:
        parts.append(str(form[1]) if form[1] >= 0 else f"({form[1]})")
    return " + ".join(parts)


def _printed(node: "_Loop | _Assign") -> str:
    if isinstance(node, _Assign):
        terms = [
            " * ".join([f"{t.factor!r}", *(name + "".join(f"[{_affine(i)}]" for i in at) for name, at in t.reads)])
            for t in node.terms
        ]
        at = "".join(f"[{_affine(i)}]" for i in node.index)
        return f"{node.target}{at} {node.op} {' + '.join(terms)};"
    step = f"{node.name}++" if node.step == 1 else f"{node.name} += {node.step}"
    inner = " ".join(map(_printed, node.body))
    inner = inner if len(node.body) == 1 else f"{{ {inner} }}"
    return f"for ({node.name} = {_affine(node.first)}; {node.name} < {_affine(node.stop)}; {step}) {inner}"


def _value(form: Affine, names: dict[str, int]) -> int:
    return form[1] + sum(factor * names[name] for name, factor in form[0].items())


def _follow(node: "_Loop | _Assign", names: dict[str, int], arrays: dict[str, np.ndarray]) -> None:
    """Do what the loops say."""
    if isinstance(node, _Loop):
        for value in range(_value(node.first, names), _value(node.stop, names), node.step):
            names[node.name] = value
            for each in node.body:
                _follow(each, names, arrays)
        return
    total = 0.0
    for term in node.terms:
        part = term.factor
        for name, at in term.reads:
            part = part * arrays[name][tuple(_value(i, names) for i in at)]
        total += part
    place = tuple(_value(i, names) for i in node.index)
    arrays[node.target][place] = arrays[node.target][place] + total if node.op == "+=" else total


def nest_case(seed: int, index: int) -> NestCase:
    """Draw a case."""
    draw = random.Random(f"nests/{seed}/{index}")  # noqa: S311
    depth = draw.choices((1, 2, 3), (20, 45, 35))[0]
    counters = ["i", "j", "k"][:depth]
    nest = _nest(draw, counters, [])
    return NestCase(seed=seed, index=index, nest=nest, transforms=_transforms(draw, counters))


def _nest(draw: random.Random, counters: Sequence[str], outer: list[str]) -> _Loop:
    name, rest = counters[0], counters[1:]
    first: Affine = ({}, draw.choice((1, 2)))
    stop: Affine = ({draw.choice(list(NUMBERS)): 1}, draw.choice((0, -1)))
    if outer and draw.random() < 0.2:  # a triangle
        if draw.random() < 0.5:
            stop = ({draw.choice(outer): 1}, 1)
        else:
            first = ({draw.choice(outer): 1}, 0)
    inside = [*outer, name]
    if rest:
        body: list[_Loop | _Assign] = [_nest(draw, rest, inside)]
        if draw.random() < 0.2:
            body.insert(draw.choice((0, 1)), _assign(draw, inside))
    else:
        body = [_assign(draw, inside) for _ in range(draw.choice((1, 1, 1, 2)))]
    return _Loop(name, first, stop, draw.choice((1, 1, 1, 1, 2)), tuple(body))


def _assign(draw: random.Random, counters: list[str]) -> _Assign:
    def item(name: str, reach: int) -> tuple[Affine, ...]:
        return tuple(({draw.choice(counters): 1}, draw.randint(-reach, reach)) for _ in range(RANKS[name]))

    target = draw.choice(list(RANKS))
    own = tuple(({counter: 1}, 0) for counter in draw.sample(counters, min(len(counters), RANKS[target])))
    own = own if len(own) == RANKS[target] else item(target, 0)
    terms = []
    count = draw.randint(1, 3)
    for _ in range(count):
        names = [draw.choice([*RANKS]) for _ in range(draw.choice((1, 1, 2)))]
        reads = tuple((name, item(name, draw.choice((0, 0, 1)))) for name in names)
        # Products of what is at most about 1.5 in size, many times over, may not explode.
        terms.append(_Term(round(draw.uniform(0.02, 0.2) / count, 4), reads))
    return _Assign(target, own, draw.choice(("=", "+=", "+=")), tuple(terms))


def _transforms(draw: random.Random, counters: list[str]) -> str:
    """Transforms of any kind and size: what would change the result is refused or left out."""

    def factor() -> int:
        return draw.choice((1, 2, 3, 4, 5))

    def some() -> list[str]:
        return draw.sample(counters, draw.randint(1, len(counters)))

    inner = some()
    options = [
        lambda: f"transform Unroll(ufactor={factor()})" if len(counters) == 1 else "",
        lambda: f"transform UnrollJam(ufactor={factor()})",
        lambda: f"transform RegTile(loops={inner}, ufactors={[factor() for _ in inner]})",
        lambda: f"transform Tile(tsize={draw.choice((2, 3, 4, 8, 20))}, tindex='ii')",
        lambda: f"transform Permut(seq={draw.sample(counters, len(counters))})",
        lambda: "transform ScalarReplace(dtype='double')",
        lambda: "transform BoundReplace()",
        lambda: f"transform ScalarReplace() transform RegTile(loops={inner}, ufactors={[factor() for _ in inner]})",
        lambda: _composite(draw, counters, factor),
        lambda: _composite(draw, counters, factor),
        lambda: "",
    ]
    return draw.choice(options)()


def _composite(draw: random.Random, counters: list[str], factor) -> str:
    parts = []
    if draw.random() < 0.7:
        tiles = [(c, draw.choice((1, 2, 3, 4, 8)), f"{c}{c}") for c in counters if draw.random() < 0.7]
        if tiles:
            parts.append(f"tile={tiles}")
    if draw.random() < 0.4:
        parts.append(f"permut={[draw.sample(counters, len(counters))]}")
    if draw.random() < 0.6:
        parts.append(f"unrolljam=({counters}, {[factor() for _ in counters]})")
    if draw.random() < 0.5:
        parts.append("scalarreplace=(True, 'double')")
    if draw.random() < 0.4:
        parts.append("boundreplace=True")
    if draw.random() < 0.4:
        parts.append("vector=(True, ['ivdep', 'vector always'])")
    if draw.random() < 0.3:
        parts.append("openmp=(True, 'omp parallel for')")
    return f"transform Composite({', '.join(parts)})" if parts else ""


def transformed(case: NestCase) -> bool:
    """Whether the transforms leave another program than the loops without them."""
    plain = NestCase(seed=case.seed, index=case.index, nest=case.nest, transforms="")
    return unit(case, "f") != unit(plain, "f")


def unit(case: NestCase, name: str) -> str:
    """The text of a transformed case, whose entry has a name of its own.

    Raises:
        TilewrightError: If what is asked for is refused.
    """
    stmt = parse_code(case.text, "a law")
    stmt = localise(inline_temporaries(stmt, {}), {})
    setting = NestContext(known=NUMBERS, types=dict.fromkeys(RANKS, "double"))
    applied = apply_transforms(
        stmt,
        setting,
        lambda each: formula(each).value({}),
        lambda each: parse_code(f"v = {each};", "x").value,
        strict=False,
    )
    bound = [BoundVariable(ctype="double", name=each, extents=(EXTENT,) * rank) for each, rank in RANKS.items()]
    return re.sub(r"\btw_run\b", name, emit_unit(applied.stmt, bound, numbers=NUMBERS, loose={}))


def results(texts: dict[str, str], folder: Path, compiler: Sequence[str]) -> ctypes.CDLL:
    """Compile units in one call of the compiler, a file of all whose text before their entries is the same."""
    folder.mkdir(parents=True, exist_ok=True)
    entries: dict[str, str] = {}
    for name, text in texts.items():
        head, signature, body = text.partition(f"double {name}(")
        entries[head] = entries.get(head, head) + signature + body
    files = [str(folder / f"nests{number}.c") for number in range(len(entries))]
    for file, text in zip(files, entries.values(), strict=True):
        Path(file).write_text(text, encoding="utf-8")
    library = folder / "nests.so"
    flags = ["-O1", "-fopenmp", "-ffp-contract=off", "-fPIC", "-shared", "-w", "-std=gnu17"]
    command = [compiler[0], *flags, *compiler[1:], "-o", str(library), *files, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return ctypes.CDLL(str(library))


def wrong(case: NestCase, library: ctypes.CDLL, name: str) -> str:
    """Run a case; what is wrong, or an empty text."""
    got = case.arrays()
    function = getattr(library, name)
    function.restype = ctypes.c_double
    function((ctypes.c_void_p * len(got))(*(array.ctypes.data for array in got)))
    wanted = dict(zip(RANKS, case.arrays(), strict=True))
    with np.errstate(all="ignore"):  # a nest may multiply an element by itself until nothing can hold it
        _follow(case.nest, dict(NUMBERS), wanted)
    for array, (label, exact) in zip(got, wanted.items(), strict=True):
        beyond = ~np.isfinite(exact) & ~np.isfinite(array)
        far = np.argwhere(~(np.isclose(array, exact, rtol=1e-11, atol=1e-13) | beyond))
        if len(far):
            return f"{label} differs in {len(far)} places, first at {far[0].tolist()}"
    return ""


def batches(cases: Sequence[NestCase]) -> Iterator[Sequence[NestCase]]:
    """Cases that are compiled at a time."""
    for start in range(0, len(cases), _BATCH):
        yield cases[start : start + _BATCH]
