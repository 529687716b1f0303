"""Runs from disk to disk: the same values as in memory, whatever the slabs; what does not fit is refused beforehand."""

import importlib.util
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests import forked
from tests.distributed.cases import boundary_of, draw, flat, levels_of, points_of, varied
from tests.distributed.child import PEAK_MEMORY, STEPS, kill, peak, points, run
from tests.laws.generator import DRAW
from tests.sampling import some

import tilewright as tw
from tilewright.base.units import parse_bytes
from tilewright.distributed import out_of_core
from tilewright.programs.stencil.forms import all_wrap, wrapped_axes

pytestmark = pytest.mark.skipif(importlib.util.find_spec("zarr") is None, reason="zarr is not installed")


def zarr_array(**options):
    """An array of zarr, which is imported when one is asked for."""
    import zarr

    return zarr.create_array(**options)


def tightest(call):
    """Call with the least memory that it takes, and a bit more: many thin slabs."""
    memory = 256
    while True:
        try:
            return call(memory), memory
        except tw.ArrayError as error:
            found = re.search(r"needs (\S+ [KMG]?i?B) of memory", str(error))
            if found is None:
                raise
            memory = max(memory + 64, int(1.08 * parse_bytes(found[1].replace(" ", ""))) + 1)


def random_run(seed: int, index: int, folder: Path, backend: str, *, points: bool = False) -> int:
    """Run a random problem from disk to disk, and compare with the run in memory. Returns the bytes of memory."""
    problem, arrays, scalars = draw(seed, index)
    if 0 in wrapped_axes(problem) and not all_wrap(problem, 0):
        pytest.skip("some fields wrap along the axis that is cut and others do not, which is refused")
    program, options = (
        problem.program,
        {"steps": problem.steps, "boundary": boundary_of(problem), "dtype": problem.dtype},
    )
    if points:
        options |= points_of(problem, f"{seed}:{index}")
        scalars = varied(problem, scalars, f"{seed}:{index}")
    given = []
    for number, levels in enumerate(levels_of(problem, arrays)):
        paths = [folder / f"in-{number}-{age}.npy" for age in range(len(levels))]
        for path, values in zip(paths, levels, strict=True):
            np.save(path, values)
        given.append(tuple(np.load(path, mmap_mode="r") for path in paths))
    ending = ".zarr" if index % 5 == 0 else ".npy"
    names = [tuple(folder / f"out-{f}-{age}{ending}" for age in range(program.history(f))) for f in program.updated]
    out = names[0] if len(names) == 1 else tuple(names)

    def call(memory):
        return tw.run(
            program, *given, out=out, memory=memory, levels=True, strict=True, backend=backend, threads=1, **options,
            **scalars,
        )  # fmt: skip

    found, memory = tightest(call)
    right = tw.run(
        program,
        *levels_of(problem, arrays),
        levels=True,
        strict=True,
        backend=backend,
        threads=1,
        **options,
        **scalars,
    )
    if points:
        (found, traces), (right, expected) = found, right
        for field, trace in expected.items():
            np.testing.assert_array_equal(traces[field], trace, err_msg=f"{seed} {index}: trace of {field} {problem}")
    for ours, theirs in zip(flat(found), flat(right), strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=f"{seed} {index}: {problem}")
    assert not list(folder.glob("*.tilewright"))
    for levels, same in zip(given, levels_of(problem, arrays), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(levels, same, strict=True)), "an input changed"
    return memory


@pytest.mark.filterwarnings("ignore::tilewright.TilewrightWarning")
@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize("index", [*range(12), 101, 103, *some(range(1000 + DRAW, 1200 + DRAW), 0)])
def test_random_problems(index, points, tmp_path):
    random_run(35, index, tmp_path, "c" if index > 100 and index % 10 in {1, 3} else "numpy", points=points)


@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.stress)])
def test_killed_runs_go_on_from_their_last_pass(tmp_path, tally, kills):
    field = np.random.default_rng(kills).random((2, 480, 64))
    right, traces = tw.run("wave2d", tuple(field), steps=STEPS, boundary="wrap", backend="numpy", **points())
    given = [tmp_path / f"{name}.npy" for name in ("now", "before")]
    for path, values in zip(given, field, strict=True):
        np.save(path, values)

    def wrong():
        cells = np.count_nonzero(np.load(tmp_path / "out.npy") != right)
        return int(cells + np.count_nonzero(np.load(tmp_path / "trace.npy") != traces["u"]))

    resumed = kill(run, tmp_path, kills, wrong)
    tally(f"runs out of core: {kills} kills, {resumed} with complete passes, 0 cells wrong")
    assert kills < 50 or resumed >= 10
    assert all(np.array_equal(np.load(path), values) for path, values in zip(given, field, strict=True))
    assert not (tmp_path / "out.npy.tilewright").exists()


