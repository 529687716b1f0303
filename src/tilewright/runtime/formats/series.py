"""States of a run, one record after the other, in files that others read: zarr, HDF5, and VTK's image data.

A file of zarr or HDF5 has one variable per field and time level, named as in ``.npz`` files (``u``, ``u_prev``), with
the records along a first axis; ``step``, the steps done at each record; fields that no step changes, without that axis;
and attributes that say what was computed. ``step`` is written last, so that a record that was cut off is none, and
every file of a zarr group is replaced as a whole. A series takes the place of another with its first record. xarray
opens both. VTK's image data is a file per record and one more that lists them, for ParaView; no run goes on from it.
"""

import abc
import asyncio
import base64
import importlib.util
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from xml.sax.saxutils import quoteattr

import numpy as np

from tilewright.base.errors import ArrayError, UsageError, told
from tilewright.base.paths import replaced, replaced_folder
from tilewright.runtime.formats import journal
from tilewright.runtime.formats.codecs import check_codecs
from tilewright.runtime.memory import Array

STEP = "step"
_NEEDS = {".zarr": ("zarr", "zarr"), ".h5": ("h5py", "hdf5"), ".hdf5": ("h5py", "hdf5")}
_VTK_AXES = 3
_CUT_OFF = -1
ENDINGS = (*_NEEDS, ".vti")  # file name endings of series
_VTK = {
    "float32": "Float32", "float64": "Float64", "int8": "Int8", "int16": "Int16", "int32": "Int32", "int64": "Int64",
    "uint8": "UInt8", "uint16": "UInt16", "uint32": "UInt32",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What a series holds."""

    dims: tuple[str, ...]  # the grid's axes
    coords: Mapping[str, Array] = field(default_factory=dict)  # along axes, by name; shape (extent,)
    constant: Mapping[str, Array] = field(default_factory=dict)  # fields that no step changes, by name
    attrs: Mapping[str, Any] = field(default_factory=dict)  # what is said of the run: texts and numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A series that was read."""

    steps: Array  # steps done at every record; shape (records,)
    # by name, records along the first axis: arrays of zarr's, or NumPy's of HDF5 files
    values: Mapping[str, Any]
    layout: Layout  # what else it holds


class Series(Protocol):
    """Where states are written to."""

    def append(self, step: int, values: Mapping[str, Array]) -> None:
        """Write a record; raises an ArrayError where it cannot be."""


def is_series(path: object) -> bool:
    """Whether a value is a path whose ending is that of a series."""
    return isinstance(path, str | Path) and Path(path).suffix.lower() in ENDINGS


def check_series(path: Path) -> None:
    """Check before any computation that a series can be written."""
    ending = path.suffix.lower()
    library, extra = _NEEDS.get(ending, ("", ""))
    if library and importlib.util.find_spec(library) is None:
        raise UsageError(
            f"{path.name!r} needs {library}, which is not installed", f"install it: pip install 'tilewright[{extra}]'"
        )
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {str(path.parent)!r} for {path.name!r}", "create it first")
    if ending != ".zarr" and path.is_dir():
        raise UsageError(f"{str(path)!r} is a folder, where a file is to be written", "give another name")


def create(path: Path, layout: Layout, step: int, first: Mapping[str, Array]) -> Series:
    """Start a series with its first record, whose shapes and types all have, in place of what has its name."""
    check_series(path)
    for name, values in {**layout.constant, **first}.items():
        if values.dtype.kind not in "iufc":
            raise ArrayError(f"{name!r} holds {values.dtype}, which {path.name!r} cannot", "write a .npz file")
    if path.suffix.lower() == ".vti":
        if len(layout.dims) > _VTK_AXES:
            raise UsageError(
                f"VTK's image data has up to {_VTK_AXES} axes, got {len(layout.dims)}", "write .zarr or .h5"
            )
        images = _Vtk(path, layout, first)
        images.append(step, first)
        return images
    kind, replacing = (_Zarr, replaced_folder) if path.suffix.lower() == ".zarr" else (_Hdf5, replaced)
    with told(f"the series {str(path)!r} cannot be made"):
        journal.discard(path)
        with replacing(path) as target:
            try:
                kind.created(target, layout, first).add(step, first)
            finally:
                journal.discard(target)
        return kind(path)


def open_to_append(path: Path) -> Series:
    """Go on with a series."""
    check_series(path)
    if path.suffix.lower() == ".vti":
        raise UsageError("no run goes on from VTK's image data", "write .zarr or .h5")
    with told(f"{str(path)!r} is no series that a run wrote"):
        return _Zarr(path) if path.suffix.lower() == ".zarr" else _Hdf5(path)


def read(path: Path) -> Saved:
    """Read a series; the values of a zarr file as they are asked for."""
    check_series(path)
    if path.suffix.lower() == ".vti":
        raise UsageError(f"{path.name!r} is for ParaView and is not read back", "write .zarr or .h5 besides")
    if not path.exists():
        raise ArrayError(f"there is no file {str(path)!r}", "give the path of a series that a run wrote")
    with told(f"{str(path)!r} is no series that a run wrote"):
        saved = _Zarr(path).read() if path.suffix.lower() == ".zarr" else _Hdf5(path).read()
        _check(saved)
    if not len(saved.steps):
        raise ArrayError(f"{str(path)!r} has no complete record")
    return saved


def _complete_steps(steps: Array) -> Array:
    """Return the steps without the last one if its record was cut off, so that it holds what fills the array."""
    cut_off = (steps[-1:] < 0).any() or (np.diff(steps[-2:]) <= 0).any()
    return steps[:-1] if cut_off else steps


def _check(content: Saved) -> None:
    """Refuse steps and records that are none, with a sentence of why."""
    steps, records = content.steps, list(content.values.values())
    if steps.ndim != 1 or steps.dtype.kind not in "iu" or (steps < 0).any() or (np.diff(steps) < 0).any():
        raise ValueError("its steps are no whole numbers that grow")
    grid = records[0].shape[1:]
    for each in records:
        if each.shape[1:] != grid or len(grid) != len(content.layout.dims) or each.dtype.kind not in "iufc":
            raise ValueError("its records are no numbers on one grid")
        if each.shape[0] < len(steps):
            raise ValueError(f"it has {len(steps)} steps and {each.shape[0]} records")


class _Appending(abc.ABC):
    """A series of some format."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, step: int, values: Mapping[str, Array]) -> None:
        with told(f"a state cannot be written to {str(self._path)!r}"):
            self.add(step, values)

    @abc.abstractmethod
    def add(self, step: int, values: Mapping[str, Array]) -> None:
        """Write a record, or raise whatever the library does."""


class _Zarr(_Appending):
    """A group of zarr arrays; every record is a chunk or more."""

    def __init__(self, path: Path, group: Any = None) -> None:  # noqa: ANN401
        super().__init__(path)
        import zarr

        if group is None:
            check_codecs(*path.glob("*"))
        self._group: Any = group or zarr.open_group(_store(path), mode="r+", use_consolidated=False)

    @classmethod
    def created(cls, path: Path, layout: Layout, first: Mapping[str, Array]) -> "_Zarr":
        import zarr

        path.mkdir()
        group = zarr.create_group(_store(path), attributes={**layout.attrs, "records": sorted(first)})
        for name, values in {**layout.coords, **layout.constant}.items():
            dims = (name,) if name in layout.coords else layout.dims
            group.create_array(name, data=np.ascontiguousarray(values), dimension_names=dims)
        for name, values in first.items():
            group.create_array(
                name,
                shape=(0, *values.shape),
                chunks=(1, *_chunk(values)),
                dtype=values.dtype,
                dimension_names=(STEP, *layout.dims),
            )
        group.create_array(
            STEP, shape=(0,), chunks=(1024,), dtype="int64", fill_value=_CUT_OFF, dimension_names=(STEP,)
        )
        return cls(path, group)

    def add(self, step: int, values: Mapping[str, Array]) -> None:
        steps = self._group[STEP]
        count = len(_complete_steps(steps[...]))
        for name, each in values.items():
            array = self._group[name]
            array.resize((count + 1, *array.shape[1:]))  # in place of a record that was cut off
            array[count] = each
        steps.resize((count + 1,))
        steps[count] = step

    def read(self) -> Saved:
        attrs = dict(self._group.attrs)
        names = attrs.pop("records")
        values = {name: self._group[name] for name in names}
        dims = tuple(values[names[0]].metadata.dimension_names[1:])
        arrays = {name: each[...] for name, each in self._group.arrays() if name not in {*names, STEP}}
        layout = _layout(dims, arrays, attrs)
        return Saved(steps=_complete_steps(self._group[STEP][...]), values=values, layout=layout)


def _store(path: Path) -> Any:  # noqa: ANN401
    """Return zarr's store of a folder, in which every file is replaced as a whole, as not all its versions do."""
    from zarr.abc.store import Store as Base
    from zarr.storage import LocalStore

    class Store(LocalStore):
        async def _open(self, *_: Any, **__: Any) -> None:  # noqa: ANN401
            # Zarr's threads go on after Ctrl-C: they may not make a folder again that is gone.
            await Base._open(self)  # noqa: SLF001

        async def set(self, key: str, value: Any) -> None:  # noqa: ANN401
            await asyncio.to_thread(_put, self.root, key, value.to_bytes())

        async def set_if_not_exists(self, key: str, value: Any) -> None:  # noqa: ANN401
            if not await self.exists(key):
                await self.set(key, value)

    return Store(path)


def _put(root: Path, key: str, content: bytes) -> None:
    for folder in list(Path(key).parents)[-2::-1]:
        (root / folder).mkdir(exist_ok=True)
    with replaced(root / key, synchronize=False) as place:
        place.write_bytes(content)


class _Hdf5(_Appending):
    """A file of HDF5 with dimension scales; it is closed between records, and each is added as a whole."""

    @classmethod
    def created(cls, path: Path, layout: Layout, first: Mapping[str, Array]) -> "_Hdf5":
        import h5py

        path.touch()
        with journal.changed(path) as target, h5py.File(target, "w") as file:
            for name, value in layout.attrs.items():
                file.attrs[name] = value if isinstance(value, str | int | float) else json.dumps(value)
            file.attrs["records"] = json.dumps(sorted(first))
            scales = {STEP: file.create_dataset(STEP, (0,), "int64", maxshape=(None,), chunks=(1024,))}
            extents = dict(zip(layout.dims, next(iter(first.values())).shape, strict=True))
            for name, extent in extents.items():
                coordinates = layout.coords.get(name)
                scales[name] = file.create_dataset(name, data=np.arange(extent) if coordinates is None else coordinates)
            for name, scale in scales.items():
                scale.make_scale(name)
            for name, values in layout.constant.items():
                _attach_scales(file.create_dataset(name, data=values), layout.dims, scales)
            for name, values in first.items():
                shape, chunks = (0, *values.shape), (1, *_chunk(values))
                dataset = file.create_dataset(name, shape, values.dtype, maxshape=(None, *values.shape), chunks=chunks)
                _attach_scales(dataset, (STEP, *layout.dims), scales)
        return cls(path)

    def add(self, step: int, values: Mapping[str, Array]) -> None:
        import h5py

        with journal.changed(self._path) as target, h5py.File(target, "r+") as file:
            count = file[STEP].shape[0]
            for name, each in values.items():
                file[name].resize(count + 1, axis=0)
                file[name][count] = each
            file[STEP].resize(count + 1, axis=0)
            file[STEP][count] = step

    def read(self) -> Saved:
        import h5py

        journal.carry_out(self._path)
        with h5py.File(self._path, "r") as file:
            attrs = dict(file.attrs)
            names = json.loads(attrs.pop("records"))
            values = {name: file[name][...] for name in names}
            dims = tuple(dim.keys()[0] for dim in list(file[names[0]].dims)[1:])
            arrays = {name: file[name][...] for name in file if name not in {*names, STEP}}
            return Saved(steps=_complete_steps(file[STEP][...]), values=values, layout=_layout(dims, arrays, attrs))


def _attach_scales(dataset: Any, dims: Sequence[str], scales: Mapping[str, Any]) -> None:  # noqa: ANN401
    for axis, name in enumerate(dims):
        dataset.dims[axis].attach_scale(scales[name])


def _layout(dims: tuple[str, ...], arrays: Mapping[str, Array], attrs: Mapping[str, Any]) -> Layout:
    coords = {name: values for name, values in arrays.items() if name in dims}
    constant = {name: values for name, values in arrays.items() if name not in dims}
    return Layout(dims=dims, coords=coords, constant=constant, attrs=attrs)


_CHUNK_CELLS = 2**22


def _chunk(values: Array) -> tuple[int, ...]:
    """Whole rows of the grid, as many as a chunk holds."""
    row = max(1, values[:1].size)
    return (max(1, min(len(values), _CHUNK_CELLS // row)), *values.shape[1:])


class _Vtk(_Appending):
    """Files of VTK's XML image data, and a collection that gives each its step as a time."""

    def __init__(self, path: Path, layout: Layout, first: Mapping[str, Array]) -> None:
        for name, values in first.items():
            if values.dtype.name not in _VTK:
                raise ArrayError(f"{name!r} holds {values.dtype}, which VTK has no name for", "write .zarr or .h5")
        super().__init__(path)
        self._layout, self._written = layout, list[tuple[int, str]]()

    def add(self, step: int, values: Mapping[str, Array]) -> None:
        target = self._path.with_stem(f"{self._path.stem}-{step:06d}")
        with replaced(target) as place:
            place.write_text(image_data(values, self._layout), encoding="ascii", errors="xmlcharrefreplace")
        self._written.append((step, target.name))
        entries = "\n".join(
            f'    <DataSet timestep="{number}" file={quoteattr(name)}/>' for number, name in self._written
        )
        text = (
            f'<?xml version="1.0"?>\n<VTKFile type="Collection" version="1.0">\n  <Collection>\n{entries}\n'
            "  </Collection>\n</VTKFile>\n"
        )
        with replaced(self._path.with_suffix(".pvd")) as place:
            place.write_text(text, encoding="utf-8")


def image_data(values: Mapping[str, Array], layout: Layout) -> str:
    """Return arrays of one shape as a text of VTK's XML image data, a value per point, the last axis along x."""
    shape = next(iter(values.values())).shape
    steps, starts = [1.0] * 3, [0.0] * 3
    for place, name in enumerate(reversed(layout.dims)):
        along = layout.coords.get(name)
        if along is not None and along.dtype.kind in "iuf" and len(along) > 1:
            starts[place], steps[place] = float(along[0]), float(along[-1] - along[0]) / (len(along) - 1)
    extent = " ".join(f"0 {size - 1}" for size in (*reversed(shape), *(1,) * (3 - len(shape))))
    arrays = []
    for name, each in {**layout.constant, **values}.items():
        if each.dtype.name in _VTK:
            raw = np.ascontiguousarray(each, each.dtype.newbyteorder("<")).tobytes()
            text = base64.b64encode(struct.pack("<Q", len(raw)) + raw).decode()
            kind = _VTK[each.dtype.name]
            arrays.append(f'<DataArray type="{kind}" Name={quoteattr(name)} format="binary">{text}</DataArray>')
    body = "\n        ".join(arrays)
    return f"""<?xml version="1.0"?>
<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">
  <ImageData WholeExtent="{extent}" Origin="{" ".join(map(repr, starts))}" Spacing="{" ".join(map(repr, steps))}">
    <Piece Extent="{extent}">
      <PointData>
        {body}
      </PointData>
    </Piece>
  </ImageData>
</VTKFile>
"""
