"""``tw.align``: local alignment of two sequences with affine gaps (Smith-Waterman), its score and its letters."""

import time
from dataclasses import dataclass, replace

from tilewright.base.arguments import checked
from tilewright.base.constants import ALIGNMENT_LANES
from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div
from tilewright.base.records import Record
from tilewright.base.units import format_seconds
from tilewright.inputs.memo import host
from tilewright.plan import DEVICE_BACKENDS, read_target
from tilewright.runtime.host import thread_count
from tilewright.runtime.warn import warn_once
from tilewright.schedules.tiling import Tiling, as_tiling
from tilewright.workloads.tables.fill import filling
from tilewright.workloads.tables.schedule import alignment_default
from tilewright.workloads.tables.scoring import Codes, Scoring, check_range, match_scoring, matrix_scoring

_THREADED = 4_000_000
"""Cells below which a second thread costs more than it brings."""
_NUCLEOTIDES = frozenset("ACGTUN")
_AMBIGUITY_CODES = frozenset("RYSWKMBDHV*")
"""Further letters of nucleotides, each for one of several, which stand for amino acids too; and the stop."""
_PROTEIN_GAPS, _NUCLEOTIDE_GAPS = (11, 1), (5, 2)
_NUCLEOTIDE_PAIRS = (2, -3)
_LINE = 60


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


def _equal(p: str, q: str) -> bool:
    """Whether two letters score as the same one: small ones count as capitals."""
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
    from tilewright.workloads.tables import align_call as kernels

    scoring = choose_scoring((a, b), matrix, (match, mismatch), (gap_open, gap_extend))
    for name, text in (("first", a), ("second", b)):
        if not text:
            raise UsageError(f"the {name} sequence has no letters")
    codes = scoring.encode(a, "first sequence"), scoring.encode(b, "second sequence")
    chosen = matrix is None and match is None
    if chosen:
        _warn_if_ambiguous((a, b))
    check_range(scoring, (len(a), len(b)))
    if backend not in {"auto", "c"}:
        found = _score_on_gpu(codes, scoring, tiling, backend, score_only=score_only)
        return replace(found, scoring_chosen=chosen)
    pair = kernels.Pair(x=codes[0], y=codes[1], scoring=scoring)
    count = 1 if threads is None and len(a) * len(b) < _THREADED else thread_count(threads)
    asked = as_tiling(tiling)
    lengths, letters = (len(a), len(b)), len(scoring.letters)
    tile = _tile(asked) if asked else alignment_default(lengths, letters, host(), count, traced=not score_only)
    parallel = kernels.parallel()  # compiles, which is not part of the time
    begin = time.perf_counter()
    table = kernels.score_table(pair, tile, count, keep=not score_only)
    path = None if score_only or not table.score else kernels.trace_path(pair, table)
    seconds = time.perf_counter() - begin
    a_line, b_line, cigar = (
        ("", "", "") if path is None else _written((a, b), path.x[0], path.y[0], path.steps.tolist())
    )
    nowhere = None if score_only else (0, 0)
    return Alignment(
        score=table.score,
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
        seconds=seconds,
        tiling=Tiling(family="orthogonal", time=tile[0], space=(tile[1],), sub=(tile[1] // ALIGNMENT_LANES,)),
        threads=min(count, ceil_div(len(b), tile[1])) if parallel else 1,
        bits=(int(table.bits.min()), int(table.bits.max())),
    )


def _score_on_gpu(
    codes: tuple[Codes, Codes], scoring: Scoring, tiling: Tiling | str | None, backend: str, *, score_only: bool
) -> Alignment:
    """Compute the score alone, as the recurrence of the same name."""
    read_target(backend, among=DEVICE_BACKENDS, refusal="alignments are computed by c, opencl or cuda")
    if not score_only:
        raise UsageError("an alignment is traced on the CPU, a GPU computes its score alone", "pass score_only=True")
    inputs = (*codes, scoring.array())
    costs = {"gap_open": scoring.gap_open, "gap_extend": scoring.gap_extend}
    found = filling("smith_waterman", inputs, costs, result="sum", tiling=tiling, backend=backend)
    return Alignment(
        score=int(found.values),
        scoring=scoring.name,
        gap_open=scoring.gap_open,
        gap_extend=scoring.gap_extend,
        cells=len(codes[0]) * len(codes[1]),
        seconds=found.seconds,
        tiling=found.tiling,
        threads=found.threads,
        bits=(32, 32),
        backend=found.backend,
    )


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
        others = "".join(sorted((first | second) - _NUCLEOTIDES))
        warn_once(f"sequences with the letters {others} beside nucleotides are taken for proteins, by BLOSUM62 {hint}")
    elif first <= _NUCLEOTIDES or second <= _NUCLEOTIDES:
        name = "first" if first <= _NUCLEOTIDES else "second"
        warn_once(
            f"the {name} sequence has the letters of nucleotides only, both are taken for proteins, by BLOSUM62 {hint}"
        )


def _tile(asked: Tiling) -> tuple[int, int]:
    lanes = f"the columns of a tile are dealt to {ALIGNMENT_LANES} lanes"
    if not asked.family.tables or len(asked.space) != 1:
        raise UsageError(f"alignments are cut into orthogonal tiles, got {str(asked)!r}", "orthogonal:t=512,s=2560")
    if asked.space[0] % ALIGNMENT_LANES:
        raise UsageError(f"{lanes}, so s is a multiple of {ALIGNMENT_LANES}, got s={asked.space[0]}")
    if asked.sub not in {(), (asked.space[0] // ALIGNMENT_LANES,)}:
        sub = asked.space[0] // ALIGNMENT_LANES
        raise UsageError(f"{lanes}, so sub is s / {ALIGNMENT_LANES} = {sub}, got {str(asked)!r}")
    if asked.time * asked.space[0] > 2**31:
        raise UsageError(f"a tile has at most 2^31 cells, got {str(asked)!r}")
    return asked.time, asked.space[0]


def _written(texts: tuple[str, str], i: int, j: int, steps: list[int]) -> tuple[str, str, str]:
    """Write the steps as two lines and as a CIGAR string."""
    first: list[str] = []
    second: list[str] = []
    runs: list[tuple[str, int]] = []
    for step in steps:
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


def rescore(found: Alignment, scoring: Scoring) -> int:
    """Compute an alignment's score from its lines alone."""
    total, gap = 0, ""
    matrix, place = scoring.matrix, {letter: i for i, letter in enumerate(scoring.letters)}
    for p, q in zip(found.a_line.upper(), found.b_line.upper(), strict=True):
        side = "a" if p == "-" else "b" if q == "-" else ""
        if side:
            total -= scoring.gap_extend if side == gap else scoring.gap_open
        else:
            total += matrix[place.get(p, place.get(scoring.unknown, 0))][place.get(q, place.get(scoring.unknown, 0))]
        gap = side
    return total
