"""Codecs of zarr arrays that run code are refused before zarr opens them."""

import importlib.util
import json
import os
import pickle

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import ArrayError
from tilewright.runtime.formats.codecs import check_metadata

pytestmark = pytest.mark.skipif(importlib.util.find_spec("zarr") is None, reason="zarr is not installed")

GRID = np.random.default_rng(0).random((12, 16), "f4")


class Harm:
    def __init__(self, place):
        self.place = str(place)

    def __reduce__(self):
        return os.mkdir, (self.place,)


def _array(path, version, **changes):
    """An array of one chunk, whose metadata are then changed and whose chunk does harm when it is unpickled."""
    import zarr

    array = zarr.create_array(str(path), shape=GRID.shape, chunks=GRID.shape, dtype="f4", zarr_format=version)
    array[...] = GRID
    place = path / (".zarray" if version == 2 else "zarr.json")
    place.write_text(json.dumps({**json.loads(place.read_text()), **changes}))
    (path / ("0.0" if version == 2 else "c/0/0")).write_bytes(pickle.dumps(Harm(path.parent / "harm")))
    return path


PICKLE = {"id": "pickle", "protocol": 4}
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
INNER = {"chunk_shape": [12, 16], "codecs": [{"name": "pickle"}], "index_codecs": [BYTES]}
SHARDED = {"name": "sharding_indexed", "configuration": INNER}


@pytest.mark.parametrize(
    ("version", "changes", "named"),
    [
        (2, {"compressor": PICKLE}, "'pickle'"),
        (2, {"filters": [PICKLE], "compressor": None}, "'pickle'"),
        (2, {"filters": [{"id": "delta", "dtype": "<f4"}, {"id": "of a plug-in"}]}, "'of a plug-in'"),
        (3, {"codecs": [BYTES, {"name": "numcodecs.pickle", "configuration": {}}]}, "'numcodecs.pickle'"),
        (3, {"codecs": ["pickle"]}, "'pickle'"),
        (3, {"codecs": [SHARDED]}, "'pickle'"),
    ],
)
@pytest.mark.parametrize("use", ["read", "written", "loaded"])
def test_codecs_that_run_code_are_refused(tmp_path, version, changes, named, use):
    folder = tmp_path / "u.zarr"
    if use == "loaded":
        tw.run("j2d5pt", GRID, steps=1, every=1, out=folder)
    path = _array(folder / "w" if use == "loaded" else folder, version, **changes)
    np.save(tmp_path / "in.npy", GRID)
    calls = {
        "read": lambda: tw.run("j2d5pt", path, steps=1, out=tmp_path / "out.npy"),
        "written": lambda: tw.run("j2d5pt", tmp_path / "in.npy", steps=1, out=path),
        "loaded": lambda: tw.load(folder),
    }
    with pytest.raises(ArrayError, match=rf"is packed with the codec {named}, which is not read: it may run code"):
        calls[use]()
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("version", [2, 3])
def test_what_zarr_says_of_an_array_is_checked_as_well(tmp_path, version):
    import zarr

    known = zarr.open_array(str(_array(tmp_path / "u.zarr", version)), mode="r").metadata.to_dict()
    check_metadata(known, "u")
    with pytest.raises(ArrayError, match="'u' is packed with the codec 'pickle'"):
        check_metadata({**known, "filters": [PICKLE]}, "u")


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("codec", [None, "zstd", "gzip", "blosc", "sharded"])
def test_plain_codecs_are_read(tmp_path, version, codec):
    import zarr

    numcodecs = pytest.importorskip("numcodecs")
    own = {"zstd": numcodecs.Zstd, "gzip": numcodecs.GZip, "blosc": numcodecs.Blosc}
    options = {}
    if codec == "sharded":
        options = {"shards": GRID.shape} if version == 3 else {"filters": [numcodecs.Delta("<f4")]}
    elif version == 2:
        options = {"compressors": None if codec is None else own[codec]()}
    else:
        options = {"compressors": None if codec is None else {"name": codec, "configuration": {}}}
        options = options if codec in {None, "blosc"} else {}
    array = zarr.create_array(
        str(tmp_path / "u.zarr"), shape=GRID.shape, chunks=(6, 16), dtype="f4", zarr_format=version, **options
    )
    array[...] = GRID
    array.attrs["codecs"] = [{"name": "only a text of the user's"}]
    tw.run("j2d5pt", tmp_path / "u.zarr", steps=2, out=tmp_path / "out.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), tw.run("j2d5pt", GRID, steps=2))
