"""The rule that says how the code of a kernel on a CPU is written; its thresholds were measured on catalogue programs.

What a tiling asks for overrules it: its keys ``rows``, ``neighbours``, ``sums`` and ``piece``. The rule does not know
the machine: one text is written for all processors, whose compilers' macros say how long vectors are and how many
registers there are. What a processor takes over another form than the rule's is :func:`arithmetic_ratio`. Boxes of
cells are those of sweeps and of all tiles but streaming ones; rules of thumb block the products of matrices.
"""

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tilewright.base.constants import CACHE_LINE
from tilewright.base.dtypes import arithmetic
from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div
from tilewright.costs.cpu.boxes import SHORT_ROW
from tilewright.costs.operations import chains_in_turn
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import FEW, MANY, VectorUnits, vector_units
from tilewright.programs.stencil.dependences import overwrites_its_input
from tilewright.programs.stencil.expression import Apply, Const, Read
from tilewright.programs.stencil.operators import SPECIAL
from tilewright.programs.stencil.problem import Problem, cells_at_end
from tilewright.programs.stencil.program import Statement
from tilewright.programs.stencil.regions import inner_programs
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.programs.stencil.weights import Terms, apart, box_sum
from tilewright.schedules import code
from tilewright.schedules.family import Family
from tilewright.schedules.streaming.levels import of_problem
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.spaces.stream_bodies import stream_stages
from tilewright.tuning.spaces.sum_forms import UNDER_WAY, asked_form, column_sum, statement_cycles

_CHAIN = 12  # additions that may wait for each other: more of them than a scheduler holds several results of
_GROUPED = 6  # fewest plain reads that are worth sums by rows
_PIECE = 2**13  # bytes of a field in a piece of a sweep: what a few fields have of one lies in L1
_PART = 2048  # cells of which parts in 1D are multiples: smaller ones take less time than a barrier

_STREAMED = 2**25  # bytes of states that a cache may hold until they are read again: as much as the L3 of a few cores
CG_BLOCK = 4096  # rows of a matrix that an iteration of conjugate gradients multiplies at a time
# Of boxes of cells.
_MOST_KEPT = 12  # vectors shared by rows that fit into registers beside sums and factors, of 16 registers some of them
_WINDOW = 128
"""Multiply-adds, with their loads, that processors hold at a time: so much of the next vectors is under way, too."""
_MOST_SUMS = 4
_LOOP = {2: 81, 3: 100}  # reads from which on text is worth saving by a loop, by rank
_MOST_END_READS = 200
"""Reads up to which a vector at an end of a row is written read by read; with more, compiling takes longer than it
saves, but loops may read copies."""
_MOST_SWEPT = 2**24
"""Bytes of a field up to which a cache is taken to hold it. Where rows come from memory, sweeps in 3D go row by row,
and so do tiles that share few rows of one plane: the rows of a block lie in several planes each, more streams than the
hardware follows."""
_ASKED = 2**20
"""Bytes of a field from which on sweeps in 3D ask for lines ahead: smaller ones lie in L2, where asking takes up to a
tenth of the time."""
_DISTANCE = 1024  # bytes along a row by which they are asked for ahead: sixteen lines, often more than a row
_MOST_BLOCK_READS = 60  # reads up to which rows too short for shuffles are computed in blocks: these compile for long
_MOST_CARRIED = 12
"""Rows read at several places whose vectors are kept from one place to the next; with more they wait in memory."""
_MOST_WEIGHTS = 16  # weights that registers hold; others are loaded for every product
_SHUFFLED_WEIGHTS = 4  # vectors of a row from which on shuffles pay with many weights, of which three may be others
_FEW = 8  # cells of a row up to which vectors are none: what prepares them takes longer than the cells
_COLUMN = 8
"""Rows of a field that a statement of several fields reads from which on four rows are computed together in tiles."""


