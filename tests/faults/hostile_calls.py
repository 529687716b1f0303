"""Hostile arguments of calls from Python: points, boundaries, waves, ranks, farms and labelled arrays, by area."""

import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw

from . import hostile_disk
from .hostile_disk import FIXED, GRID, HUGE, ODD, SPEEDS, Case, called, growth

# --- points -------------------------------------------------------------------------------------------------------


def points() -> Iterator[Case]:
    """Sources and receivers that are nowhere, or no numbers."""
    far = [
        *((x, 3.0) for x in (*HUGE, float("nan"), float("inf"), -0.5, 19.01, 1e-400 - 1)),
        (3.0, 15.5),
        (3.0,),
        (3.0, 3.0, 3.0),
    ]
    for each in far:
        yield f"a receiver at {each}", _received([each]), None
        yield f"a source at {each}", _sourced([each], 1.0), None
    for each in ODD:
        yield f"coordinates {each!r:.40}", _received(each), None
        yield f"values {each!r:.40}", _sourced([(3.0, 3.0)], each), ...
        yield f"receivers {each!r:.40}", _pointed(receivers=each), ...
        yield f"sources {each!r:.40}", _pointed(sources=each), ...
        yield f"spacing {each!r:.40}", _received([(3.0, 3.0)], spacing=each), ...
        yield f"scale {each!r:.40}", _sourced([(3.0, 3.0)], 1.0, scale=each), ...
        yield f"interpolation {each!r:.40}", _received([(3.0, 3.0)], interpolation=each), ...
        yield f"every {each!r:.40}", _received([(3.0, 3.0)], every=each), ...
    for count in (5000, 50_000):
        far_away = np.full((count, 2), 3.0)
        far_away[-1] = 99.0
        yield f"{count} points, one outside", _received(far_away), None
        many = np.full((count, 2), 3.25)
        yield f"{count} points in one place", _received(many), ...
    for shape in ((0,), (2,), (4,), (3, 2), (3, 1, 1), (1, 3), (0, 1)):
        yield f"values of shape {shape}", _sourced([(3.0, 3.0)], np.ones(shape)), ...
    yield (
        "points of a field that is none",
        _pointed(receivers={"w": tw.Points([(1, 1)])}),
        None,
    )
    yield (
        "a mapping of a mapping",
        _pointed(receivers={"u": {"u": tw.Points([(1, 1)])}}),
        None,
    )
    yield (
        "receivers with values",
        _pointed(receivers=tw.Points([(1, 1)], values=1.0)),
        None,
    )
    yield "sources without values", _pointed(sources=tw.Points([(1, 1)])), None
    for pair in (((1, 1), None), ((1,), 1.0), ((99, 1), 1.0), ((-1, 1), 1.0), ((1.5, 1), 1.0), ("ab", 1.0), (3, 1.0)):
        yield f"a cell and a value {pair}", _pointed(sources=[pair]), ...


def _pointed(**options: Any) -> Callable[[Path], Any]:
    return called(tw.run, "heat2d", GRID, **FIXED, **options)


def _received(coordinates: Any, **options: Any) -> Callable[[Path], Any]:
    return lambda _: tw.run("heat2d", GRID, receivers=tw.Points(coordinates, **options), **FIXED)


def _sourced(coordinates: Any, values: Any, **options: Any) -> Callable[[Path], Any]:
    return lambda _: tw.run("heat2d", GRID, sources=tw.Points(coordinates, values, **options), **FIXED)


# --- boundaries ---------------------------------------------------------------------------------------------------


def boundaries() -> Iterator[Case]:
    """Boundaries that are none, and values along sides that do not fit."""
    for text in (
        "constant:",
        "constant:x",
        "constant:1:2",
        "constant:nan",
        "constant:1e999",
        "robin",
        "robin:1",
        "robin:1:2:3",
        "robin:a:b",
        "dirichlet:1j",
        "neumann:--1",
        "wrap:1",
        "fixed,fixed,fixed",
        "wrap/fixed",
        ":",
        "/",
        ",",
        "=",
        "u=",
        "u=wrap;u=fixed",
        "u=v=wrap",
        "wrap;",
        "fixed\nfixed",
        "x" * 50_000,
        "constant:" + "9" * 5000,
        "constant:1e-999",
        "\0",
        "a/b/c",
        "u=wrap,fixed/wrap",
    ):
        yield f"text {text[:30]!r}", _bounded(text), ...
    for each in ODD:
        yield f"boundary {each!r:.40}", _bounded(each), ...
        for kind in ("constant", "dirichlet", "neumann", "robin"):
            yield f"{kind} of {each!r:.40}", _bounded((kind, each)), ...
        yield f"factor {each!r:.40}", lambda _, each=each: _bounded(tw.Boundary("robin", 1.0, each))(_), ...
    for shape in ((2,), (3,), (4,), (1, 16), (20, 1), (20, 16), (1, 15), (1, 1, 1), (0,), (1, 0)):
        for kind in ("constant", "dirichlet", "robin"):
            yield f"{kind} of shape {shape}", _bounded(tw.Boundary(kind, np.ones(shape))), ...
    for kind in (None, 3, "", "Fixed ", b"wrap", ["wrap"]):
        yield f"kind {kind!r}", lambda _, kind=kind: _bounded(tw.Boundary(kind))(_), ...