def test_memory_stays_within_what_was_promised(tmp_path, tally):
    large = np.lib.format.open_memmap(tmp_path / "large.npy", "w+", np.float32, (10000, 2048))  # 78 MiB
    large[:] = np.random.default_rng(3).random((1, 2048), np.float32)
    large.flush()
    grown = int(forked.run(peak, tmp_path)[1])
    tally(f"runs out of core: {grown >> 20} MiB taken of {PEAK_MEMORY >> 20} promised, on a field of 78 MiB")
    assert 0 < grown <= PEAK_MEMORY


BAD = {
    "takes no every": lambda f: {"every": 2},
    "a size is a number of bytes": lambda f: {"memory": "much"},
    "needs .* of memory": lambda f: {"memory": 100},
    "got no out=": lambda f: {"out": None},
    "must have the shape": lambda f: {"out": saved(f, "small.npy", (3, 3))},
    "must have the dtype": lambda f: {"out": saved(f, "single.npy", (40, 30), np.float32)},
    "out is one of the inputs": lambda f: {"out": f / "in.npy"},
    "ends in .npy or .zarr": lambda f: {"out": f / "out.h5"},
    "folder of out=.* does not exist": lambda f: {"out": f / "nowhere" / "out.npy"},
    "is a memmap, a zarr array or a path, got ndarray": lambda f: {"out": np.zeros((40, 30))},
    "is read-only": lambda f: {"out": np.load(saved(f, "locked.npy", (40, 30)), mmap_mode="r")},
    "out needs 1 arrays": lambda f: {"out": (f / "a.npy", f / "b.npy")},
    "is in no folder": lambda f: {"out": zarr_array(store={}, shape=(40, 30), dtype="f8")},
}


def saved(folder: Path, name: str, shape: tuple[int, ...], dtype=np.float64) -> Path:
    np.save(folder / name, np.zeros(shape, dtype))
    return folder / name


@pytest.mark.parametrize("message", BAD)
def test_what_cannot_be_run_is_one_sentence_beforehand(message, tmp_path):
    saved(tmp_path, "in.npy", (40, 30))
    options = {"steps": 3, "out": tmp_path / "out.npy", "memory": "1MiB", **BAD[message](tmp_path)}
    with pytest.raises(tw.TilewrightError, match=message) as caught:
        tw.run("heat2d", tmp_path / "in.npy", **options)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out.npy").exists()


def test_too_little_space_is_told_before_anything_is_written(tmp_path, monkeypatch):
    saved(tmp_path, "in.npy", (40, 30))
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 10_000})())
    with pytest.raises(tw.ArrayError, match=r"writes 1\d\.\d* KiB to .*, where 9\.766 KiB are free"):
        tw.run("heat2d", tmp_path / "in.npy", out=tmp_path / "out.npy", steps=9, memory=7000, backend="numpy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.npy"]


