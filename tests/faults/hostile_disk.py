"""Hostile files behind calls from Python: zarr stores, files of NumPy's, series of states, journals, checkpoints.

Every case is a call that has to end in one sentence of the package's own, or in a value.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw

Case = tuple[str, Callable[[Path], Any], Any]
"""A name, a call in an empty folder, and the value that it may have; None where it has to be refused."""
GRID = np.linspace(0.0, 1.0, 20 * 16, dtype=np.float32).reshape(20, 16)
SPEEDS = np.full((20, 30), 2000.0)
FIXED = {"steps": 3, "backend": "numpy", "threads": 1}
HUGE = (10**19, -(10**19), 2**63 - 1, -(2**63), 2**31, 1e300, -1e300)
ODD: tuple[Any, ...] = (
    None,
    True,
    b"x",
    "x",
    "",
    {},
    [],
    (),
    [[]],
    object(),
    lambda *_: 0,
    1j,
    float("nan"),
    float("inf"),
    -1,
    1.5,
    np.array([]),
    np.array(["a", "b"]),
    np.array([object()], dtype=object),
    np.datetime64("2020-01-01"),
)
"""What is no number, no array and no text that anything expects."""


def called(call: Callable[..., Any], *values: Any, **options: Any) -> Callable[[Path], Any]:
    return lambda _folder: call(*values, **options)


# --- zarr --------------------------------------------------------------------------------------------------------


def _store(folder: Path, values: np.ndarray = GRID, **options: Any) -> Path:
    import zarr

    path = folder / "in.zarr"
    options = {"chunks": (6, 16), "compressors": None, **options}
    array = zarr.create_array(store=str(path), shape=values.shape, dtype=values.dtype, **options)
    array[...] = values
    return path


def _spoilt(change: Callable[[Path], Any], **options: Any) -> Callable[[Path], Any]:
    """A run from a store after a change of its files."""

    def call(folder: Path) -> Any:
        path = _store(folder, **options)
        change(path)
        return tw.run("heat2d", path, out=folder / "out.npy", **FIXED)

    return call


def _metadata(**fields: Any) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        place = path / "zarr.json"
        data = json.loads(place.read_text())
        for name, value in fields.items():
            if value is KeyError:
                data.pop(name)
            else:
                data[name] = value
        place.write_text(json.dumps(data))

    return change


def cut_chunk(data: bytes | None, number: int = 0) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        place = sorted(each for each in (path / "c").rglob("*") if each.is_file())[number]
        if data is None:
            place.write_bytes(place.read_bytes()[:-4])
        else:
            place.write_bytes(data)

    return change


def _text(data: bytes) -> Callable[[Path], None]:
    return lambda path: (path / "zarr.json").write_bytes(data)


def _folder_for_chunk(path: Path) -> None:
    place = min(each for each in (path / "c").rglob("*") if each.is_file())
    place.unlink()
    place.mkdir()


def _loop_for_chunk(path: Path) -> None:
    place = min(each for each in (path / "c").rglob("*") if each.is_file())
    place.unlink()
    place.symlink_to(place.name)


def zarr_stores() -> Iterator[Case]:
    """Stores whose metadata or chunks are wrong."""
    fields: dict[str, tuple[Any, ...]] = {
        "shape": (
            KeyError,
            [20],
            [20, 16, 3],
            [-20, 16],
            [0, 16],
            [2**62, 16],
            ["a", 16],
            "20x16",
            None,
            [20.5, 16],
            [20, 17],
        ),
        "data_type": (KeyError, "string", "nothing", "int64x", {"name": "struct"}, 7, None, "r64", "bool"),
        "codecs": (
            KeyError,
            [],
            [{"name": "nothing"}],
            "gzip",
            [{"name": "gzip"}],
            None,
            [{"name": "bytes"}] * 2,
            [{"name": "bytes", "configuration": {"endian": "middle"}}],
            [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {}}],
            [
                {"name": "bytes", "configuration": {"endian": "little"}},
                {"name": "blosc", "configuration": {"typesize": -3}},
            ],
        ),
        "chunk_grid": (
            KeyError,
            {},
            {"name": "regular"},
            {"name": "irregular"},
            "regular",
            {"name": "regular", "configuration": {"chunk_shape": [0, 16]}},
            {"name": "regular", "configuration": {"chunk_shape": [-6, 16]}},
            {"name": "regular", "configuration": {"chunk_shape": [6]}},
            {"name": "regular", "configuration": {"chunk_shape": ["6", 16]}},
        ),
        "chunk_key_encoding": (KeyError, {"name": "nothing"}, 3),
        "fill_value": (KeyError, "x", [], {}, None),
        "zarr_format": (KeyError, 1, 4, "3", None),
        "node_type": (KeyError, "group", "nothing", 3),
        "storage_transformers": ([{"name": "nothing"}], 3),
        "dimension_names": (["a"], 5),
    }
    for name, values in fields.items():
        for value in values:
            yield f"{name} {value!r:.50}", _spoilt(_metadata(**{name: value})), ...
    for what, data in {
        "empty": b"",
        "not JSON": b"{",
        "deep": b"[" * 100_000,
        "a list": b"[]",
        "null": b"null",
        "noise": b"\xff\xfe\x00" * 99,
        "a number": b"9" * 5000,
    }.items():
        yield f"metadata {what}", _spoilt(_text(data)), None
    zstd = {"compressors": [{"name": "zstd", "configuration": {"level": 0, "checksum": False}}]}
    gzip = {"compressors": [{"name": "gzip", "configuration": {"level": 1}}]}
    crc = {"compressors": [{"name": "gzip", "configuration": {"level": 1}}, {"name": "crc32c"}]}
    for label, options in {"plain": {}, "zstd": zstd, "gzip": gzip, "crc32c": crc}.items():
        for what, data in {"empty": b"", "short": None, "noise": b"\xa5" * 100, "long": b"\x00" * 100_000}.items():
            yield f"{label} chunk {what}", _spoilt(cut_chunk(data), **options), None
        yield f"{label} last chunk short", _spoilt(cut_chunk(None, -1), **options), None
    yield "a folder for a chunk", _spoilt(_folder_for_chunk), ...
    yield "a chunk that is a link to itself", _spoilt(_loop_for_chunk), None
    yield "no metadata", _spoilt(lambda path: (path / "zarr.json").unlink()), None
    yield "a store that is a file", _spoilt(lambda path: (shutil.rmtree(path), path.write_bytes(b"x"))), None
    yield (
        "a store that is a link to itself",
        _spoilt(lambda path: (shutil.rmtree(path), path.symlink_to(path.name))),
        None,
    )
    for dtype in ("<U3", "M8[s]", "bool", "S4"):
        yield f"texts and times {dtype}", _zarr_of(dtype), ...

    def group(folder: Path) -> Any:
        import zarr

        zarr.open_group(str(folder / "in.zarr"), mode="w")
        return tw.run("heat2d", folder / "in.zarr", out=folder / "out.npy", **FIXED)

    yield "a group", group, None
    yield "a result in a store that is read-only", _read_only, None


def _zarr_of(dtype: str) -> Callable[[Path], Any]:
    def call(folder: Path) -> Any:
        values = np.zeros((20, 16)).astype(dtype)
        return tw.run("heat2d", _store(folder, values), out=folder / "out.npy", **FIXED)

    return call


def _read_only(folder: Path) -> Any:
    import zarr

    path = _store(folder)
    return tw.run("heat2d", path, out=zarr.open_array(str(path), mode="r"), **FIXED)


# --- files of arrays ----------------------------------------------------------------------------------------------


def npy_files() -> Iterator[Case]:
    """Files of NumPy's whose header or length is wrong, and targets that cannot be written."""

    def changed(change: Callable[[bytes], bytes]) -> Callable[[Path], Any]:
        def call(folder: Path) -> Any:
            np.save(folder / "in.npy", GRID)
            data = (folder / "in.npy").read_bytes()
            (folder / "in.npy").write_bytes(change(data))
            return tw.run("heat2d", folder / "in.npy", out=folder / "out.npy", **FIXED)

        return call

    for what, change in {
        "empty": lambda _: b"",
        "cut": lambda data: data[:-1],
        "half": lambda data: data[: len(data) // 2],
        "no values": lambda data: data[:128],
        "magic": lambda data: b"\x94" + data[1:],
        "version": lambda data: data[:6] + b"\x09" + data[7:],
        "header": lambda data: data[:10] + b"{" * 100 + data[110:],
        "code": lambda data: data.replace(b"'<f4'", b"exit("),
        "objects": lambda data: data.replace(b"'<f4'", b"'|O' "),
        "texts": lambda data: data.replace(b"'<f4'", b"'<U1'"),
        "negative": lambda data: data.replace(b"(20, 16)", b"(-2, 16)"),
        "other shape": lambda data: data.replace(b"(20, 16)", b"(99, 16)"),
        "huge": lambda data: data.replace(b"(20, 16)", b"(9**99,)"),
        "no shape": lambda data: data.replace(b"'shape'", b"'shade'"),
        "one axis": lambda data: data.replace(b"(20, 16)", b"(320,)  "),
        "by columns": lambda data: data.replace(b"False", b"True "),
    }.items():
        yield what, changed(change), ...
    for out in (
        "nowhere/out.npy",
        "out.txt",
        "",
        "a\0b.npy",
        "x" * 400 + ".npy",
        "in.npy",
        "/dev/full",
        "/proc/1/out.npy",
    ):
        yield f"a result in {out[:20]!r}", _writing(out), ...
    for memory in ("", "8 apples", -1, 0, 1, "1e999", None, 3.5, "9" * 400, True, "nan", [], "8GiB\n"):
        yield f"memory {memory!r:.30}", _writing("out.npy", memory=memory), ...
    yield "resume of nothing", _writing("out.npy", resume=True), ...


def _writing(out: str, **options: Any) -> Callable[[Path], Any]:
    def call(folder: Path) -> Any:
        np.save(folder / "in.npy", GRID)
        place = folder / out if out and not out.startswith("/") else out
        return tw.run("heat2d", folder / "in.npy", out=place, **FIXED, **options)

    return call


# --- states of runs -----------------------------------------------------------------------------------------------


def states() -> Iterator[Case]:
    """Series of states that were spoilt: HDF5, zarr, and names of such files."""
    for ending in (".h5", ".zarr"):
        for what, change in _STATES.items():
            yield f"{ending} {what}", _loaded(ending, change, append=False), ...
            yield f"{ending} {what}, gone on", _loaded(ending, change, append=True), ...
    for path in ("u.npz", "", "u", "nowhere/u.h5", "u.vti", "/dev/null", "a\0b.h5", ".h5", "x" * 300 + ".zarr"):
        yield f"load {path[:20]!r}", called(tw.load, path), None
        yield (
            f"save {path[:20]!r}",
            lambda folder, path=path: tw.run("heat2d", GRID, out=str(folder / path), every=1, **FIXED),
            ...,
        )
    for each in ODD:
        yield f"load {each!r:.30}", called(tw.load, each), None
        yield f"record {each!r:.30}", lambda folder, each=each: _saved(folder, ".h5").at(each), ...


def _written(path: str) -> Callable[[Path], Any]:
    return lambda folder: tw.run("heat2d", GRID, out=str(folder / path), every=1, **FIXED)


def _saved(folder: Path, ending: str) -> Any:
    path = folder / f"u{ending}"
    tw.run("heat2d", GRID, out=path, every=1, **FIXED)
    return tw.load(path)


def _loaded(ending: str, change: Callable[[Path], Any], *, append: bool) -> Callable[[Path], Any]:
    def call(folder: Path) -> Any:
        _saved(folder, ending)
        path = folder / f"u{ending}"
        change(path)
        if append:
            return tw.run("heat2d", GRID, out=path, every=1, **{**FIXED, "steps": 6}, resume=True)
        found = tw.load(path)
        repr(found)
        return tw.run("heat2d", *found.state, **FIXED)

    return call


def _group(work: Callable[[Any], Any]) -> Callable[[Path], None]:
    """A change of a file's contents, by the interface that h5py and zarr share."""

    def change(path: Path) -> None:
        if path.suffix == ".h5":
            import h5py

            with h5py.File(path, "r+") as file:
                work(file)
        else:
            import zarr

            work(zarr.open_group(str(path), mode="r+"))

    return change


def _put(group: Any, name: str, values: Any) -> None:
    del group[name]
    group.create_array(name, data=values) if hasattr(group, "create_array") else group.create_dataset(name, data=values)


def _bytes(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def changed(path: Path) -> None:
        place = path if path.is_file() else path / "zarr.json"
        place.write_bytes(change(place.read_bytes()))

    return changed


_STATES: dict[str, Callable[[Path], Any]] = {
    "empty": _bytes(lambda _: b""),
    "cut": _bytes(lambda data: data[: len(data) // 2]),
    "noise": _bytes(lambda data: data[:300] + b"\xa5" * 600 + data[900:]),
    "noise at the start": _bytes(lambda data: b"\xff" * 50 + data[50:]),
    "no steps": _group(lambda group: group.__delitem__("step")),
    "no values": _group(lambda group: group.__delitem__("u")),
    "steps are none": _group(lambda group: _put(group, "step", np.zeros(0, np.int64))),
    "steps of two axes": _group(lambda group: _put(group, "step", np.zeros((4, 2), np.int64))),
    "steps are fractions": _group(lambda group: _put(group, "step", np.linspace(0, 1, 4))),
    "more steps than records": _group(lambda group: _put(group, "step", np.arange(99))),
    "steps below 0": _group(lambda group: _put(group, "step", -np.arange(4))),
    "values of another shape": _group(lambda group: _put(group, "u", np.zeros((4, 3, 3)))),
    "values of one axis": _group(lambda group: _put(group, "u", np.zeros(4))),
    "values are texts": _group(lambda group: _put(group, "u", np.array([b"a", b"b", b"c", b"d"]))),
    "no records": _group(lambda group: group.attrs.__delitem__("records")),
    "no fields": _group(lambda group: group.attrs.__delitem__("fields")),
    "fields are a number": _group(lambda group: group.attrs.__setitem__("fields", 7)),
    "fields of another program": _group(lambda group: group.attrs.__setitem__("fields", "v w")),
    "no field": _group(lambda group: group.attrs.__setitem__("fields", "")),
    "records are a number": _group(lambda group: group.attrs.__setitem__("records", 5)),
    "records are none": _group(lambda group: group.attrs.__setitem__("records", "[]")),
    "records are others": _group(lambda group: group.attrs.__setitem__("records", '["w"]')),
    "records are deep": _group(lambda group: group.attrs.__setitem__("records", "[" * 60_000)),
    "a folder": lambda path: (shutil.rmtree(path) if path.is_dir() else path.unlink(), path.mkdir()),
    "a file": lambda path: (shutil.rmtree(path) if path.is_dir() else path.unlink(), path.write_bytes(b"x")),
    "gone": lambda path: shutil.rmtree(path) if path.is_dir() else path.unlink(),
}


# --- passes over the disk -----------------------------------------------------------------------------------------


def passes() -> Iterator[Case]:
    """Journals of runs from disk to disk, and folders for forward states."""
    for text in (
        "",
        "{",
        "null",
        "[]",
        "7",
        "[" * 100_000,
        '{"version": 1}',
        '{"version": 2, "run": "x", "steps": 1, "done": 0}',
        '{"version": 1, "run": "x", "steps": 1, "done": 0}',
        '{"version": 1, "run": [], "steps": 0, "done": 0}',
        '{"version": 1, "run": "x", "steps": 1e999, "done": 0}',
        '{"version": 1, "run": "x", "steps": true, "done": -1}',
        "\xff\0",
    ):
        yield f"a journal {text[:60]!r}", _resumed(text), ...
    for done in (1, 2, 99, 10**30, True):
        yield f"a journal of this run with {done} passes that are not there", _resumed(None, done), ...
    for each in ODD:
        yield f"states in {each!r:.40}", _gradient(disk=each), ...
        yield f"checkpoints {each!r:.40}", _gradient(checkpoints=each), ...
        yield f"memory {each!r:.40}", _gradient(memory=each), ...
    for place in ("nowhere", "in.npy", "/proc", "/dev/null", "\0", "x" * 5000, ""):
        yield f"states in {place[:20]!r}", lambda folder, place=place: _gradient(disk=place)(folder), ...


def _resumed(text: str | None, done: Any = 0) -> Callable[[Path], Any]:
    def call(folder: Path) -> Any:
        np.save(folder / "in.npy", GRID)
        own = folder / "out.npy.tilewright"
        own.mkdir()
        options = {**FIXED, "out": folder / "out.npy", "resume": True}
        if text is None:
            from tilewright.distributed import journal

            (own / "journal.json").write_text("{")
            known: list[str] = []
            original = journal.read

            def spied(place: Path) -> None:
                known.append(str(place))

            journal.read = spied  # type: ignore[assignment]
            try:
                tw.run("heat2d", folder / "in.npy", **options)
            finally:
                journal.read = original
            own.mkdir(exist_ok=True)
            (own / "journal.json").write_text(json.dumps({"version": 1, "run": "x", "steps": 1, "done": done}))
        else:
            (own / "journal.json").write_text(text, encoding="utf-8")
        return tw.run("heat2d", folder / "in.npy", **options)

    return call


@tw.stencil
def growth(u, k):
    """A field that a coefficient changes, so that its states are needed on the way back."""
    return u[0, 0] + k[0, 0] * (u[-1, 0] + u[1, 0] - 2 * u[0, 0])


def _gradient(**options: Any) -> Callable[[Path], Any]:
    def call(folder: Path) -> Any:
        before = Path.cwd()
        os.chdir(folder)
        try:
            _, pullback = tw.vjp(growth, GRID, 0.1 * GRID, **{**FIXED, "steps": 9}, **options)
            (found, _), _ = pullback(GRID)
            return found
        finally:
            os.chdir(before)

    return call
