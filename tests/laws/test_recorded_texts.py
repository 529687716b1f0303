"""Kinds of generated code and of counts that are too long or too many to read, as digests.

The laws say whether code is right; these say that it is still the code that the laws and the benchmarks have seen, also
where a change makes it only slower. A digest says that something changed, never what: first look at the texts of
``tests/golden``, which show every form once. What is digested here, and why no golden file does it:

- programs of the catalogue, by family and language: whole texts of up to thousands of lines, with launches and counts;
- random programs, recurrences, pipelines and nests: how forms go together, in hundreds of texts;
- tilings: no text, but what is completed, refused and counted, and in which order cells are computed;
- others: the kernels of alignments, Krylov methods and fused products with the blocking that is shipped, of which
  golden files show the parts that differ, or smaller ones.

A default run makes a share of every kind's texts, the stress run all. After a change that is meant, look at the kinds
and cases that are named, then run ``pytest tests/laws/test_recorded_texts.py --update-golden``. What is chosen and
counted where a run is cut into parts or taken back is in ``test_recorded_choices.py``, by the same record.
"""

import dataclasses
import hashlib
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest
from tests.oracles.counting import exact_counts

from bratu_kernel import emit_bratu
from tilewright.base.errors import TilewrightError
from tilewright.codegen.gpu.emit import emit_device, launches
from tilewright.codegen.gpu.micro import at_rest
from tilewright.codegen.print.dialects import DIALECTS
from tilewright.codegen.print.source import CUDA, OPENCL
from tilewright.codegen.products.matmul import emit_fused
from tilewright.codegen.products.matmul_gpu import emit_gpu
from tilewright.codegen.source import KernelSource
from tilewright.driver import emit_tiling
from tilewright.programs.stencil import catalogue as programs
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.runtime.calibration.gpu import calibration_tiling
from tilewright.schedules import catalogue
from tilewright.schedules.code import GroupBlock
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.sparse.lower.cg import emit_cg
from tilewright.sparse.lower.dia import emit_dia
from tilewright.sparse.lower.gpu import emit_vectors_gpu
from tilewright.sparse.lower.vectors import CATALOGUE, emit_vectors, fuse, multiple
from tilewright.tuning.spaces.cpu_schedule import CG_BLOCK, blocking, unrolling
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule
from tilewright.workloads.annotated.lower.device import lower
from tilewright.workloads.annotated.lower.host import host_body, host_prelude
from tilewright.workloads.annotated.lower.kernels import kernels_text
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests.nest import Num
from tilewright.workloads.annotated.nests.scalars import inline_temporaries, localise
from tilewright.workloads.annotated.parse.c import parse_code
from tilewright.workloads.pipelines import fusions as fusion
from tilewright.workloads.pipelines.catalogue import pipeline
from tilewright.workloads.pipelines.lower.device import emit_gpu_group
from tilewright.workloads.pipelines.problem import make_pipeline_problem
from tilewright.workloads.pipelines.rows import plan_rows, ring_bytes
from tilewright.workloads.tables.catalogue import names, recurrence_named
from tilewright.workloads.tables.lower.align import emit_align
from tilewright.workloads.tables.lower.cpu import emit_table
from tilewright.workloads.tables.lower.gpu import emit_gpu_table
from tilewright.workloads.tables.schedule import KEPT_DIAGONALS, TableShape

from . import nests, pipelines
from .draws import block_case, strategy_case, streaming_case
from .generator import make_case
from .test_random_tables import make_recurrence

Digests = Iterator[tuple[str, Callable[[], str]]]
"""What makes digests, behind the names of their cases."""
RECORD = Path(__file__).with_name("recorded_texts.json")
SEED = 4
STRATEGIES = ("skewed", "diamond")
SHAPES = {1: (5000,), 2: (300, 517), 3: (40, 50, 130)}
BOUNDARIES = ("fixed", "constant:0.5", "nearest", "reflect", "mirror")
_NAMED = re.compile(r"(tw_\w*?)[0-9a-f]{12}")
"""Names end with fingerprints, which change with the data model."""