def cpu_schedule(
    problem: Problem, tiling: Tiling, storage: Storage = PLAIN, *, strict: bool = False, batch: bool = False
) -> code.CpuSchedule:
    """Return a legal tiling with everything decided that it leaves open."""
    return code.CpuSchedule(
        tiling=tiling,
        body=choose_body(problem, tiling, storage, strict=strict, batch=batch),
        storage=storage,
        batch=batch,
    )


def choose_body(
    problem: Problem, tiling: Tiling, storage: Storage = PLAIN, *, strict: bool = False, batch: bool = False
) -> code.KernelCode:
    """Decide how the code of a legal tiling is written, whatever the shape and the steps of the problem."""
    # ``strict``: every operation keeps its order and rounding; ``batch``: many grids, each in one thread's caches.
    _check(problem, tiling)
    boxes: tuple[code.BoxCode, ...] = ()
    stages: tuple[code.Stage, ...] = ()
    streams = tiling.family.streams
    nested = bool(storage.subdomains) and not streams
    inner = inner_programs(problem.program, storage.subdomains, nested=nested)
    for program in (problem.program, *(program for _, program in inner)):
        restricted = problem if program is problem.program else replace(problem, program=program)
        if streams:
            stages += stream_stages(restricted, tiling, strict=strict)
        else:
            boxes += tuple(
                box_code(restricted, each, tiling, strict=strict, batch=batch) for each in program.statements
            )
    return code.KernelCode(
        boxes=boxes,
        stages=stages,
        # Inline they cost nothing but where rows hold much arithmetic; apart they cost 10 % of a seven-point stencil.
        ends_apart=any(stage.many.planes for stage in stages),
        chain=_CHAIN,
        grouped=_GROUPED,
        piece=tiling.piece or _PIECE // problem.itemsize,
        part=_PART,
        # A sweep finds what it has computed no more in a cache when it writes the state.
        streamed=_STREAMED if storage.kept and not tiling.family.untiled else None,
    )


def _check(problem: Problem, tiling: Tiling) -> None:
    name = problem.program.name
    if tiling.piece and (not tiling.family.untiled or len(problem.program.statements) == 1):
        raise UsageError(
            f"piece is a size of the tiling none for programs of several statements, got {str(tiling)!r} for {name!r}",
            "leave piece out",
        )
    if (tiling.sums or tiling.neighbours) and problem.program.analysis.sweep:
        raise UsageError(
            f"{name!r} is computed cell by cell, so sums and neighbours mean nothing, got {str(tiling)!r}",
            "leave them out",
        )


def arithmetic_ratio(problem: Problem, tiling: Tiling, machine: Machine) -> float:
    """Return by how much a tiling's ``sums`` lengthen the arithmetic of a cell, over the rule's choice."""
    # The model's seconds per vector are of code as the rule writes it, calibrated or estimated; what another form of
    # its sums takes is to that as the cycles of both are by their counts
    # (:func:`tilewright.costs.operations.sum_cycles`).
    if tiling.sums is None or machine.kind != "cpu":
        return 1.0  # GPUs have no such forms
    units = vector_units(machine)
    cycles, plain_cycles = (
        _cycles(problem, choose_body(problem, each), units) for each in (tiling, replace(tiling, sums=None))
    )
    return cycles / plain_cycles


def _cycles(problem: Problem, body: code.KernelCode, units: VectorUnits) -> float:
    """Cycles per vector of all statements, those of a block of results shared among these."""
    total = 0.0
    for box, statement in zip(body.boxes, problem.program.statements, strict=False):
        total += statement_cycles(statement, box.block, box.block.sums[0], units)
    produced = {each.field: each for each in problem.program.statements}
    pipeline = of_problem(problem)
    for number, stage in enumerate(body.stages[: len(pipeline.stages)]):
        block = (stage.few if units == FEW else stage.many).blocks[0]
        fields = [field for field, own in zip(problem.program.fields, pipeline.stage_of, strict=True) if own == number]
        for field, sums in zip(fields, block.sums, strict=True):
            if field in produced:
                total += statement_cycles(produced[field], block, sums, units, pairs=block.pairs)
    return total


