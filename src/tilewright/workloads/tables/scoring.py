"""How an alignment is scored: substitution matrices and affine gap costs."""

import functools
from dataclasses import dataclass
from importlib import resources

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import UsageError, meant
from tilewright.base.units import whole_number

MATRICES = ("BLOSUM45", "BLOSUM62", "BLOSUM80", "PAM250")
"""The protein matrices that are shipped; see ``matrices/README.md`` for where they come from."""
MAX_LETTERS = 250
MAX_SCORE = 2**15 - 1
_MOST = 2**31 - 1
Codes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """Scores of pairs of letters and costs of gaps: a gap of length k costs ``open + (k - 1) extend``."""

    name: str  # the matrix's name, or ``match/mismatch``
    letters: str  # the alphabet
    matrix: tuple[tuple[int, ...], ...]  # a row per letter, in the alphabet's order
    gap_open: int  # cost of a gap's first letter
    gap_extend: int  # cost of each further one
    unknown: str = ""  # what stands for every letter from A to Z outside the alphabet, or nothing

    def array(self) -> npt.NDArray[np.int32]:
        """Return the matrix; shape (letters, letters)."""
        return np.array(self.matrix, dtype=np.int32).reshape(len(self.letters), len(self.letters))

    def encode(self, sequence: str, name: str = "sequence") -> Codes:
        """Turn a sequence into positions in the alphabet; small letters count as capitals."""
        characters = _bytes(sequence)
        table = np.full(256, 255, dtype=np.uint8)
        if self.unknown:
            table[ord("A") : ord("Z") + 1] = self.letters.index(self.unknown)
        table[np.frombuffer(self.letters.encode("latin-1"), dtype=np.uint8)] = np.arange(len(self.letters))
        codes: Codes = table[characters]
        bad = np.flatnonzero(codes == 255)
        if bad.size:
            place = int(bad[0])
            raise UsageError(
                f"letter {place + 1} of the {name} is {chr(characters[place])!r}, which {self.name} does not score",
                _remedy(chr(characters[place])) or f"its letters are {self.letters}",
            )
        return codes


def _bytes(sequence: str) -> Codes:
    text = sequence.upper()
    try:
        characters = np.frombuffer(text.encode("latin-1"), dtype=np.uint8)
    except UnicodeEncodeError as error:
        raise UsageError(f"a sequence is made of letters, got {text[error.start]!r}") from None
    if len(characters) != len(sequence):  # the capital of a letter is two
        raise UsageError(f"a sequence is made of letters, got {next(c for c in sequence if len(c.upper()) > 1)!r}")
    return characters


def _remedy(letter: str) -> str:
    """Say what to do about what is no letter of any sequence; nothing where it may be one."""
    if letter.isspace():
        return "leave blanks and line ends out, such as by ''.join(text.split())"
    if letter in "-.":
        return "it stands for a gap: leave gaps out, they are found anew"
    return "leave digits out" if letter.isdigit() else ""


def check_gaps(gap_open: int, gap_extend: int) -> tuple[int, int]:
    """Return gap costs that are whole numbers with 0 < extend <= open."""
    costs = {"gap_open": gap_open, "gap_extend": gap_extend}
    about = f"from 0 to {MAX_SCORE}, a cost"
    gap_open, gap_extend = (whole_number(cost, name, 0, MAX_SCORE, about) for name, cost in costs.items())
    if gap_extend > gap_open:
        raise UsageError(
            f"extending a gap may cost at most as much as opening one, got gap_open={gap_open}, gap_extend={gap_extend}"
        )
    return gap_open, gap_extend