def digest(*parts: object) -> str:
    text = "\n".join(map(written, parts))
    return hashlib.sha256(_NAMED.sub(r"\1", text).encode()).hexdigest()[:8]


def written(part: object) -> str:
    if isinstance(part, str | Tiling):  # tilings as they are written: a key that is not given is no part of them
        return str(part)
    if not isinstance(part, KernelSource):
        return repr(part)
    started = [(each.threads, each.numbers, each.shared_bytes, each.room_bytes) for each in part.kernels]
    layouts = part.layout if isinstance(part.layout, tuple) else (part.layout,)
    return "\n".join(map(repr, (part.text, started, [each and dataclasses.astuple(each) for each in layouts])))


def text(write: Callable[..., object], *arguments: object, **options: object) -> str:
    """Code of anything else."""
    return digest(write(*arguments, **options))


def host(problem, tiling, *, strict: bool = False) -> str:
    """Code of a CPU, and the completed tiling."""
    source = emit_tiling(problem, tiling, strict=strict)
    return digest(source, catalogue.complete(problem, tiling))


def counted(problem, tiling) -> str:
    """What is counted of a tiling."""
    return digest(exact_counts(problem, tiling))


def device(problem, tiling, dialect: str, **options: bool) -> str:
    """Code of a GPU, its kernels and their launches."""
    source = emit_device(problem, gpu_schedule(problem, tiling), dialect, **options)
    started = list(itertools.islice(launches(problem, gpu_schedule(problem, tiling), problem.steps), 300))
    return digest(source, started)


def defaults(problem, family: str) -> Tiling:
    return catalogue.complete(problem, Tiling(family=family))


def of_family(write: Callable[..., str], problem, family: str, **options: object) -> str:
    return write(problem, defaults(problem, family), **options)


def catalogued(write: Callable[..., str], *families: str, boundaries=BOUNDARIES, **options: object) -> Digests:
    """Every program of the catalogue under a tiling of each family, with a type and a boundary that its name draws."""
    for name in programs.names():
        program, draw = programs.program(name), random.Random(name)  # noqa: S311
        dtype, boundary = draw.choice(("float32", "float64")), draw.choice(boundaries)
        problem = make_problem(program, SHAPES[program.rank], 20, dtype=dtype, boundary=boundary)
        for family in families:
            yield f"{name}, {family}", partial(of_family, write, problem, family, **options)


def attempt(make: Callable[[], str]) -> str:
    """What is made, or the words with which it is refused."""
    try:
        return make()
    except TilewrightError as error:
        return digest(str(error))


def drawn(make: Callable[[int, int], object], count: int, label: str = "case") -> Iterator:
    """The first cases of a random generator that exist, behind their names."""
    every = ((f"{label} {index}", make(SEED, index)) for index in itertools.count())
    return itertools.islice(((name, case) for name, case in every if case is not None), count)


def of_cases(cases, *dialects: str) -> Digests:
    for name, case in cases:
        if not dialects:
            yield name, partial(host, case.problem, case.tiling, strict=case.strict)
        for dialect in dialects:
            yield f"{name}, {dialect}", partial(device, case.problem, case.tiling, dialect, strict=case.strict)


def of_strategies(count: int, *dialects: str) -> Digests:
    for family in STRATEGIES:
        cases = drawn(lambda seed, index, f=family: strategy_case(f, seed, index), count, family)
        yield from of_cases(cases, *dialects)


def refused() -> Digests:
    """What is said of random tilings, legal or not, and how they are completed."""
    for family, (name, case) in itertools.product(catalogue.names(), list(drawn(make_case, 34))):
        rank, draw = case.problem.program.rank, random.Random(f"{family}, {name}")  # noqa: S311
        space = tuple(draw.choice((1, 2, 7, 16, 60)) for _ in range(draw.choice((0, rank, rank))))
        tiling = Tiling(family=family, time=draw.choice((1, 2, 4, 5)), space=space)

        def judged(problem=case.problem, tiling=tiling) -> str:
            full = catalogue.complete(problem, tiling)
            return digest(full, catalogue.check(problem, full))

        yield f"{family}, {name}", judged


def chosen_of(choose: Callable[[Problem], object], problems: list[Problem]) -> str:
    return digest(*(attempt(lambda p=problem: digest(choose(p))) for problem in problems))