def box_code(
    problem: Problem, statement: Statement, tiling: Tiling, *, strict: bool, batch: bool = False
) -> code.BoxCode:
    """Decide how a statement is computed over boxes; the tiling's ``rows``, ``neighbours`` and ``sums`` are kept to."""
    rank, form = problem.program.rank, _form(problem, tiling, strict=strict)
    untiled = tiling.family.untiled
    chains, behind = chains_in_turn(problem, statement)
    # Sweeps of large grids wait for memory.
    planes = not tiling.rows and not untiled and code.planes_together(statement)
    rows = 1 if rank == 1 else tiling.rows or rows_together(rank, statement, tiling.family, batch=batch)
    block = _block(problem, statement, tiling, form, code.Block(axis=max(rank - 2 - planes, 0), rows=rows))
    rest = _block(problem, statement, tiling, form, code.Block(axis=max(rank - 2, 0), rows=1))
    loops, reads = block.loops, len(statement.reads)
    large = rank > 2 and not loops and not tiling.rows and (untiled or (not planes and not code.shares_rows(statement)))
    return code.BoxCode(
        block=block,
        rest=rest,
        cached=_MOST_SWEPT if large else None,
        asked=_ASKED if untiled and rank > 2 and not loops else None,
        distance=_DISTANCE,
        short=1 if reads > _MOST_BLOCK_READS else rows,
        shuffled=_SHUFFLED_WEIGHTS if _many_weights(statement) else SHORT_ROW,
        end_vectors=loops or reads <= _MOST_END_READS,
        single=not loops and 0 < cells_at_end(problem.spans(statement)[-1]) <= _FEW,
        chains=chains,
        behind=behind,
    )


def rows_together(rank: int, statement: Statement, family: Family, *, batch: bool = False) -> int:
    """How many neighbouring rows are computed together where the tiling does not say; measured on the catalogue."""
    # More rows share more loads, but are more streams for the hardware to follow. In 2D two are good for planes of rows
    # in tiles, four for sweeps, in batches, and where several fields are read and one of them in many rows: most lines
    # of L1 are lost until the next rows read them again. In 3D four are best where rows are read at several places, as
    # those of a cube, and two of others, in tiles those of two planes
    # (:func:`tilewright.schedules.code.planes_together`).
    if rank == 1:
        return 1
    if rank == 2:
        if batch:  # the few rows of a grid stay in a thread's caches
            return 4
        levels = {(read.field, read.level) for read in statement.reads}
        if len(levels) == 1:
            return 4 if family.untiled else 2
        column = max(len({read.offset[0] for read in statement.reads if read.field == field}) for field, _ in levels)
        return 4 if column >= _COLUMN and not family.untiled else 2
    return 4 if code.shares_rows(statement) else 2


def _form(problem: Problem, tiling: Tiling, *, strict: bool) -> str:
    """The form that is asked for or must be; empty where every sum's own is chosen."""
    form = asked_form(problem, tiling, strict=strict)
    if form == "winograd":
        raise UsageError(f"sums=winograd is a form of streaming tiles, got {str(tiling)!r}", "write sums=inputs")
    if form == "loop" and any(box_sum(each) is None for each in problem.program.statements):
        raise UsageError(f"sums=loop is for sums over whole boxes of one field, which {problem.program.name!r} has not")
    return form


def _block(problem: Problem, statement: Statement, tiling: Tiling, form: str, results: code.Block) -> code.RowCode:
    rank, reads, rows = problem.program.rank, len(statement.reads), results.count
    weighted = () if form == "outputs" else apart(statement).sums
    whole = box_sum(statement) if form in {"", "loop"} else None
    loops = whole is not None and rank > 1 and (form == "loop" or reads >= _LOOP[rank])
    sums = tuple(_sum(terms, results, form, room=True) for terms in weighted)
    if loops and whole is not None:
        sums = (code.Sum(form="loop", accumulators=sums_in_turn(len(whole), rows)),)
    return code.RowCode(
        axis=results.axis,
        rows=rows,
        neighbours=_neighbours(problem, statement, tiling, results, loops=loops),
        sums=(sums,),
        # In 2D vectors that are put together wait in registers with those beside them: input by input fewer do.
        assembled=(tuple(_sum(terms, results, form, room=rank > 2) for terms in weighted),),
        kept=_shared_count(statement.reads, results) <= _MOST_KEPT,
        copied=loops and (rows == 1 or reads > _MOST_END_READS),
        in_turn=bool(weighted or form or loops),
    )


