"""The wisdom store: found for the same or a nearby problem, stale elsewhere, hostile files refused."""

import json
from dataclasses import asdict, replace

import pytest

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.store import wisdom
from tilewright.runtime.store.wisdom import Circumstances, Wisdom

HERE = Circumstances(device="cpu", device_key="d" * 32, compiler="gcc 12", compiler_key="c" * 32, version="1/1")
PROBLEM = make_problem(program("j2d5pt"), (1000, 2000), 100)


@pytest.fixture(autouse=True)
def private_store(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store"))
    return tmp_path / "store"


def entry(problem=PROBLEM, tiling="hybrid:t=16,s=8x64", here=HERE, when="2026-01-01T00:00:00+00:00", threads=2):
    return Wisdom(
        program=problem.program.name,
        problem_key=wisdom.problem_key(problem),
        dtype=problem.dtype,
        shape=problem.shape,
        steps=problem.steps,
        threads=threads,
        tiling=tiling,
        seconds=0.5,
        samples=5,
        circumstances=here,
        when=when,
    )


def found(problem, *entries, threads=2, here=HERE):
    best, stale = wisdom.find(entries, problem, threads, here)
    return None if best is None else best.tiling, stale


def test_the_same_problem_is_found():
    assert found(PROBLEM, entry()) == ("hybrid:t=16,s=8x64", False)


def test_a_nearby_problem_is_found():
    for shape, steps, near in [
        ((1000, 2000), 101, True),
        ((500, 4000), 100, True),
        ((1000, 2000), 400, True),
        ((499, 2000), 100, False),
        ((1000, 4001), 100, False),
        ((1000, 2000), 401, False),
        ((1000, 2000), 24, False),
    ]:
        problem = make_problem(program("j2d5pt"), shape, steps)
        assert found(problem, entry()) == ("hybrid:t=16,s=8x64" if near else None, False), (shape, steps, near)


def test_the_nearest_of_several_is_taken_and_of_equals_the_newest():
    far = entry(replace(PROBLEM, shape=(1500, 2000)), "hybrid:t=2,s=2x64")
    near = entry(replace(PROBLEM, shape=(1010, 2000)), "hybrid:t=4,s=4x64")
    assert found(PROBLEM, near, far)[0] == found(PROBLEM, far, near)[0] == "hybrid:t=4,s=4x64"
    assert found(PROBLEM, entry(tiling="none"), entry())[0] == "hybrid:t=16,s=8x64"


@pytest.mark.parametrize(
    "other",
    [
        make_problem(program("j2d9pt"), (1000, 2000), 100),
        make_problem(program("j2d5pt"), (1000, 2000), 100, "float64"),
        make_problem(program("j2d5pt"), (1000, 2000), 100, boundary="nearest"),
        make_problem(program("j2d5pt"), (1000, 2000), 100, boundary=("fixed", ("fixed", "nearest"))),
    ],
)
def test_another_program_dtype_or_boundary_is_another_problem(other):
    assert found(other, entry()) == (None, False)


def test_another_number_of_threads_is_another_problem():
    assert found(PROBLEM, entry(threads=4)) == (None, False)


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("device_key", "e" * 32, "hardware"),
        ("compiler_key", "e" * 32, "compiler"),
        ("version", "2/1", "version"),
    ],
)
def test_stale_wisdom_is_flagged_and_not_used(name, value, what):
    old = entry(here=replace(HERE, **{name: value}))
    assert found(PROBLEM, old) == (None, True)
    assert wisdom.staleness(old, HERE) == (what,)
    fresh = entry(tiling="hybrid:t=8,s=8x64")
    assert found(PROBLEM, fresh, old)[0] == "hybrid:t=8,s=8x64"


def test_the_circumstances_of_this_machine_are_stable():
    first = wisdom.circumstances()
    assert first == wisdom.circumstances()
    assert len(first.device_key) == len(first.compiler_key) == 32