def chosen() -> Digests:
    """What is chosen where nothing is asked for, on large grids and on small ones."""
    small = {1: (37,), 2: (9, 21), 3: (7, 12, 33)}
    for name in programs.names():
        program = programs.program(name)
        problems = [
            make_problem(program, shapes[program.rank], 20, dtype)
            for dtype, shapes in itertools.product(("float32", "float64"), (SHAPES, small))
        ]
        ways: dict[str, Callable[[Problem], object]] = {
            family: lambda p, f=family: defaults(p, f) for family in catalogue.names()
        }
        ways["calibration"] = calibration_tiling
        if program.rank > 1:
            ways["sizes of streams"] = stream_block.default_sizes
            ways["threads of streams"] = lambda p: stream_block.threads_for(p, Tiling(family="streaming"))
        for way, choose in ways.items():
            yield f"{name}, {way}", partial(chosen_of, choose, problems)


def misused() -> Digests:
    """What is said of keys that do not apply and of sizes out of range."""
    for name, family in itertools.product(programs.names(), catalogue.names()):
        program, draw = programs.program(name), random.Random(f"{name}, {family}")  # noqa: S311
        rank = program.rank

        def sizes(most: int, rank: int = rank, draw: random.Random = draw) -> tuple[int, ...]:
            length = draw.choice((0, rank, rank, rank + 1))
            return tuple(draw.choice((0, 1, 2, 8, most)) for _ in range(length))

        tiling = Tiling(
            family=family,
            time=draw.choice((1, 2, 3, 6, 64, 4096)),
            space=sizes(70),
            sub=draw.choice(((), (), sizes(3))),
            threads=draw.choice(((), (), sizes(2048))),
            k=draw.choice((None, None, 0, 3)),
            rows=draw.choice((None, None, 0, 4, 99)),
            unroll=draw.choice((None, None, 0, 4)),
        )
        problem = make_problem(program, SHAPES[rank], 5)
        yield f"{name}, {family}", lambda p=problem, t=tiling: digest(catalogue.complete(p, t), catalogue.check(p, t))


def orders() -> Digests:
    """In which order the tiles of a family compute which cells."""
    table = make_problem(programs.program("smith_waterman"), (11, 17), 3)
    for t, s in ((3, 4), (5, 2)):
        tiling = catalogue.complete(table, Tiling(family="orthogonal", time=t, space=(s,)))
        yield str(tiling), lambda tiling=tiling: digest(*catalogue.scan(table, tiling))
    for family in (*STRATEGIES, "hexagonal", "hybrid", "streaming"):
        for name, shape in (("j1d3pt", (61,)), ("star2d2r", (19, 26)), ("fdtd2d", (14, 23)), ("wave3d", (6, 9, 12))):
            problem = make_problem(programs.program(name), shape, 7)

            def scanned(problem=problem, family=family) -> str:
                tiling = Tiling(family=family, time=4, space=(5, 8, 8)[: len(problem.shape)])
                return digest(*itertools.islice(catalogue.scan(problem, catalogue.complete(problem, tiling)), 500))

            yield f"{name}, {family}", scanned


def pictures_in_rows() -> Digests:
    """How fused groups are streamed, and in how much memory."""
    for index in range(40):
        case = pipelines.pipeline_case(SEED, index)
        for place, (group, tile) in enumerate(zip(case.fusion, case.tiles, strict=True)):

            def planned(problem=case.problem, group=group, tile=tile) -> str:
                plan = plan_rows(problem, group, tile.rows)
                memory = [ring_bytes(problem, plan, tile, inputs=inputs) for inputs in (False, True)]
                return digest(plan, memory)

            yield f"case {index}, group {place}", planned


def pictures() -> Digests:
    for index in range(40):
        yield f"case {index}", lambda index=index: digest(*pipelines.sources(pipelines.pipeline_case(SEED, index)))


def on_devices(problem, group, block) -> str:
    return digest(*(emit_gpu_group(problem, group, dialect, block) for dialect in DIALECTS))