@pytest.mark.parametrize("memory", [1, "1", 2, 20, 1000])
def test_too_little_memory_is_told_beside_what_is_more(tmp_path, memory):
    place = saved(tmp_path, "in.npy", (40, 30))
    with pytest.raises(tw.ArrayError, match="of memory") as caught:
        tw.run("heat2d", place, out=tmp_path / "out.npy", steps=9, memory=memory, backend="numpy")
    units = {"B": 1, "KiB": 1024}
    needed, there = (float(n) * units[unit] for n, unit in re.findall(r"([\d.]+) (B|KiB)", str(caught.value)))
    assert needed > there


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cut.npy", b"\x93NUMPY\x01\x00", "cannot be read as a .npy file"),
        ("text.npy", b"hello", "cannot be read as a .npy file"),
        ("gone.npy", None, "No such file"),
        ("gone.zarr", None, "cannot be opened as a zarr array"),
        ("a.h5", b"", "ends in .npy or .zarr"),
    ],
)
def test_files_that_hold_no_array(name, content, message, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(tw.ArrayError, match=message):
        tw.run("heat2d", str(tmp_path / name), out=tmp_path / "out.npy", steps=1)


def test_grids_that_cannot_be_cut(tmp_path):
    @tw.stencil
    def swept(u):
        return 0.5 * u.new[-1, 0] + 0.5 * u[0, 0]

    @tw.stencil
    def coupled(u, v):
        return u[1, 0] + v[1, 0], v[0, 0]

    place = saved(tmp_path, "in.npy", (40, 30))
    with pytest.raises(tw.UsageError, match="reads values of its own step"):
        tw.run(swept, place, out=tmp_path / "out.npy", steps=1)
    out = (tmp_path / "u.npy", tmp_path / "v.npy")
    with pytest.raises(tw.UsageError, match="some fields wrap and others do not"):
        tw.run(coupled, place, place, out=out, steps=1, boundary={"u": "wrap", "v": "nearest"})


def test_windows_of_unlike_rows_in_time_tiles_on_a_grid_that_wraps(tmp_path):
    field = np.random.default_rng(0).random((301, 512))
    np.save(tmp_path / "in.npy", field)
    options = {"steps": 8, "boundary": "wrap", "tiling": "skewed:t=4,s=16x64", "strict": True, "threads": 1}
    expected = tw.run("heat2d", field, **options)
    for memory in ("3MiB", "5MiB"):
        found = tw.run("heat2d", tmp_path / "in.npy", out=tmp_path / "out.npy", memory=memory, **options)
        assert np.array_equal(found, expected)


def test_an_unfinished_run_of_something_else_is_not_gone_on_with(tmp_path):
    place = saved(tmp_path, "in.npy", (40, 30))
    folder = tmp_path / "out.npy.tilewright"
    folder.mkdir()
    for text, message in (
        ('{"version": 1, "run": "other", "steps": 2, "done": 1}', "is of another program"),
        ('{"version": 9, "run": "other", "steps": 2, "done": 1}', "is no journal of this version"),
        ("[]", "is no journal of this version"),
    ):
        (folder / "journal.json").write_text(text)
        with pytest.raises(tw.UsageError, match=message):
            tw.run("heat2d", place, out=tmp_path / "out.npy", steps=9, memory=60_000, resume=True)
    tw.run("heat2d", place, out=tmp_path / "out.npy", steps=9, memory=60_000)
    assert not folder.exists()


def test_what_is_mapped_is_written_where_it_is_mapped(tmp_path):
    values = np.random.default_rng(5).random((90, 20))
    raw = np.memmap(tmp_path / "raw.bin", np.float64, "w+", offset=24, shape=(3, 90, 20))
    raw[1] = values
    out = np.memmap(tmp_path / "out.bin", np.float64, "w+", shape=(2, 90, 20))
    found = tw.run("heat2d", raw[1], out=out[1], steps=11, boundary="wrap", memory=60_000, strict=True)
    assert found.base is not None
    np.testing.assert_array_equal(out[1], tw.run("heat2d", values, steps=11, boundary="wrap", strict=True))
    assert not out[0].any()
    assert np.array_equal(raw[1], values)


def test_types_are_converted_and_coefficients_may_be_anywhere(tmp_path):
    generator = np.random.default_rng(6)
    u, alpha = generator.random((80, 20)), 0.1 * generator.random((80, 20))

    @tw.stencil
    def heat(u, alpha):
        return u[0, 0] + alpha * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])

    np.save(tmp_path / "u.npy", u.astype(">f8"))
    chunks = zarr_array(store=str(tmp_path / "alpha.zarr"), shape=u.shape, dtype="f8", chunks=(7, 9))
    chunks[:] = alpha
    options = {"steps": 10, "boundary": "reflect", "dtype": "float32", "strict": True}
    right = tw.run(heat, u, alpha=alpha, **options)
    for number, given in enumerate((alpha, chunks, str(tmp_path / "alpha.zarr"))):
        out = tmp_path / f"out{number}.zarr"
        found = tw.run(heat, tmp_path / "u.npy", alpha=given, out=out, memory=4_600_000, **options)
        np.testing.assert_array_equal(found[:], right)


