"""Tables filled from files: sequences or arrays in, scores and alignments out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tilewright.base.errors import UsageError, WrongResultError
from tilewright.base.paths import check_place, check_there, read_bounded, write_text
from tilewright.base.records import Record
from tilewright.base.units import format_seconds, format_shape, parse_shape
from tilewright.plan import read_target
from tilewright.runtime.formats.files import check_output, read_planes, write_planes
from tilewright.verbs.files import Note
from tilewright.verbs.options import RunFiles, RunOptions, refuse
from tilewright.workloads.tables.align import Alignment, align, choose_scoring, rescore
from tilewright.workloads.tables.fill import Filling, filling, make_data
from tilewright.workloads.tables.problem import Recurrence
from tilewright.workloads.tables.reference import Array, TableData
from tilewright.workloads.tables.reference import fill as fill_reference

_ALIGNER = "smith_waterman"
_LETTERS = "ACGT"
_FASTA = frozenset({".fasta", ".fa", ".faa", ".fna", ".ffn", ".fas"})
_TEXTS = frozenset({".txt"})
_LONG_CHECK = 10**8
_LARGEST_MATRIX = 2**20
_LARGEST_FASTA = 2**31
_PAIR_OPTIONS = ("match", "mismatch", "gap_open", "gap_extend")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TableReport(Record):
    """What a run of a recurrence did."""

    KEYS = (
        "program sequences shape steps dtype backend=result.backend tiling=result.tiling.__str__ "
        "threads=result.threads seconds=result.seconds gcells_per_second value *=beside"
    )

    program: str
    sequences: tuple[str, ...]  # their names, or none
    shape: tuple[int, int]  # rows and columns
    steps: ClassVar[int] = 1
    dtype: str  # of the tables; of an alignment the widest that a tile needed
    result: Alignment | Filling  # the alignment, or what filling did
    value: float  # the score, or the last cell of the first table
    error: float | None = None  # largest difference from the NumPy reference, where it was asked for

    @property
    def gcells_per_second(self) -> float:
        """Cells per nanosecond."""
        return self.shape[0] * self.shape[1] / self.result.seconds / 1e9

    @property
    def beside(self) -> dict[str, object]:
        """What only an alignment, and only a comparison, has to say."""
        document: dict[str, object] = {"alignment": self.result} if isinstance(self.result, Alignment) else {}
        compared = {"checked": True, "max_error": self.error, "within_bound": self.error == 0}
        return document if self.error is None else document | compared

    def __str__(self) -> str:
        result, letters = self.result, " and ".join(self.sequences) or "random letters"
        lines = [f"{self.program}, {letters}, {format_shape(self.shape)}"]
        if isinstance(result, Alignment):
            lines.append(str(result))
        else:
            threads = f"{result.threads} thread{'s' * (result.threads != 1)}"
            lines[0] += f", {self.dtype}: {result.backend}, {result.tiling}, {threads}"
            speed = f"{format_seconds(result.seconds)}, {self.gcells_per_second:.3g} GCells/s"
            lines.append(f"last cell {self.value:g}; {speed}")
        if self.error is not None:
            verdict = "equal to" if self.error == 0 else f"DIFFERENT by {self.error:g} from"
            lines.append(f"checked: {verdict} the NumPy reference")
        return "\n".join(lines)

    def raise_if_wrong(self) -> None:
        """Raise if the comparison failed."""
        if self.error:
            raise WrongResultError(
                f"the result differs from the NumPy reference by {self.error:g}",
                "report it with the command line and the output of `tilewright doctor`",
            )


def fill_files(program: Recurrence, options: RunOptions, files: RunFiles, note: Note) -> TableReport:
    """Fill the table of a recurrence from FASTA or ``.npy`` files; without any, from random letters of ``--shape``."""
    refuse("a table", options, files)
    if len(files.outputs) > 1:
        raise UsageError(f"{program.name!r} has one result: --output is given {len(files.outputs)} times")
    fill = _alignment_report if program.name == _ALIGNER else _fill_report
    return fill(program, options, files, note)


def _alignment_report(program: Recurrence, options: RunOptions, files: RunFiles, note: Note) -> TableReport:
    if options.backend == "numpy" or options.dtype is not None:
        raise UsageError("alignments are computed in C on 8, 16 or 32 bits", "leave --backend and --dtype out")
    score_only = read_target(options.backend).on_device
    if score_only and files.outputs:
        raise UsageError("a GPU computes the score alone, no alignment to write", "leave --output or --backend out")
    for path in files.outputs:
        _check_text(path)
    first, second = _sequences(program.name, files)
    settings = _settings(files.scalars)
    extras = [name for name in settings if name not in {"matrix", *_PAIR_OPTIONS}]
    if extras:
        raise UsageError(f"{program.name!r} has no setting {extras[0]!r}", f"it has matrix, {', '.join(_PAIR_OPTIONS)}")
    matrix, texts = _matrix(settings.get("matrix")), (first.letters, second.letters)
    match, mismatch, gap_open, gap_extend = (_whole(name, settings.get(name)) for name in _PAIR_OPTIONS)
    result = align(
        *texts,
        matrix=matrix,
        match=match,
        mismatch=mismatch,
        gap_open=gap_open,
        gap_extend=gap_extend,
        score_only=score_only,
        tiling=options.tiling,
        threads=options.threads,
        backend=options.backend,
    )
    if files.outputs:
        write_text(files.outputs[0], f"{first.name}\n{second.name}\n{result}\n")
    error = None
    if files.check:
        scoring = choose_scoring(texts, matrix, (match, mismatch), (result.gap_open, result.gap_extend))
        inputs = (*map(scoring.encode, texts), scoring.array())
        data = make_data(program, inputs, {"gap_open": result.gap_open, "gap_extend": result.gap_extend}, "int32")
        differences = [int(_reference(program, data, note).max(initial=0)) - result.score]
        differences += [] if result.a is None else [rescore(result, scoring) - result.score]
        error = float(max(map(abs, differences)))
    return TableReport(
        program=program.name,
        sequences=(first.name, second.name),
        shape=(len(first.letters), len(second.letters)),
        dtype=f"int{result.bits[1]}",
        result=result,
        value=result.score,
        error=error,
    )


def _fill_report(program: Recurrence, options: RunOptions, files: RunFiles, note: Note) -> TableReport:
    for path in files.outputs:
        check_output(path)
    inputs, names = _inputs(program, files)
    dtype = options.dtype or ("bool" if program.semiring.name == "or_and" else "int32")
    scalars = {name: _number(name, text) for name, text in _settings(files.scalars).items()}
    how: dict[str, Any] = {"tiling": options.tiling, "backend": options.backend, "threads": options.threads}
    whole = bool(files.outputs or files.check)
    result = filling(program, inputs, scalars, result="table" if whole else "last", dtype=dtype, **how)
    data = make_data(program, inputs, scalars, dtype)
    first = result.values[0] if whole and len(program.tables) > 1 else result.values
    error = None
    if files.check:
        exact = _reference(program, data, note)
        different = first != exact
        error = float(np.abs(first[different] - exact[different].astype(float)).max(initial=0.0))
    if files.outputs:
        write_planes(files.outputs[0], (first,))
    return TableReport(
        program=program.name,
        sequences=names,
        shape=data.shape,
        dtype=dtype,
        result=result,
        value=float(first[-1, -1] if whole else result.values),
        error=error,
    )


def _reference(program: Recurrence, data: TableData, note: Note) -> Array:
    if data.shape[0] * data.shape[1] >= _LONG_CHECK:
        note("comparing with the NumPy reference, which takes a while")
    return fill_reference(program, data)[program.tables[0]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FastaRecord:
    """One sequence."""

    name: str  # the first word of its header
    title: str  # the rest of its header
    letters: str  # its letters, as they are in the file


def read_fasta(path: Path) -> tuple[FastaRecord, ...]:
    """Read every sequence of a FASTA file, in order; blank lines and lines that start with ``;`` mean nothing."""
    check_there(path, "a FASTA file")
    try:
        lines = read_bounded(path, _LARGEST_FASTA, "FASTA file").decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{str(path)!r} is no FASTA file: byte {error.start} is no ASCII character") from None
    parts: list[tuple[str, list[str]]] = []
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if line.startswith(">"):
            parts.append((line[1:].strip(), []))
        elif line and not line.startswith(";"):
            if not parts:
                raise UsageError(f"line {number} of {str(path)!r} comes before any header", "a header starts with '>'")
            parts[-1][1].append("".join(line.split()))
    if not parts:
        raise UsageError(f"{str(path)!r} holds no sequence", "a FASTA file has a line '>name' before each")
    records = []
    for header, letters in parts:
        name, _, title = header.partition(" ")
        text = "".join(letters).rstrip("*")  # the stop at the end of a translated sequence
        if not text:
            raise UsageError(f"the sequence {name or '(no name)'!r} of {str(path)!r} has no letters")
        records.append(FastaRecord(name=name or "sequence", title=title.strip(), letters=text))
    return tuple(records)


def _inputs(program: Recurrence, files: RunFiles) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    kinds = [each.kind for each in program.inputs]
    if kinds == ["row", "column"] and not any(path.suffix.lower() == ".npy" for path in files.inputs):
        first, second = _sequences(program.name, files)
        return (first.letters.upper(), second.letters.upper()), (first.name, second.name)
    if len(files.inputs) != len(kinds):
        text = ", ".join(f"{each.name} (per {each.kind})" for each in program.inputs)
        raise UsageError(
            f"{program.name!r} needs {len(kinds)} inputs, {text}, got {len(files.inputs)}", "give --input FILE.npy each"
        )
    return tuple(read_planes(path)[0] for path in files.inputs), tuple(path.name for path in files.inputs)


def _sequences(name: str, files: RunFiles) -> tuple[FastaRecord, FastaRecord]:
    """Return two sequences: of one or two FASTA files, or random ones."""
    if not files.inputs:
        if files.shape is None:
            raise UsageError(
                f"{name!r} needs two sequences",
                "give --input A.fasta --input B.fasta, or --shape for random ones",
            )
        shape = parse_shape(files.shape)
        if len(shape) != 2:
            raise UsageError(
                f"a table has rows and columns, got the shape {files.shape!r}", "such as --shape 1000x2000"
            )
        rng = np.random.default_rng(files.seed)
        texts = ["".join(_LETTERS[i] for i in rng.integers(0, len(_LETTERS), size).tolist()) for size in shape]
        return tuple(  # type: ignore[return-value]  # (two of them)
            FastaRecord(name=f"random{number}", title="", letters=text) for number, text in enumerate(texts, 1)
        )
    for path in files.inputs:
        if path.suffix.lower() not in _FASTA:
            raise UsageError(
                f"a file of sequences ends in {', '.join(sorted(_FASTA))}, got {path.name!r}",
                "rename it if it is FASTA",
            )
    records = [read_fasta(path) for path in files.inputs]
    if len(records) == 1 and len(records[0]) >= 2:
        return records[0][0], records[0][1]
    if len(records) != 2:
        count = "one sequence" if len(records) == 1 else f"{len(records)} files"
        raise UsageError(f"{name!r} needs two sequences, got {count}", "give --input A.fasta --input B.fasta")
    return records[0][0], records[1][0]


def _settings(texts: tuple[str, ...]) -> dict[str, str]:
    settings = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise UsageError(f"--set takes name=value, got {text!r}")
        settings[name.strip()] = value.strip()
    return settings


def _matrix(text: str | None) -> str | None:
    """Return a matrix's name, or the text of a file of one."""
    if text is None or not Path(text).is_file():
        return text
    return read_bounded(Path(text), _LARGEST_MATRIX, "matrix").decode("ascii", errors="replace")


def _whole(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    number = _number(name, text)
    if number != int(number):
        raise UsageError(f"{name} is a whole number, got {text!r}")
    return int(number)


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"the value of {name} is a number, got {text!r}") from None
    if not np.isfinite(value):
        raise UsageError(f"the value of {name} is a finite number, got {text!r}")
    return value


def _check_text(path: Path) -> None:
    if path.suffix.lower() not in _TEXTS:
        raise UsageError(f"an alignment is written to a .txt file, got {path.name!r}")
    check_place(path)