def _bounded(spec: Any) -> Callable[[Path], Any]:
    def call(_folder: Path) -> Any:
        given = tw.Boundary(*spec) if isinstance(spec, tuple) and len(spec) == 2 and isinstance(spec[0], str) else spec
        return tw.run("heat2d", GRID, boundary=given, **FIXED)

    return call


# --- layers and models of waves -----------------------------------------------------------------------------------


def waves() -> Iterator[Case]:
    """Layers as texts, models, and shots."""
    from tilewright.waves.layers import parse_layers

    for text in (
        "cpml",
        "cpml:",
        "cpml:x",
        "cpml:-1",
        "cpml:0",
        "cpml:1e999",
        "cpml:9" + "9" * 5000,
        "sponge:1.5",
        "free:3",
        "free/free/free",
        "cpml:20,cpml:20,cpml:20,cpml:20,cpml:20",
        "",
        ",",
        "/",
        ":",
        "none:1",
        "none,",
        "\0",
        "cpml:20\n",
        "x" * 50_000,
        "CPML:20 ",
        "cpml:20/",
        "/cpml:20",
        "cpml:2:3",
        "$(touch PWNED)",
        "sponge:nan",
        "free,free",
        "sponge:20;sponge:20",
        "cpml:0x10",
        "cpml:２０",
    ):
        yield f"layers {text[:30]!r}", lambda _, text=text: _shot(layers=parse_layers(text)), ...
    for each in ODD:
        for name in (
            "time",
            "frequency",
            "time_step",
            "space_order",
            "layers",
            "every",
            "interpolation",
            "dtype",
            "wavelet",
            "threads",
        ):
            yield f"{name} {each!r:.40}", lambda _, name=name, each=each: _shot(**{name: each}), ...
        yield f"a source {each!r:.40}", lambda _, each=each: _shot(source=each), ...
        yield f"receivers {each!r:.40}", lambda _, each=each: _shot(receivers=each), ...
        yield f"speeds {each!r:.40}", called(tw.waves.Model, each, spacing=10.0), ...
        yield f"spacing {each!r:.40}", called(tw.waves.Model, SPEEDS, spacing=each), ...
        yield (
            f"density {each!r:.40}",
            called(tw.waves.Model, SPEEDS, spacing=10.0, density=each),
            ...,
        )
        yield f"shear {each!r:.40}", called(tw.waves.Model, SPEEDS, spacing=10.0, shear=each), ...
    for value in (0.0, -1.0, np.nan, np.inf, 1e300, 1e-300):
        model = SPEEDS.copy()
        model[3, 3] = value
        yield f"a speed of {value}", lambda _, model=model: _shot(model=model), ...
    for time in (1e300, 1e12, -1.0):
        yield f"a time of {time}", lambda _, time=time: _shot(time=time), ...


def _shot(model: Any = None, source: Any = (50.0, 150.0), receivers: Any = ((20.0, 100.0),), **options: Any) -> Any:
    speeds = SPEEDS if model is None else model
    given = {"time": 0.01, "frequency": 15.0, "layers": None, **options}
    if "wavelet" in options:
        given.pop("frequency")
    return tw.waves.shot(tw.waves.Model(speeds, spacing=10.0), source, receivers, **given)


# --- ranks --------------------------------------------------------------------------------------------------------


def ranks() -> Iterator[Case]:
    """Arrays over ranks: shapes, element types, topologies, and predictions of clusters."""

    def made(**options: Any) -> Callable[[Path], Any]:
        def call(_folder: Path) -> Any:
            from mpi4py import MPI

            given = {"shape": (20, 16), "dtype": "float32", "comm": MPI.COMM_SELF, **options}
            shape, dtype = given.pop("shape"), given.pop("dtype")
            return tw.distributed.Array(shape, dtype, **given)

        return call

    for each in (*ODD, (2, 2), (0, 1), (-1, 0), (1,), (1, 1, 1), (1, "1"), (1.5, 1), (2**70, 1), (-1, -2), "11"):
        yield f"a topology {each!r:.40}", made(topology=each), ...
        yield f"a shape {each!r:.40}", made(shape=each), ...
    for each in (*ODD, "float", "f4,f4", ">f4", "O", "S3"):
        yield f"an element type {each!r:.40}", made(dtype=each), ...
    for each in ODD:
        yield f"scattered {each!r:.40}", lambda _, each=each: made()(_).scatter(each), ...
        yield f"read {each!r:.40}", lambda _, each=each: made()(_).read(each), None
        yield f"written {each!r:.40}", lambda _, each=each: made()(_).write(each), None
        yield (
            f"a checkpoint {each!r:.40}",
            lambda _, each=each: tw.run("heat2d", made()(_), checkpoint=each, **FIXED),
            ...,
        )
        yield f"a network {each!r:.40}", called(_cluster, network=each), ...
        yield f"{each!r:.40} ranks", called(_cluster, ranks=each), ...
    for what, change in _CHECKPOINTS.items():
        yield f"a checkpoint {what}", _went_on(change), ...