@pytest.mark.parametrize("other", ["in.zarr", "./in.zarr", "link.zarr"])
def test_an_input_is_known_by_whatever_path_it_is_given_as_out(other, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    array = zarr_array(store="in.zarr", shape=(40, 30), dtype="f8", chunks=(10, 30))
    array[:] = 1.0
    (tmp_path / "link.zarr").symlink_to(tmp_path / "in.zarr")
    with pytest.raises(tw.UsageError, match="out is one of the inputs"):
        tw.run("heat2d", tmp_path / "in.zarr", out=other, steps=3, memory="1MiB")


def test_a_mapped_array_alone_is_an_array_like_any_other(tmp_path):
    np.save(tmp_path / "u.npy", np.ones((9, 9)))
    mapped = np.load(tmp_path / "u.npy", mmap_mode="r")
    assert tw.run("heat2d", mapped, steps=2).shape == (9, 9)
    assert tw.run("heat2d", mapped, steps=2, out=np.zeros((9, 9))).any()


def test_what_was_chosen_is_logged(tmp_path, caplog):
    saved(tmp_path, "in.npy", (400, 30))
    with caplog.at_level("INFO", "tilewright"):
        tw.run("heat2d", tmp_path / "in.npy", out=tmp_path / "out.npy", steps=12, memory=80_000, backend="numpy")
    chosen, *passes = [record.getMessage() for record in caplog.records]
    assert re.search(r"out of core: \d+ passes of \d+ steps, \d+ slabs of \d+ rows", chosen)
    count = int(re.search(r"(\d+) passes", chosen)[1])
    assert [text.partition(" in ")[0] for text in passes] == [
        f"heat2d out of core: pass {number + 1} of {count}" for number in range(count)
    ]


@pytest.mark.parametrize("memory", [4000, 12_000, "1GiB"])
def test_older_levels_that_are_missing_are_those_of_the_oldest_given(memory, tmp_path):
    """Slab by slab, several at a time, and swept."""
    values = np.random.default_rng(7).random((40, 9))
    np.save(tmp_path / "u.npy", values)
    options = {"steps": 5, "boundary": "nearest", "strict": True}
    options |= {} if memory == "1GiB" else {"backend": "numpy"}
    found = tw.run("wave2d", tmp_path / "u.npy", out=tmp_path / "out.npy", memory=memory, **options)
    np.testing.assert_array_equal(found, tw.run("wave2d", (values, values), **options))


def test_what_an_unfinished_run_left_is_gone_before_another_begins(tmp_path, monkeypatch):
    """Else its files, of another size perhaps, would be taken for those of this one."""
    values = np.random.default_rng(8).random((40, 30))
    np.save(tmp_path / "in.npy", values)
    folder = tmp_path / "out.npy.tilewright"
    folder.mkdir()
    saved(folder, "u-0-even.npy", (3, 3))
    saved(folder, "u-1-odd.npy", (40, 30))
    there, original = [], out_of_core._passes
    monkeypatch.setattr(
        out_of_core,
        "_passes",
        lambda *each, **rest: (there.extend(path.name for path in folder.iterdir()), original(*each, **rest)),
    )
    options = {"steps": 9, "boundary": "wrap", "backend": "numpy"}
    found = tw.run("heat2d", tmp_path / "in.npy", out=tmp_path / "out.npy", memory=16_000, **options)
    np.testing.assert_array_equal(found, tw.run("heat2d", values, **options))
    assert sorted(there) == ["journal.json", "u-0-even.npy"]


def test_new_arrays_have_the_chunks_of_those_that_are_there(tmp_path):
    """Of the first result, else of the first input that has any; else they are whole rows."""
    values = np.random.default_rng(9).random((2, 40, 30))
    for name, each in zip(("now", "before"), values, strict=True):
        zarr_array(store=str(tmp_path / f"{name}.zarr"), shape=(40, 30), dtype="f8", chunks=(8, 30))[:] = each
        np.save(tmp_path / f"{name}.npy", each)
    there = zarr_array(store=str(tmp_path / "out.zarr"), shape=(40, 30), dtype="f8", chunks=(5, 15))
    options = {"steps": 5, "memory": "1MiB", "levels": True, "backend": "numpy"}
    right = tw.run("wave2d", tuple(values), steps=5, levels=True, backend="numpy")
    for ending, first, chunks in (
        ("zarr", there, (5, 15)),
        ("zarr", tmp_path / "new.zarr", (8, 30)),
        ("npy", tmp_path / "other.zarr", (40, 30)),
    ):
        given, second = tuple(tmp_path / f"{name}.{ending}" for name in ("now", "before")), tmp_path / "second.zarr"
        found = tw.run("wave2d", given, out=(first, second), **options)
        for array, each in zip(found, right, strict=True):
            assert array.chunks == chunks
            np.testing.assert_array_equal(array[:], each)
        shutil.rmtree(second)
