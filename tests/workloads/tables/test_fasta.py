"""FASTA files, good and bad."""

import pytest

from tilewright.base.errors import UsageError
from tilewright.workloads.tables.files import read_fasta


def _file(tmp_path, text, name="a.fasta"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_sequences_titles_and_line_ends(tmp_path):
    path = _file(tmp_path, ">one first of two\r\nACGT\r\n  AC GT\r\n\r\n;a note\n>two\nM*KV*\n")
    one, two = read_fasta(path)
    assert (one.name, one.title, one.letters) == ("one", "first of two", "ACGTACGT")
    assert (two.name, two.title, two.letters) == ("two", "", "M*KV")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no sequence"),
        ("ACGT\n", "line 1 .* before any header"),
        (">a\n>b\nACGT\n", "the sequence 'a' .* has no letters"),
        (b">a\nAC\xff\n", "no ASCII character"),
    ],
)
def test_what_is_no_fasta(tmp_path, text, message):
    with pytest.raises(UsageError, match=message):
        read_fasta(_file(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="there is no file"):
        read_fasta(tmp_path / "none.fasta")