def matrix_scoring(matrix: str, gap_open: int, gap_extend: int) -> Scoring:
    """Score by a shipped protein matrix, or the text of one in NCBI's format.

    Letters from A to Z that it does not have count as X where it has an X; ``*``, a stop, is a letter of shipped ones.

    >>> matrix_scoring("BLOSUM62", 11, 1).matrix[0][0]
    4
    """
    gaps = check_gaps(gap_open, gap_extend)
    if "\n" in matrix:
        letters, rows = parse_matrix(matrix)
        name = "the matrix"
    else:
        name = matrix.upper()
        if name not in MATRICES:
            hint = meant(name, MATRICES, f"the matrices are {', '.join(MATRICES)}, or a file's path")
            raise UsageError(f"there is no substitution matrix {matrix!r}", hint)
        letters, rows = _shipped_matrix(name)
    unknown = "X" if "X" in letters else ""
    return Scoring(name=name, letters=letters, matrix=rows, gap_open=gaps[0], gap_extend=gaps[1], unknown=unknown)


@functools.cache
def _shipped_matrix(name: str) -> tuple[str, tuple[tuple[int, ...], ...]]:
    text = (
        resources.files("tilewright.workloads.tables").joinpath("matrices", f"{name}.txt").read_text(encoding="ascii")
    )
    return parse_matrix(text)


def parse_matrix(text: str) -> tuple[str, tuple[tuple[int, ...], ...]]:
    """Read a matrix in NCBI's format: comments, a line of letters, a line per letter."""
    lines = [line.split() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines or any(len(letter) != 1 for letter in lines[0]) or len(lines[0]) > MAX_LETTERS:
        raise UsageError("a substitution matrix starts with a line of single letters", "use NCBI's format")
    letters = "".join(lines[0]).upper()
    rows: dict[str, tuple[int, ...]] = {}
    for parts in lines[1:]:
        try:
            rows[parts[0].upper()] = tuple(int(part) for part in parts[1:])
        except ValueError:
            raise UsageError(f"row {parts[0]!r} of the substitution matrix is not made of whole numbers") from None
    if (
        set(rows) != set(letters)
        or len(set(letters)) != len(letters)
        or any(len(r) != len(letters) for r in rows.values())
    ):
        raise UsageError(f"a substitution matrix has a row of {len(letters)} numbers for each of {letters}")
    if max(abs(value) for row in rows.values() for value in row) > MAX_SCORE:
        raise UsageError(f"scores of pairs are at most {MAX_SCORE}")
    return letters, tuple(rows[letter] for letter in letters)


def match_scoring(texts: tuple[str, str], match: int, mismatch: int, gap_open: int, gap_extend: int) -> Scoring:
    """Score equal letters alike and unequal ones alike, over whatever letters occur; blanks and ``-`` are none."""
    gaps = check_gaps(gap_open, gap_extend)
    scores = {"match": match, "mismatch": mismatch}
    about = f"of at most {MAX_SCORE}"
    match, mismatch = (whole_number(score, name, -MAX_SCORE, MAX_SCORE, about) for name, score in scores.items())
    for which, text in zip(("first", "second"), texts, strict=True):
        place = next((i for i, letter in enumerate(text) if letter.isspace() or letter == "-"), None)
        if place is not None:
            raise UsageError(
                f"letter {place + 1} of the {which} sequence is {text[place]!r}, which is no letter",
                _remedy(text[place]),
            )
    letters = "".join(chr(code) for code in np.flatnonzero(sum(np.bincount(_bytes(t), minlength=256) for t in texts)))
    if len(letters) > MAX_LETTERS:
        raise UsageError(f"sequences of at most {MAX_LETTERS} different letters can be aligned, got {len(letters)}")
    size = range(len(letters))
    rows = tuple(tuple(match if i == j else mismatch for j in size) for i in size)
    return Scoring(
        name=f"match {match:+d}, mismatch {mismatch:+d}",
        letters=letters,
        matrix=rows,
        gap_open=gaps[0],
        gap_extend=gaps[1],
    )


def check_range(scoring: Scoring, lengths: tuple[int, int]) -> None:
    """Refuse sequences whose score might not fit 32 bits."""
    best = max((max(row) for row in scoring.matrix), default=0)
    if best > 0 and min(lengths) * best >= _MOST:
        raise UsageError(f"the score of sequences of {lengths[0]} and {lengths[1]} letters may not fit 32 bits")
