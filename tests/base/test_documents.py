"""Documents: values by the annotations of a dataclass, and one sentence about each damage."""

from dataclasses import dataclass
from typing import Annotated

import pytest

from tilewright.base import documents
from tilewright.base.documents import Amount, Check, Positive, Shape, within
from tilewright.base.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Part:
    name: Annotated[str, Check("a short text", lambda value: len(value) < 9)]
    steps: Annotated[int, within(1, 9)] = 1


@dataclass(frozen=True, kw_only=True)
class Document:
    seconds: Positive
    shape: Shape
    parts: tuple[Part, ...] = ()
    pair: tuple[int, str] | None = None
    kept: bool = False
    joules: Amount | None = None


GOOD = {"seconds": 2, "shape": "4x8"}


def test_values_are_taken_as_they_are_annotated():
    full = {**GOOD, "parts": [{"name": "a", "steps": 3}], "pair": [1, "b"], "kept": True, "joules": None}
    assert documents.parse(Document, full, "it") == Document(
        seconds=2, shape=(4, 8), parts=(Part(name="a", steps=3),), pair=(1, "b"), kept=True
    )
    assert type(documents.parse(Document, GOOD, "it").seconds) is int
    assert documents.parse(Document, {**GOOD, "x": 1}, "it", alone=False).shape == (4, 8)


def test_damage_is_one_sentence():
    for change, said in [
        ({"seconds": 0}, "'seconds' of it is a finite number above 0, got 0"),
        ({"seconds": True}, "'seconds' of it is a finite number above 0, got True"),
        ({"seconds": 10**400}, "'seconds' of it is a finite number above 0, got a huge number"),
        ({"seconds": float("inf")}, "'seconds' of it is a finite number above 0, got inf"),
        ({"shape": 4}, "'shape' of it is a text, got 4"),
        ({"shape": "4y8"}, "a shape is extents joined by 'x', got '4y8'"),
        ({"parts": 3}, "'parts' of it is a list, got 3"),
        ({"parts": [3]}, "entry 1 of 'parts' of it holds name, steps by name, got 3"),
        ({"parts": [{}]}, "entry 1 of 'parts' of it lacks name"),
        ({"parts": [{"name": "a", "steps": 10}]}, "'steps' of entry 1 of 'parts' of it is a whole number from 1 to 9"),
        ({"parts": [{"name": "a" * 100}]}, "'name' of entry 1 of 'parts' of it is a short text, got 'aaaa"),
        ({"pair": [1]}, "'pair' of it is a list of 2 entries or None, got [1]"),
        ({"pair": [1, 2]}, "entry 2 of 'pair' of it is a text, got 2"),
        ({"kept": 1}, "'kept' of it is True or False, got 1"),
        ({"joules": -1}, "'joules' of it is a finite number of at least 0 or None, got -1"),
        ({"secnds": 1}, "it has an unknown key 'secnds'"),
    ]:
        with pytest.raises(UsageError) as error:
            documents.parse(Document, {**GOOD, **change}, "it")
        assert error.value.message.startswith(said), (change, said)
        assert len(str(error.value)) < 300, (change, said)


def test_what_is_missing_is_named():
    with pytest.raises(UsageError, match="it lacks seconds, shape"):
        documents.parse(Document, {}, "it")
    with pytest.raises(UsageError, match="it lacks steps"):
        documents.parse(Part, {"name": "a"}, "it", complete=True)
    with pytest.raises(UsageError, match=r"it holds name, steps by name, got \[\]"):
        documents.parse(Part, [], "it")


@pytest.mark.parametrize("data", [b"\xff\xfe", b"[" * 100_000, b"{", b"\x00"])
def test_what_is_no_document_is_refused(data):
    with pytest.raises(UsageError, match="it is not JSON"):
        documents.decode_json(data, "it")
    with pytest.raises(UsageError, match="it is not TOML"):
        documents.decode_toml(data, "it")


def test_rows_of_a_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("steps, other,name\n3,x, a\n", encoding="utf-8")
    assert documents.read_rows(path, 100, "table", Part) == [Part(name="a", steps=3)]
    for text, said in (
        ("steps,name\nx,a\n", "'steps' of line 2 of t.csv is a whole number from 1 to 9, got 'x'"),
        ("steps\n3\n", "needs the columns name, steps, got steps"),
        ("", "got none"),
        ("a" * 200, "may have at most 100 B"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match=said):
            documents.read_rows(path, 100, "table", Part)


def test_the_folders_of_a_user(monkeypatch, tmp_path):
    monkeypatch.setenv("SOME_VARIABLE", str(tmp_path))
    assert documents.user_folder("data", "SOME_VARIABLE") == tmp_path
    monkeypatch.delenv("SOME_VARIABLE")
    data, cache = (documents.user_folder(kind, "SOME_VARIABLE") for kind in ("data", "cache"))
    assert data != cache
    assert data.name == cache.name == "tilewright"