def _sum(terms: Terms, results: code.Block, form: str, *, room: bool) -> code.Sum:
    """Decide how a weighted sum is written for some rows; ``room``: whether many inputs may wait in registers."""
    if form == "columns" or (form != "inputs" and room and _shared_count(terms, results) > _MOST_KEPT):
        return column_sum(terms, results.count)
    return code.Sum(form="inputs", accumulators=sums_in_turn(len(terms), results.count))


def sums_in_turn(reads: int, rows: int) -> int:
    """Of how many sums every result of some rows is made, so that the arithmetic need not wait for one sum.

    >>> sums_in_turn(9, 4), sums_in_turn(27, 1), sums_in_turn(125, 1)
    (1, 2, 4)
    """
    overlapping = max(1, _WINDOW // (reads * rows))
    return max(1, min(_MOST_SUMS, ceil_div(UNDER_WAY, rows * overlapping)))


def _neighbours(problem: Problem, statement: Statement, tiling: Tiling, results: code.Block, *, loops: bool) -> str:
    """Decide whether the rows read at several places are loaded once per vector, or at each of these places."""
    # A vector that lies in two cache lines takes longer to load than to put together from two others. That pays where
    # loads and stores take longer than the arithmetic.
    rows = results.count
    offsets: dict[tuple[object, ...], set[int]] = {}
    for read, place in itertools.product(statement.reads, results.places):
        offsets.setdefault(results.vector(read, place)[:-1], set()).add(read.offset[-1])
    beside = sum(at != {0} for at in offsets.values())
    furthest = max((abs(at) for each in offsets.values() for at in each), default=0)
    lanes = CACHE_LINE // arithmetic(problem.dtype).itemsize
    possible = beside > 0 and furthest <= lanes and not loops
    if tiling.neighbours == "shuffles" and not possible:
        raise UsageError(
            "neighbours=shuffles is for rows read within a vector of 64 bytes of the cell, not summed in a loop, which "
            f"{problem.program.name!r} has not",
            "leave neighbours out",
        )
    if tiling.neighbours or not possible:
        return tiling.neighbours or "loads"
    load, crossing = MANY.load_cycles, MANY.crossing_cycles  # one text for both kinds of units, which take the same
    aligned = not overwrites_its_input(problem.program, statement)
    loads = sum(load if at == 0 and aligned else crossing for each in offsets.values() for at in each)
    operations = [node.op for node in statement.tape if isinstance(node, Apply)]
    special, products = sum(op in SPECIAL for op in operations), operations.count("mul")
    # Products and sums are fused, or computed side by side.
    cycles = max(products, len(operations) - special - products) + MANY.special_cycles * special
    if _many_weights(statement):
        loads += rows * products
    pays = beside <= _MOST_CARRIED and loads + rows * MANY.store_cycles > rows * cycles
    return "shuffles" if pays else "loads"


def _many_weights(statement: Statement) -> bool:
    return len({node.value for node in statement.tape if isinstance(node, Const)}) > _MOST_WEIGHTS


def _shared_count(reads: Iterable[Read], results: code.Block) -> int:
    readers = Counter(results.vector(read, place) for read in reads for place in results.places)
    return sum(count > 1 for count in readers.values())


def blocking(simd_bits: int) -> code.Blocking:
    """Return the register blocking of products: 32 wide registers with AVX-512, 16 otherwise.

    >>> blocking(256).rows
    4
    """
    return code.Blocking(rows=8 if simd_bits >= 512 else 4, vectors=3, depth=128)


def unrolling() -> code.Unrolling:
    """Return the unrolling of diagonals: two vectors, and as many diagonals per pass as a CPU follows streams."""
    return code.Unrolling(vectors=2, depth=8, block=1024)
