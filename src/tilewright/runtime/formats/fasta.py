"""Sequences in FASTA files."""

from dataclasses import dataclass
from pathlib import Path

from tilewright.base.errors import UsageError
from tilewright.base.paths import read_bounded

_MOST_BYTES = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class FastaRecord:
    """One sequence."""

    name: str  # the first word of its header
    title: str  # the rest of its header
    letters: str  # its letters, as they are in the file


def read_fasta(path: Path) -> tuple[FastaRecord, ...]:
    """Read every sequence of a FASTA file, in order; blank lines and lines that start with ``;`` mean nothing."""
    if not path.is_file():
        raise UsageError(f"there is no file {str(path)!r}", "give the path of a FASTA file")
    try:
        lines = read_bounded(path, _MOST_BYTES, "FASTA file").decode("ascii").splitlines()
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
    found = []
    for header, letters in parts:
        name, _, title = header.partition(" ")
        text = "".join(letters).rstrip("*")  # the stop at the end of a translated sequence
        if not text:
            raise UsageError(f"the sequence {name or '(no name)'!r} of {str(path)!r} has no letters")
        found.append(FastaRecord(name=name or "sequence", title=title.strip(), letters=text))
    return tuple(found)