def pictures_on_devices() -> Digests:
    blocks = itertools.cycle([(8, 32, 1, 1), (4, 16, 2, 2), (2, 8, 1, 4)])
    for name, border in (("canny", "reflect"), ("blur", "wrap"), ("unsharp", "constant:0.5"), ("blend", "nearest")):
        graph = pipeline(name)
        dtype = "uint8" if name == "blend" else "float32"
        problem = make_pipeline_problem(graph, (70, 90), dtype, border)
        for group in fusion.groups(graph)[:40]:
            made = partial(on_devices, problem, group, next(blocks))
            yield f"{name}, {'+'.join(graph.stencils[member].name for member in group)}", made


def loops() -> Digests:
    for index in range(80):
        yield f"case {index}", lambda index=index: digest(nests.unit(nests.nest_case(SEED, index), "f"))


def loops_on_devices() -> Digests:
    """Random nests with every argument of the transforms of devices in turn."""
    ways = itertools.cycle(
        (
            {},
            {"streamCount": 3},
            {"cacheBlocks": True},
            {"dataOnDevice": True},
            {"unrollInner": 4},
            {"pinHostMem": True},
        )
    )
    for index in range(60):
        case = dataclasses.replace(nests.nest_case(SEED, index), transforms="")
        arguments = next(ways)

        def written(case=case, arguments=arguments) -> str:
            stmt = parse_code(case.text, "a nest")
            stmt = localise(inline_temporaries(stmt, {}), {})
            setting = NestContext(known=nests.NUMBERS, types=dict.fromkeys(nests.RANKS, "double"))
            shapes = {name: (Num(str(nests.EXTENT)),) * rank for name, rank in nests.RANKS.items()}
            made = lower(stmt, {"kind": "CUDA", "threadCount": 32, "blockCount": 14, **arguments}, setting, shapes)
            dialects = (CUDA, OPENCL)
            texts = [kernels_text(made, dialect) for dialect in dialects]
            return digest(*texts, *(part(made, dialect) for dialect in dialects for part in (host_prelude, host_body)))

        yield f"case {index}", written


def tables() -> Digests:
    builtin = [(name, recurrence_named(name), "bool" if name == "monotone_paths" else "int32") for name in names()]
    draw = random.Random(SEED)  # noqa: S311
    random_ones = [
        (f"random {index}", make_recurrence(draw), draw.choice(("int16", "int64", "float32"))) for index in range(15)
    ]
    shapes = [TableShape(threads=32, sub=4, chip=True), TableShape(threads=64, sub=8, chip=False)]
    for name, program, dtype in (*builtin, *random_ones):
        kind = "bool" if program.semiring.name == "or_and" else dtype
        yield f"{name}, C", partial(text, emit_table, program, kind, (), KEPT_DIAGONALS)
        for shape, dialect in itertools.product(shapes, DIALECTS):
            made = partial(text, emit_gpu_table, program, kind, (), shape, dialect)
            yield f"{name}, {dialect}, {shape.threads} threads", made


def fixed_texts() -> Digests:
    """What has no tiling and is long: solvers, products, alignments, a kernel at rest."""
    yield "alignment", partial(text, emit_align)
    every = {**CATALOGUE, "3 sums": multiple(3), "2 sums and a norm": fuse(multiple(2), CATALOGUE["norm2"], {"x": "y"})}
    for dtype in ("float32", "float64"):
        yield (
            f"bratu and cg, {dtype}",
            lambda dtype=dtype: digest(emit_bratu(dtype, 2), emit_cg(dtype, unrolling(), CG_BLOCK)),
        )
        for depth in (1, 2, 3):
            yield (
                f"diagonals {depth}, {dtype}",
                partial(text, emit_dia, dtype, dataclasses.replace(unrolling(), depth=depth)),
            )
        for name, what in every.items():
            yield f"vectors {name}, {dtype}", partial(text, emit_vectors, what, dtype, 4)
        for side in ("left", "right"):
            yield f"products {side}, {dtype}", partial(text, emit_fused, side, dtype, blocking(512))
    small = make_problem(programs.program("j2d5pt"), (64, 64), 8)
    still = gpu_schedule(small, calibration_tiling(small))
    block = GroupBlock(tile=(64, 64), cells=(4, 4), depth=8)
    for dialect in DIALECTS:
        yield f"at rest, {dialect}", partial(text, at_rest, small, still, dialect)
        for name, what in every.items():
            yield f"vectors {name}, {dialect}", partial(text, emit_vectors_gpu, what, "float32", dialect, 256)
        for side, counting in itertools.product(("left", "right"), (False, True)):
            made = partial(text, emit_gpu, side, "float64", dialect, block, counting=counting)
            yield f"products {side}{', counted' * counting}, {dialect}", made