def test_what_is_remembered_is_loaded_and_newer_replaces_older():
    first, second = entry(), entry(tiling="hybrid:t=8,s=8x64", when="2026-02-01T00:00:00+00:00")
    other = entry(replace(PROBLEM, steps=7))
    assert first.id == second.id != other.id
    assert wisdom.load() == ()
    assert wisdom.remember([first, other])
    assert wisdom.load() == (first, other)
    assert wisdom.remember([second])
    assert wisdom.load() == (other, second)
    assert wisdom.forget([other.id])
    assert wisdom.load() == (second,)
    assert wisdom.remember([other])
    assert wisdom.load() == (second, other)


def test_export_and_import_are_inverse():
    entries = (entry(), entry(replace(PROBLEM, shape=(7, 9)), "none"))
    assert wisdom.parse_document(wisdom.dump(entries).encode(), "file") == entries


def spoiled(**changes):
    record = {**entry().to_dict(), **changes}
    return json.dumps({"format": "tilewright-wisdom", "version": 1, "entries": [record]}, default=str)


HOSTILE = {
    "no JSON": ("import os; os.system('id')", "is not JSON"),
    "deep nesting": ("[" * 200_000, "is not JSON"),
    "a huge number": ('{"format": ' + "9" * 10_000 + "}", "is not JSON"),
    "binary": ("\x00\x01", "is not JSON"),
    "a list": ("[]", "no wisdom file"),
    "another format": ('{"format": "x", "version": 1, "entries": []}', "no wisdom file"),
    "another version": ('{"format": "tilewright-wisdom", "version": 9, "entries": []}', "another version"),
    "no entries": ('{"format": "tilewright-wisdom", "version": 1}', "another version"),
    "an entry that is none": ('{"format": "tilewright-wisdom", "version": 1, "entries": [7]}', "by name, got 7"),
    "an unknown value": (spoiled(command="rm -rf /"), "unknown key 'command'"),
    "an unknown family": (spoiled(tiling="../../etc/passwd"), "family"),
    "a tiling that is code": (spoiled(tiling="hybrid:t=__import__('os')"), "whole number"),
    "a tiling that is too long": (spoiled(tiling="none" * 1000), "short printable"),
    "control characters": (spoiled(program="\x1b[2J"), "short printable"),
    "a name that is none": (spoiled(program=3), "short printable"),
    "a dtype that is none": (spoiled(dtype="object"), "dtype"),
    "a key that is a path": (spoiled(problem_key="../../../x"), "key"),
    "a shape of text": (spoiled(shape="8x8"), "extents"),
    "a shape of too many": (spoiled(shape=[1] * 100), "extents"),
    "a negative extent": (spoiled(shape=[-1, 5]), "entry 1 of 'shape'"),
    "a huge extent": (spoiled(shape=[10**400, 5]), "huge number"),
    "a boolean extent": (spoiled(shape=[True, 5]), "entry 1 of 'shape'"),
    "no seconds": (spoiled(seconds=None), "seconds"),
    "negative seconds": (spoiled(seconds=-1.0), "seconds"),
    "infinite seconds": (spoiled(seconds=1e999), "seconds"),
    "steps of zero": (spoiled(steps=0), "steps"),
    "circumstances of text": (spoiled(circumstances="here"), "circumstances"),
    "circumstances with more": (spoiled(circumstances={**asdict(HERE), "x": 1}), "circumstances"),
}


def test_hostile_files_are_refused_in_one_sentence(tmp_path):
    for text, message in HOSTILE.values():
        path = tmp_path / "wisdom.json"
        path.write_text(text)
        with pytest.raises(UsageError, match=message) as caught:
            wisdom.read_document(path)
        assert len(str(caught.value)) < 600
        assert wisdom.load() == ()


def test_files_that_are_missing_or_too_large(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        wisdom.read_document(tmp_path / "none.json")
    with pytest.raises(UsageError, match="cannot be read"):
        wisdom.read_document(tmp_path)
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(2**24 + 1)
    with pytest.raises(UsageError, match="at most 16 MiB"):
        wisdom.read_document(large)


def test_hostile_records_in_the_store_itself_are_skipped(private_store):
    from tilewright.runtime.store import folder as store

    wisdom.remember([entry()])
    path = private_store / "wisdom.jsonl"
    for text, _ in list(HOSTILE.values())[-12:]:
        for record in json.loads(text)["entries"]:
            if record.get("seconds") != float("inf"):
                store.append(path, record)
    assert wisdom.load() == (entry(),)