def _kept(array: Any, place: Any) -> Any:
    return tw.run("heat2d", array, checkpoint=place, **FIXED)


def _cluster(**options: Any) -> Any:
    given = {"shape": (512, 512), "steps": 10, "machine": "zen3", "ranks": 4, "network": "ndr", **options}
    return tw.predict("heat2d", **given)


def _went_on(change: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def call(folder: Path) -> Any:
        from mpi4py import MPI

        state = folder / "state"
        array = tw.distributed.Array(GRID.shape, GRID.dtype, comm=MPI.COMM_SELF).scatter(GRID)
        options = {**FIXED, "checkpoint": state, "every": 2, "receivers": tw.Points([(3.5, 3.0)])}
        tw.run("heat2d", array, **{**options, "steps": 9})
        change(state)
        return tw.run("heat2d", array, **{**options, "steps": 9}, resume=True)

    return call


def _one(folder: Path, pattern: str) -> Path:
    return next(folder.glob(pattern))


_CHECKPOINTS: dict[str, Callable[[Path], Any]] = {
    "without its state": lambda state: shutil.rmtree(_one(state, "state-*")),
    "whose state is a file": lambda state: (
        shutil.rmtree(_one(state, "state-*")),
        (state / "state-8.zarr").write_text("x"),
    ),
    "whose state has no metadata": lambda state: (_one(state, "state-*") / "zarr.json").unlink(),
    "whose metadata is noise": lambda state: (_one(state, "state-*") / "zarr.json").write_bytes(b"\xff"),
    "without a topology": lambda state: _attribute(state, None),
    "of another topology": lambda state: _attribute(state, [3, 5]),
    "of a topology of texts": lambda state: _attribute(state, ["a", {}]),
    "of a topology of 0": lambda state: _attribute(state, [0, 0]),
    "of a huge topology": lambda state: _attribute(state, [2**62, 2**62]),
    "whose chunk is cut": lambda state: hostile_disk.cut_chunk(None)(_one(state, "state-*")),
    "whose chunk is noise": lambda state: hostile_disk.cut_chunk(b"\xa5" * 40)(_one(state, "state-*")),
    "of other axes": lambda state: _shaped(state, (1, 1, 3)),
    "of more ranks": lambda state: _shaped(state, (9, 1, 3, 3)),
    "without traces": lambda state: _one(state, "trace-*").unlink(),
    "whose traces are cut": lambda state: _one(state, "trace-*").write_bytes(_one(state, "trace-*").read_bytes()[:-8]),
    "whose traces are others": lambda state: np.save(_one(state, "trace-*"), np.zeros((2, 7))),
    "whose traces are texts": lambda state: np.save(_one(state, "trace-*"), np.array(["a"])),
    "whose journal is noise": lambda state: (state / "journal.json").write_bytes(b"\xff\x00"),
    "whose journal is deep": lambda state: (state / "journal.json").write_text("[" * 100_000),
    "whose journal is beyond the run": lambda state: _done(state, 10**6),
    "whose journal is of no step that is kept": lambda state: _done(state, 3),
    "whose journal is a folder": lambda state: ((state / "journal.json").unlink(), (state / "journal.json").mkdir()),
}


def _attribute(state: Path, value: Any) -> None:
    place = _one(state, "state-*") / "zarr.json"
    data = json.loads(place.read_text())
    data["attributes"] = {} if value is None else {"topology": value}
    place.write_text(json.dumps(data))


def _shaped(state: Path, shape: tuple[int, ...]) -> None:
    import zarr

    place = _one(state, "state-*")
    array = zarr.create_array(store=str(place), shape=shape, dtype="float32", chunks=shape, overwrite=True)
    array.attrs["topology"] = [1, 1]


def _done(state: Path, done: int) -> None:
    place = state / "journal.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"done": done}))


# --- farms --------------------------------------------------------------------------------------------------------


class Lying(Executor):
    """An executor that answers with something of its own."""

    def __init__(self, answer: Any, first: Any = ...) -> None:
        self._answer, self._first, self._asked = answer, first, 0

    def submit(self, work: Any, /, *given: Any, **named: Any) -> Any:
        """Answer."""
        self._asked += 1
        answer = self._answer if self._first is ... or self._asked > 1 else self._first
        if answer is Future:
            return object()
        future: Future[Any] = Future()
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(work(*given, **named) if answer is call else answer)
        return future


def call() -> None:
    """Stand for an answer that is right."""


def farms() -> Iterator[Case]:
    """Executors that are none, that answer with something else, or that fail."""
    from tilewright.verbs.tuning.farm import here
    from tilewright.verbs.tuning.meter import Answer

    def tuned(executor: Any) -> Callable[[Path], Any]:
        options = {"shape": (64, 64), "steps": 4, "effort": "quick", "threads": 1}
        return lambda _: tw.tune("heat2d", executor=executor, **options)

    for each in ODD[1:]:
        yield f"an executor {each!r:.40}", tuned(each), ...
        yield f"a node {each!r:.40}", tuned(Lying(each)), None
        yield f"an answer {each!r:.40}", tuned(Lying(each, call)), ...
    for error in (RuntimeError("\n" * 50), OSError(), KeyError("x"), MemoryError(), RecursionError("deep"), EOFError()):
        yield f"a node that fails by {error!r:.20}", tuned(Lying(error)), None
        yield f"an answer that fails by {error!r:.20}", tuned(Lying(error, call)), ...
    yield "no futures", tuned(Lying(Future)), None
    yield "answers without measurements", tuned(Lying(Answer(node=here(), measurements=()), call)), ...
    yield "answers of texts", tuned(Lying(Answer(node="x", measurements=("x",)), call)), ...  # type: ignore[arg-type]


# --- labelled arrays ----------------------------------------------------------------------------------------------


def labelled() -> Iterator[Case]:
    """Arrays of xarray's with odd dimensions, coordinates and values."""

    def ran(make: Callable[[Any], Any], **options: Any) -> Callable[[Path], Any]:
        def call(_folder: Path) -> Any:
            import xarray

            import tilewright.xarray  # noqa: F401

            return make(xarray).tw.run("heat2d", **{**FIXED, **options})

        return call

    def plain(xarray: Any) -> Any:
        return xarray.DataArray(GRID, dims=("y", "x"), coords={"y": np.arange(20.0)})

    for each in (*ODD, ("y",), ("y", "y"), ("x", "z"), ("y", "x", "y"), "yx", ("a", "b")):
        yield f"dims {each!r:.40}", ran(plain, dims=each), ...
        yield f"boundary {each!r:.40}", ran(plain, boundary={"y": each}), ...
        yield f"where {each!r:.40}", ran(plain, where=each), ...
    for dtype in ("<U3", "M8[s]", "O", "bool", "m8[s]"):
        yield f"values of {dtype}", ran(lambda xarray, dtype=dtype: plain(xarray).astype(dtype)), ...
    yield "dimensions of numbers", ran(lambda xarray: xarray.DataArray(GRID, dims=(1, 2))), ...
    yield "a dimension of no cells", ran(lambda xarray: plain(xarray).isel(y=slice(0, 0))), ...
    yield "one dimension", ran(lambda xarray: plain(xarray).isel(y=0)), None
    yield "coordinates that differ", _coordinates, None
    yield "a dataset", lambda _: _dataset(), ...
    yield "coordinates that are not finite, saved", _odd_coordinates, ...


def _odd_coordinates(folder: Path) -> Any:
    import xarray

    array = xarray.DataArray(GRID, dims=('y"\n', "x>"), coords={"x>": np.full(16, np.nan)})
    for ending in (".vti", ".h5", ".zarr"):
        tw.run("heat2d", array, out=folder / f"u{ending}", every=1, **FIXED)
    return tw.run("heat2d", array, **FIXED).values


def _coordinates(_folder: Path) -> Any:
    import xarray

    import tilewright.xarray  # noqa: F401

    one = xarray.DataArray(GRID, dims=("y", "x"), coords={"y": np.arange(20.0)})
    return one.tw.run(growth, one.assign_coords(y=np.arange(20.0) + 1), **FIXED)


def _dataset() -> Any:
    import xarray

    return tw.run("heat2d", xarray.Dataset({"u": (("y", "x"), GRID)}), **FIXED)


AREAS: dict[str, Callable[[], Iterator[Case]]] = {
    "zarr stores": hostile_disk.zarr_stores,
    "files of arrays": hostile_disk.npy_files,
    "states": hostile_disk.states,
    "passes over the disk": hostile_disk.passes,
    "points": points,
    "boundaries": boundaries,
    "waves": waves,
    "ranks": ranks,
    "farms": farms,
    "labelled arrays": labelled,
}
