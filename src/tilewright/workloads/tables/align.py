"""``tw.align``: local alignment of two sequences with affine gaps (Smith-Waterman), its score and its letters.

On a CPU a kernel fills the table, and the alignment is traced tile by tile from edges that it keeps.
"""

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.base.arguments import checked
from tilewright.base.constants import ALIGNMENT_LANES
from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div, round_up
from tilewright.base.records import Record
from tilewright.base.units import format_seconds
from tilewright.inputs.memo import host
from tilewright.plan import DEVICE_BACKENDS, read_target
from tilewright.runtime.call import compiled, packed, scratch
from tilewright.runtime.host import thread_count
from tilewright.runtime.warn import warn_once
from tilewright.schedules.tiling import Tiling, as_tiling
from tilewright.workloads.tables.alignment_costs import alignment_default
from tilewright.workloads.tables.fill import Filling, filling
from tilewright.workloads.tables.lower.align import emit_align
from tilewright.workloads.tables.scoring import Codes, Scoring, check_range, match_scoring, matrix_scoring

_THREADED = 4_000_000  # cells below which a second thread costs more than it brings
_NUCLEOTIDES = frozenset("ACGTUN")
_AMBIGUITY_CODES = frozenset("RYSWKMBDHV*")
"""Further letters of nucleotides, each for one of several, which stand for amino acids too; and the stop."""
_PROTEIN_GAPS, _NUCLEOTIDE_GAPS = (11, 1), (5, 2)
_NUCLEOTIDE_PAIRS = (2, -3)
_LINE = 60
_FLAG_WORDS = 16
_START = 3
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Alignment(Record):
    """A best local alignment of two sequences.

    Attributes:
        score: Its score.
        scoring: The matrix or the scores of pairs, as text.
        scoring_chosen: Whether the letters decided it, where neither a matrix nor scores of pairs were given.
        gap_open: Cost of a gap's first letter.
        gap_extend: Cost of each further one.
        a: Half-open range of the letters of the first sequence that take part; None if only the score was asked for.
        b: The same of the second.
        a_line: Those letters, with ``-`` where the other sequence has a letter of its own.
        b_line: The same of the second.
        cigar: Steps in SAM's letters: ``=`` equal, ``X`` unequal, ``I`` a letter of the first alone, ``D`` of the
            second.
        cells: Cells of the table.
        seconds: Time of computing scores and, where it was asked for, the alignment.
        tiling: The tiling.
        threads: Threads that were used.
        bits: Bits that the tiles were computed on, from the fewest to the most that one of them needed.
        backend: ``c``, or the GPU's.
    """

    KEYS = (
        "score scoring scoring_chosen gap_open gap_extend a b a_line b_line cigar cells seconds "
        "tiling=tiling.__str__ threads bits backend columns matches gaps gcells_per_second"
    )

    score: int
    scoring: str
    scoring_chosen: bool = False
    gap_open: int
    gap_extend: int
    a: tuple[int, int] | None = None
    b: tuple[int, int] | None = None
    a_line: str = ""
    b_line: str = ""
    cigar: str = ""
    cells: int
    seconds: float
    tiling: Tiling
    threads: int
    bits: tuple[int, int]
    backend: str = "c"

    @property
    def columns(self) -> int:
        """Columns of the alignment."""
        return len(self.a_line)

    @property
    def matches(self) -> int:
        """Columns with two equal letters, small ones as capitals."""
        return sum(map(_equal, self.a_line, self.b_line))

    @property
    def gaps(self) -> int:
        """Columns with one letter."""
        return self.a_line.count("-") + self.b_line.count("-")

    @property
    def gcells_per_second(self) -> float:
        """Cells per nanosecond."""
        return self.cells / self.seconds / 1e9

    def __str__(self) -> str:
        chosen = " as the letters decide" if self.scoring_chosen else ""
        head = (
            f"score {self.score}, {self.scoring}{chosen}, "
            f"gaps {self.gap_open} + {self.gap_extend} for each further letter\n"
            f"{self.cells} cells in {format_seconds(self.seconds)}, {self.gcells_per_second:.3g} GCells/s, "
            f"{self.tiling}, {self.threads} thread{'s' * (self.threads != 1)}"
            f"{'' if self.backend == 'c' else ' per group, ' + self.backend}"
        )
        if self.a is None or self.b is None or not self.a_line:
            return head
        share = f"{self.matches} of {len(self.a_line)} columns equal, {self.gaps} with a gap"
        return "\n".join([head, share, "", *self._blocks(self.a[0], self.b[0])])

    def _blocks(self, at: int, bt: int) -> list[str]:
        """Write the lines under each other, numbered from 1."""
        lines: list[str] = []
        for start in range(0, len(self.a_line), _LINE):
            first, second = self.a_line[start : start + _LINE], self.b_line[start : start + _LINE]
            bars = "".join(
                " " if "-" in {p, q} else "|" if _equal(p, q) else "." for p, q in zip(first, second, strict=True)
            )
            na, nb = len(first) - first.count("-"), len(second) - second.count("-")
            lines += [f"{at + 1:>9} {first} {at + na}", f"{'':>9} {bars}", f"{bt + 1:>9} {second} {bt + nb}", ""]
            at, bt = at + na, bt + nb
        return lines[:-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two sequences and how they are scored."""

    x: Codes  # letters of the first sequence, along the rows; at least one
    y: Codes  # letters of the second, along the columns; at least one
    scoring: Scoring


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreTable:
    """What the score kernel leaves of the table."""

    tile: tuple[int, int]  # rows and columns of a tile
    best: Ints  # best score per tile; shape (tile rows, tile columns)
    bits: npt.NDArray[np.uint8]  # that each tile was computed on; the same shape
    left: Ints  # H and E on the vertical edges; shape (2, tile columns + 1, m), or (2, 1, m) unless kept
    top: Ints  # H and V on the horizontal edges; shape (2, tile rows + 1, n), or (2, 1, 1) unless kept

    @property
    def score(self) -> int:
        """The best score of all."""
        return int(self.best.max(initial=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentPath:
    """An alignment as steps: 0 pairs a letter of x with one of y, 1 takes one of y alone, 2 one of x alone."""

    x: tuple[int, int]  # half-open range of the letters of x that take part
    y: tuple[int, int]  # the same of y
    steps: npt.NDArray[np.uint8]  # from the start


def _equal(p: str, q: str) -> bool:  # as they are scored: small letters count as capitals
    return p.upper() == q.upper()


@checked
def align(
    a: str,
    b: str,
    *,
    matrix: str | None = None,
    match: int | None = None,
    mismatch: int | None = None,
    gap_open: int | None = None,
    gap_extend: int | None = None,
    score_only: bool = False,
    tiling: Tiling | str | None = None,
    threads: int | None = None,
    backend: str = "auto",
) -> Alignment:
    """Find a best local alignment of two sequences (Smith and Waterman; Gotoh), or only its score.

    Args:
        a: The first sequence, letters without blanks, digits and gaps. Small ones count as capitals. Matrices score
            letters from A to Z that they do not have as X, and ``*`` as a stop. With ``match`` and ``mismatch`` every
            character but blanks and ``-`` is a letter.
        b: The second one.
        matrix: A protein matrix, ``BLOSUM45``, ``BLOSUM62``, ``BLOSUM80`` or ``PAM250``, or the text of a matrix in
            NCBI's format.
        match: Score of two equal letters, in place of a matrix.
        mismatch: Score of two unequal letters. Without a matrix and without these two, nucleotides (A, C, G, T, U, N)
            score +2 and -3 with gaps 5 and 2, other letters by BLOSUM62 with gaps 11 and 1. The result says which was
            chosen (``scoring``, ``scoring_chosen``); a warning comes where letters may be of nucleotides all the same.
        gap_open: Cost of a gap's first letter.
        gap_extend: Cost of each further one, at most ``gap_open``.
        score_only: Whether the score is enough: no alignment is traced, memory is linear in the lengths.
        tiling: ``orthogonal:t=rows,s=columns``, the columns a multiple of 64; chosen by the lengths by default.
        threads: Threads; every CPU that the process may use by default.
        backend: ``auto`` or ``c``; ``opencl`` or ``cuda``, as :func:`tilewright.fill` takes them, for the score alone.

    Returns:
        The alignment. Of several best ones it is one.

    Raises:
        UsageError: If a letter, an option or a size cannot be used.
        ToolchainError: If there is no C compiler, or no device, that works.
        ArrayError: If there is not enough memory.

    Examples:
        >>> align("GATTACA", "GCATGCATTACA", match=2, mismatch=-3, gap_open=5, gap_extend=2).a_line
        'ATTACA'
    """
    scoring = choose_scoring((a, b), matrix, (match, mismatch), (gap_open, gap_extend))
    for name, text in (("first", a), ("second", b)):
        if not text:
            raise UsageError(f"the {name} sequence has no letters")
    pair = Pair(x=scoring.encode(a, "first sequence"), y=scoring.encode(b, "second sequence"), scoring=scoring)
    chosen = matrix is None and match is None
    if chosen:
        _warn_if_ambiguous((a, b))
    check_range(scoring, (len(a), len(b)))
    path, bits = None, (32, 32)
    if backend in {"auto", "c"}:
        filling, bits, path = _fill_on_cpu(pair, tiling, threads, score_only=score_only)
    else:
        filling = _score_on_gpu(pair, tiling, backend, score_only=score_only)
    nowhere = None if score_only else (0, 0)
    a_line, b_line, cigar = ("", "", "") if path is None else _lines((a, b), path)
    return Alignment(
        score=int(filling.values),
        scoring=scoring.name,
        scoring_chosen=chosen,
        gap_open=scoring.gap_open,
        gap_extend=scoring.gap_extend,
        a=nowhere if path is None else path.x,
        b=nowhere if path is None else path.y,
        a_line=a_line,
        b_line=b_line,
        cigar=cigar,
        cells=len(a) * len(b),
        seconds=filling.seconds,
        tiling=filling.tiling,
        threads=filling.threads,
        bits=bits,
        backend=filling.backend,
    )


def _fill_on_cpu(
    pair: Pair, tiling: Tiling | str | None, threads: int | None, *, score_only: bool
) -> tuple[Filling, tuple[int, int], AlignmentPath | None]:
    """Compute the score, on how many bits, and the way to it unless the score is enough."""
    m, n = lengths = len(pair.x), len(pair.y)
    count = 1 if threads is None and m * n < _THREADED else thread_count(threads)
    choice, letters = as_tiling(tiling), len(pair.scoring.letters)
    tile = _tile(choice) if choice else alignment_default(lengths, letters, host(), count, traced=not score_only)
    parallel = compiled(emit_align)[0].parallel  # compiles, which is not part of the time
    begin = time.perf_counter()
    table = score_table(pair, tile, count, keep=not score_only)
    path = None if score_only or not table.score else trace_path(pair, table)
    seconds = time.perf_counter() - begin
    filling = Filling(
        values=table.score,
        tiling=Tiling(family="orthogonal", time=tile[0], space=(tile[1],), sub=(tile[1] // ALIGNMENT_LANES,)),
        backend="c",
        threads=min(count, ceil_div(n, tile[1])) if parallel else 1,
        seconds=seconds,
    )
    return filling, (int(table.bits.min()), int(table.bits.max())), path


def _score_on_gpu(pair: Pair, tiling: Tiling | str | None, backend: str, *, score_only: bool) -> Filling:
    """Compute the score alone, as the recurrence of the same name."""
    read_target(backend, among=DEVICE_BACKENDS, refusal="alignments are computed by c, opencl or cuda")
    if not score_only:
        raise UsageError("an alignment is traced on the CPU, a GPU computes its score alone", "pass score_only=True")
    inputs = (pair.x, pair.y, pair.scoring.array())
    costs = {"gap_open": pair.scoring.gap_open, "gap_extend": pair.scoring.gap_extend}
    return filling("smith_waterman", inputs, costs, result="sum", tiling=tiling, backend=backend)


def choose_scoring(
    texts: tuple[str, str],
    matrix: str | None,
    pairs: tuple[int | None, int | None],
    gaps: tuple[int | None, int | None],
) -> Scoring:
    """Return the scoring that a user means; see :func:`align`."""
    simple = pairs != (None, None)
    if matrix is not None and simple:
        raise UsageError("pairs are scored by a matrix or by match and mismatch, not by both")
    if simple and None in pairs:
        raise UsageError("match and mismatch are given together", "such as match=2, mismatch=-3")
    if matrix is None and not simple:
        simple = {*texts[0].upper(), *texts[1].upper()} <= _NUCLEOTIDES
        pairs = _NUCLEOTIDE_PAIRS
    usual = _NUCLEOTIDE_GAPS if simple else _PROTEIN_GAPS
    gap_open = usual[0] if gaps[0] is None else gaps[0]
    gap_extend = min(usual[1], gap_open) if gaps[1] is None else gaps[1]
    if simple:
        return match_scoring(texts, pairs[0] or 0, pairs[1] or 0, gap_open, gap_extend)
    return matrix_scoring(matrix or "BLOSUM62", gap_open, gap_extend)


def _warn_if_ambiguous(texts: tuple[str, str]) -> None:
    """Warn where BLOSUM62 is chosen for letters that nucleotides may have as well."""
    first, second = ({*text.upper()} for text in texts)
    if first | second <= _NUCLEOTIDES:
        return
    hint = "(hint: give matrix, or match and mismatch)"
    if first | second <= _NUCLEOTIDES | _AMBIGUITY_CODES:
        letters = "".join(sorted((first | second) - _NUCLEOTIDES))
        warn_once(f"sequences with the letters {letters} beside nucleotides are taken for proteins, by BLOSUM62 {hint}")
    elif first <= _NUCLEOTIDES or second <= _NUCLEOTIDES:
        name = "first" if first <= _NUCLEOTIDES else "second"
        warn_once(
            f"the {name} sequence has the letters of nucleotides only, both are taken for proteins, by BLOSUM62 {hint}"
        )


def _tile(tiling: Tiling) -> tuple[int, int]:
    lanes = f"the columns of a tile are dealt to {ALIGNMENT_LANES} lanes"
    if not tiling.family.tables or len(tiling.space) != 1:
        raise UsageError(f"alignments are cut into orthogonal tiles, got {str(tiling)!r}", "orthogonal:t=512,s=2560")
    if tiling.space[0] % ALIGNMENT_LANES:
        raise UsageError(f"{lanes}, so s is a multiple of {ALIGNMENT_LANES}, got s={tiling.space[0]}")
    if tiling.sub not in {(), (tiling.space[0] // ALIGNMENT_LANES,)}:
        sub = tiling.space[0] // ALIGNMENT_LANES
        raise UsageError(f"{lanes}, so sub is s / {ALIGNMENT_LANES} = {sub}, got {str(tiling)!r}")
    if tiling.time * tiling.space[0] > 2**31:
        raise UsageError(f"a tile has at most 2^31 cells, got {str(tiling)!r}")
    return tiling.time, tiling.space[0]


def _lines(texts: tuple[str, str], path: AlignmentPath) -> tuple[str, str, str]:
    """Write an alignment as two lines and as a CIGAR string."""
    i, j = path.x[0], path.y[0]
    first: list[str] = []
    second: list[str] = []
    runs: list[tuple[str, int]] = []
    for step in path.steps.tolist():
        p = "-" if step == 1 else texts[0][i]
        q = "-" if step == 2 else texts[1][j]
        i, j = i + (step != 1), j + (step != 2)
        first.append(p)
        second.append(q)
        letter = ("=" if _equal(p, q) else "X", "D", "I")[step]
        if runs and runs[-1][0] == letter:
            runs[-1] = (letter, runs[-1][1] + 1)
        else:
            runs.append((letter, 1))
    return "".join(first), "".join(second), "".join(f"{count}{letter}" for letter, count in runs)


def score_table(pair: Pair, tile: tuple[int, int], threads: int, *, keep: bool = False, bits: int = 8) -> ScoreTable:
    """Compute the scores of all local alignments on ``bits`` (8, 16, 32) or more, in tiles of 64 i columns."""
    kernel, _ = compiled(emit_align)
    x, y, scoring = pair.x, pair.y, pair.scoring
    (m, n), (t, s) = (len(x), len(y)), tile
    tall, wide = ceil_div(m, t), ceil_div(n, s)
    count = kernel.team(threads, parts=wide)
    letters = len(scoring.letters)
    columns = round_up(s, ALIGNMENT_LANES)
    own = 25 * columns + 7 * letters * columns + round_up(16 * t, ALIGNMENT_LANES) + ALIGNMENT_LANES
    copies = (wide + 1) * m + (tall + 1) * n if keep else m
    work = scratch(own * count, 8 * copies)
    left = np.zeros((2, wide + 1 if keep else 1, m), dtype=np.int32)
    top = np.zeros((2, tall + 1, n) if keep else (2, 1, 1), dtype=np.int32)
    best = np.zeros((tall, wide), dtype=np.int32)
    widths = np.zeros((tall, wide), dtype=np.uint8)
    flags = np.zeros(wide * _FLAG_WORDS, dtype=np.int64)
    matrix = scoring.array()
    # Columns that only fill up a tile score at most 0, whatever the matrix: nothing may grow there.
    lowest = min(0, int(matrix.min()))
    sizes = (m, n, letters, scoring.gap_open, scoring.gap_extend, t, s, count, int(keep), bits, lowest, own)
    arrays = (x, y, matrix, left[0], left[1], top[0], top[1], best, widths, flags)
    kernel(arrays, sizes, work)
    return ScoreTable(tile=tile, best=best, bits=widths, left=left, top=top)


def trace_path(pair: Pair, table: ScoreTable) -> AlignmentPath:
    """Trace a best alignment, of a score above 0, through a table whose edges were kept, computing its tiles again."""
    (t, s), (m, n), scoring = table.tile, (len(pair.x), len(pair.y)), pair.scoring
    kernel, matrix = compiled(emit_align)[1], scoring.array()
    way, operations = np.empty(min(t, m) * min(s, n), dtype=np.uint8), np.empty(min(t, m) + min(s, n) + 2, np.uint8)
    work = np.empty(2 * min(s, n), dtype=np.int32)
    a, b = divmod(int(np.argmax(table.best)), table.best.shape[1])
    row, column, state = -1, -1, 0  # a row below 0 asks for the end
    end: tuple[int, int] | None = None
    parts: list[npt.NDArray[np.uint8]] = []
    while True:  # through a tile, computed from its kept edges with directions, from a place towards the start
        i0, j0 = a * t, b * s
        rows, columns = (min(t, m - i0), min(s, n - j0)) if row < 0 else (row + 1, column + 1)
        corner = int(table.left[0, b, i0 - 1]) if i0 and b else 0
        head = (rows, columns, len(scoring.letters), scoring.gap_open, scoring.gap_extend, corner)
        sizes = np.array((*head, row, column, state, table.score, 0, 0), dtype=np.int64)
        left, top = table.left[:, b, i0 : i0 + rows], table.top[:, a, j0 : j0 + columns]
        read = (pair.x[i0 : i0 + rows], pair.y[j0 : j0 + columns], matrix, *left, *top)
        kernel((*map(packed, read), way, operations), sizes, work)
        row, column, state = (int(size) for size in sizes[6:9])
        parts.append(operations[: sizes[9]].copy())
        if end is None:
            end = (i0 + int(sizes[10]) + 1, j0 + int(sizes[11]) + 1)
        here = (i0 + row + 1, j0 + column + 1)
        if state == _START or min(here) == 0:
            break
        a, row = (a - 1, t - 1) if row < 0 else (a, row)
        b, column = (b - 1, s - 1) if column < 0 else (b, column)
    return AlignmentPath(x=(here[0], end[0]), y=(here[1], end[1]), steps=np.concatenate(parts)[::-1])


def rescore(alignment: Alignment, scoring: Scoring) -> int:
    """Compute an alignment's score from its lines alone."""
    total, gap = 0, ""
    matrix, place = scoring.matrix, {letter: i for i, letter in enumerate(scoring.letters)}
    for p, q in zip(alignment.a_line.upper(), alignment.b_line.upper(), strict=True):
        side = "a" if p == "-" else "b" if q == "-" else ""
        if side:
            total -= scoring.gap_extend if side == gap else scoring.gap_open
        else:
            total += matrix[place.get(p, place.get(scoring.unknown, 0))][place.get(q, place.get(scoring.unknown, 0))]
        gap = side
    return total
