"""Runs on Dask arrays: nothing is computed before it is asked for, and then what NumPy arrays give."""

import numpy as np
import pytest
from tests.distributed.cases import boundary_of, draw, flat, levels_of, points_of, varied
from tests.sampling import some

import tilewright as tw
from tilewright.distributed.compute import Computer


@pytest.fixture
def da():
    """Dask's arrays."""
    return pytest.importorskip("dask.array", reason="Dask is not installed")


@pytest.mark.filterwarnings("ignore::tilewright.TilewrightWarning")
@pytest.mark.parametrize("index", some(range(10), 4))
def test_random_problems(index, da):
    problem, arrays, scalars = draw(36, index)
    chance = np.random.default_rng(index)
    chunks = tuple(int(chance.integers(1, extent + 1)) for extent in problem.shape)
    given = [tuple(da.from_array(values, chunks=chunks) for values in levels) for levels in levels_of(problem, arrays)]
    options = {"steps": problem.steps, "boundary": boundary_of(problem), "dtype": problem.dtype}
    if index % 2:
        options["sources"] = points_of(problem, f"dask:{index}")["sources"]
        scalars = varied(problem, scalars, f"dask:{index}")
    options |= scalars
    common = {"levels": True, "strict": True, "backend": "c" if index % 10 == 0 else "numpy"}
    try:
        found = tw.run(problem.program, *given, **options, **common)
    except tw.UsageError as error:
        if "some fields wrap" not in str(error):
            raise
        return
    right = flat(tw.run(problem.program, *levels_of(problem, arrays), **options, **common))
    ours = flat(found, as_they_are=True)
    assert all(isinstance(each, da.Array) for each in ours)
    for a, b in zip(ours, right, strict=True):
        np.testing.assert_array_equal(a.compute(scheduler="synchronous"), b, err_msg=f"{index} {chunks}: {problem}")


def test_nothing_is_computed_before_it_is_asked_for(da):
    looked = []

    def look(block):
        looked.append(block.shape)
        return block

    source = da.ones((60, 60), chunks=(20, 30)).map_blocks(look, meta=np.empty((0, 0)))
    found = tw.run("heat2d", source, steps=12, boundary="wrap")
    assert looked == []
    assert found.chunks == source.chunks
    assert found.shape == (60, 60)
    assert np.allclose(found.compute(), 1.0)
    assert looked


def test_chunks_are_joined_where_they_are_thinner_than_a_step_reaches_and_only_there(da):
    values = np.random.default_rng(2).random((6, 8))
    for name, given, joined in (
        ("heat2d", (1,) * 6, (1,) * 6),
        ("j2d9pt", (1,) * 6, (2, 2, 2)),
        ("j2d9pt", (1, 5), (6,)),
        ("j2d9pt", (2, 4), (2, 4)),
    ):
        found = tw.run(name, da.from_array(values, chunks=(given, 4)), steps=3, strict=True, boundary="nearest")
        assert found.chunks == (joined, (4, 4)), (name, given)
        np.testing.assert_array_equal(found.compute(), tw.run(name, values, steps=3, strict=True, boundary="nearest"))


def test_a_chunk_is_computed_by_one_thread(monkeypatch, da):
    run, threads = Computer.run, []
    monkeypatch.setattr(Computer, "run", lambda self, *given: (threads.append(self.threads), run(self, *given))[1])
    tw.run("heat2d", da.ones((20, 20), chunks=10), steps=3, threads=2).compute(scheduler="synchronous")
    assert set(threads) == {1}


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_older_levels_that_are_missing_are_those_of_the_oldest_given(backend, da):
    values = np.random.default_rng(3).random((13, 9))
    options = {"steps": 5, "boundary": "nearest", "strict": True, "backend": backend}
    found = tw.run("wave2d", da.from_array(values, chunks=(7, 9)), **options)
    np.testing.assert_array_equal(found.compute(), tw.run("wave2d", (values, values), **options))


def test_several_steps_are_one_task(da):
    source = da.ones((4096, 4096), chunks=(1024, 1024), dtype="float32")
    found = tw.run("heat2d", source, steps=16)
    tasks = sum("_advance" in str(key) for key in found.__dask_graph__())
    assert 0 < tasks <= 16 * 16 / 2


def test_labels_of_xarray_stay(da):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    values = np.random.default_rng(0).random((30, 40))
    labelled = xarray.DataArray(
        da.from_array(values, chunks=(10, 20)), dims=("y", "x"), coords={"y": np.arange(30)}, name="t", attrs={"a": 1}
    )
    found = tw.run("heat2d", labelled, steps=5, strict=True, boundary="mirror")
    assert isinstance(found, xarray.DataArray)
    assert isinstance(found.data, da.Array)
    assert (found.name, found.dims, found.attrs) == ("t", ("y", "x"), {"a": 1})
    np.testing.assert_array_equal(found.values, tw.run("heat2d", values, steps=5, strict=True, boundary="mirror"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out": np.zeros((20, 20))}, "is lazy and takes no out"),
        ({"receivers": tw.Points([(2.5, 2.5)])}, "a run on Dask arrays takes no receivers"),
        ({"every": 2}, "a run on Dask arrays takes no every"),
        ({"steps": -1}, "steps"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(options, message, da):
    with pytest.raises(tw.UsageError, match=message) as caught:
        tw.run("heat2d", da.ones((20, 20), chunks=10), **{"steps": 3, **options})
    assert "\n" not in str(caught.value)


def test_unknown_chunks_are_refused(da):
    source = da.arange(40, chunks=10)
    with pytest.raises(tw.UsageError, match="known shape"):
        tw.run("jacobi1d", source[source > 7], steps=2)