KINDS: dict[str, tuple[int, Callable[[], Digests]]] = {
    "programs": (3, lambda: catalogued(host, "none", "hexagonal", "hybrid", "streaming")),
    "programs, strict": (5, lambda: catalogued(host, "none", "streaming", strict=True)),
    "programs, wrap": (3, lambda: catalogued(host, "none", boundaries=("wrap",))),
    "programs, strategies": (3, lambda: catalogued(host, "diamond", "skewed")),
    "programs, CUDA": (5, lambda: catalogued(device, "none", "hexagonal", "hybrid", "streaming", dialect="cuda")),
    "programs, CUDA, wrap": (
        3,
        lambda: catalogued(device, "none", boundaries=("wrap",), dialect="cuda", periodic=True),
    ),
    "programs, OpenCL": (5, lambda: catalogued(device, "diamond", "skewed", dialect="opencl")),
    "programs, counts": (1, lambda: catalogued(counted, "none", "hexagonal", "hybrid", "streaming", *STRATEGIES)),
    "random hexagons": (3, lambda: of_cases(drawn(make_case, 120))),
    "random streams": (3, lambda: of_cases(drawn(streaming_case, 80))),
    "random strategies": (3, lambda: of_strategies(25)),
    "random hexagons, GPU": (3, lambda: of_cases(drawn(make_case, 60), *DIALECTS)),
    "random strategies, GPU": (2, lambda: of_strategies(15, "cuda")),
    "random streams, GPU": (7, lambda: of_cases(drawn(block_case, 40), *DIALECTS)),
    "untiled, OpenCL": (
        3,
        lambda: of_cases(
            ((name, dataclasses.replace(case, tiling=NONE)) for name, case in drawn(make_case, 40)), "opencl"
        ),
    ),
    "tilings": (1, refused),
    "tilings, chosen": (3, chosen),
    "tilings, misused": (1, misused),
    "tilings, in order": (1, orders),
    "pipelines": (3, pictures),
    "pipelines, in rows": (1, pictures_in_rows),
    "pipelines, GPU": (1, pictures_on_devices),
    "loops": (5, loops),
    "loops, GPU": (5, loops_on_devices),
    "tables": (3, tables),
    "others": (1, fixed_texts),
}
"""Of how many texts one is made in a default run, and all of them."""


def compare(kind: str, found: Digests, every: int, *, update: bool) -> None:
    """Compare digests of a kind, one of so many of its cases, with those recorded, or write all of these anew."""
    cases = list(found)
    assert len(dict(cases)) == len(cases), "two cases have one name"
    made = {name: attempt(make) for name, make in cases[:: 1 if update else every]}
    if update:
        known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
        RECORD.write_text(json.dumps({**known, kind: made}, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))[kind]
    assert {*recorded} == {*dict(cases)}, "the names of cases changed"
    changed = sorted(name for name, each in made.items() if each != recorded[name])
    assert not changed, f"{len(changed)} of {len(made)} texts changed: {'; '.join(changed[:20])}"


def recorded_kinds(kinds: Mapping[str, tuple[int, Callable[[], Digests]]]) -> pytest.MarkDecorator:
    """Every kind with its share in a default run, and whole in the stress run."""
    shares = [(kind, every) for kind, (every, _) in kinds.items()]
    whole = [pytest.param(kind, 1, marks=pytest.mark.stress) for kind, every in shares if every > 1]
    return pytest.mark.parametrize(("kind", "every"), [*shares, *whole])


@recorded_kinds(KINDS)
def test_texts_are_those_recorded(kind, every, request):
    compare(kind, KINDS[kind][1](), every, update=request.config.getoption("--update-golden"))
