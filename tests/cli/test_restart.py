"""A run that is carried on from files is the run that was never interrupted."""

import io
import zipfile

import numpy as np
import pytest

import tilewright as tw

MINE = """
def mixed(u, v, k):
    new = 0.5 * v[0, 0] + 0.25 * v.prev[1, 0] + 0.125 * u[0, -1]
    return 0.5 * u[0, 0] + 0.25 * u.prev2[0, 1] + k[0, 0] * v[-1, 0], new


def clash(u, u_prev):
    return u[0] - u.prev[0] + u_prev[0]
"""


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(autouse=True)
def _mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)


def arrays(path):
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def same(one, other):
    assert list(one) == list(other)
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name])


@pytest.mark.parametrize(
    ("program", "backend", "names"),
    [
        ("wave2d", "c", ["u", "u_prev"]),
        ("fdtd2d", "c", ["ey", "ex", "hz"]),
        ("heat2d_var", "c", ["u", "k"]),
        ("mine.py:mixed", "c", ["u", "u_prev", "u_prev2", "v", "v_prev", "k"]),
        ("mine.py:mixed", "numpy", ["u", "u_prev", "u_prev2", "v", "v_prev", "k"]),
    ],
)
def test_output_goes_on_through_input(cli, tmp_path, program, backend, names):
    flags = ("--strict", "--boundary", "mirror", "--backend", backend)
    start = ("run", program, "--shape", "40x50", "--seed", 3, *flags)
    assert cli(*start, "--steps", 17, "--output", "whole.npz").err == ""
    assert cli(*start, "--steps", 6, "--output", "a.npz").err == ""
    assert cli("run", program, "--input", "a.npz", "--steps", 11, "--output", "b.npz", *flags).err == ""
    whole = arrays(tmp_path / "whole.npz")
    assert list(whole) == names
    same(arrays(tmp_path / "b.npz"), whole)


@pytest.mark.parametrize("program", ["wave2d", "mine.py:mixed"])
def test_a_snapshot_goes_on_through_input(cli, tmp_path, program):
    start = ("run", program, "--shape", "40x50", "--strict", "--steps", 17, "--output", "whole.npz")
    assert cli(*start, "--every", 5, "--snapshots", "s.npz").err == ""
    assert sorted(path.name for path in tmp_path.glob("s-*")) == [f"s-0000{k}.npz" for k in ("05", "10", "15", "17")]
    same(arrays(tmp_path / "s-000017.npz"), arrays(tmp_path / "whole.npz"))
    assert cli("run", program, "--input", "s-000010.npz", "--strict", "--steps", 7, "--output", "b.npz").err == ""
    same(arrays(tmp_path / "b.npz"), arrays(tmp_path / "whole.npz"))


def test_archives_and_single_files_together(cli, tmp_path):
    rng = np.random.default_rng(1)
    u, k = rng.random((2, 20, 30))
    np.save(tmp_path / "k.npy", k / 4)
    np.savez(tmp_path / "u.npz", u=u)
    flags = ("--steps", 5, "--output", "all.npz", "--output", "u.npy")
    assert cli("run", "heat2d_var", "--input", "k.npy", "--input", "u.npz", *flags).err == ""
    expected = tw.run("heat2d_var", u, k / 4, steps=5)
    np.testing.assert_array_equal(np.load(tmp_path / "u.npy"), expected)
    same(arrays(tmp_path / "all.npz"), {"u": expected, "k": k / 4})


def test_an_archive_holds_the_type_that_was_computed_in(cli, tmp_path):
    np.savez(tmp_path / "s.npz", u=np.ones((20, 30)), k=np.full((20, 30), 0.1))
    flags = ("--steps", 4, "--every", 2, "--snapshots", "t.npz", "--output", "r.npz")
    assert cli("run", "heat2d_var", "--input", "s.npz", "--dtype", "float32", *flags).err == ""
    for name in ("t-000002.npz", "r.npz"):
        assert {array.dtype for array in arrays(tmp_path / name).values()} == {np.dtype("float32")}


def test_what_a_single_array_loses_is_said(cli, tmp_path):
    wave = ("run", "wave2d", "--shape", "20x30", "--steps", 4)
    expected = (
        "warning: 'v.npy' holds the newest time level of 'u' alone, from which no run can go on (hint: v.npz keeps"
    )
    assert cli(*wave, "--output", "v.npy").err.startswith(expected)
    assert cli(*wave, "--output", "v.npy", "--output", "v.npz").err == ""
    snapshots = cli(*wave, "--every", 2, "--snapshots", "v.npy").err
    assert snapshots.startswith(expected)
    several = cli("run", "fdtd2d", "--shape", "20x30", "--steps", 4, "--every", 2, "--snapshots", "e.npy").err
    assert several.startswith("warning: 'e.npy' holds 'ey' alone, from which no run can go on")
    assert cli("run", "heat2d", "--shape", "20x30", "--steps", 4, "--output", "v.npy", "--every", 2).err == ""
    assert "no run can go on" not in cli(*wave, "--output", "v.png", "--every", 2, "--snapshots", "w.png").err


def test_a_single_file_for_a_wave_warns(cli, tmp_path):
    np.save(tmp_path / "u.npy", np.random.default_rng(0).random((20, 30)))
    with pytest.warns(
        tw.TilewrightWarning, match=r"one array stands for all of them \(hint: give a .npz file that holds u, u_p"
    ):
        assert cli("run", "wave2d", "--input", "u.npy", "--steps", 3).code == 0


def test_how_many_steps_were_done(cli):
    heat = ("run", "heat2d", "--shape", "40x50")
    settled = cli(*heat, "--steps", "100000", "--until", "1e-4", "--json").json
    assert settled["steps"] == settled["steps_done"]
    assert 0 < settled["steps_done"] < 100000
    assert settled["steps_done"] % 64 == 0
    text = cli(*heat, "--steps", "100000", "--until", "1e-4").out
    assert f"heat2d 40x50, {settled['steps_done']} of 100000 steps" in text
    assert cli(*heat, "--steps", 7, "--json").json["steps_done"] == 7
    assert cli(*heat, "--steps", 9, "--every", 4, "--json").json["steps_done"] == 9
    assert cli(*heat, "--steps", 9, "--every", 4, "--until", 0.5, "--json").json["steps_done"] == 4


def bomb():
    """An array whose header promises far more than the archive holds."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**34, 2**20)})
    return header.getvalue() + b"0" * 64


@pytest.mark.parametrize("kind", ["cut", "text", "pickle", "promises", "flipped", "member", "absent", "folder"])
def test_a_damaged_archive_is_one_sentence(refuses, tmp_path, kind):
    path, u = tmp_path / "u.npz", np.random.default_rng(0).random((20, 30))
    np.savez(path, u=u)
    content = path.read_bytes()
    if kind == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif kind == "text":
        path.write_text("hello")
    elif kind == "pickle":
        np.savez(path, u=np.array([{}], dtype=object))
    elif kind == "flipped":
        path.write_bytes(content[:2000] + bytes(255 - byte for byte in content[2000:2100]) + content[2100:])
    elif kind in {"promises", "member"}:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("u.npy", bomb() if kind == "promises" else b"no array")
    else:
        path.unlink()
        if kind == "folder":
            path.mkdir()
    told = refuses("run", "heat2d", "--input", "u.npz", "--steps", 3)
    assert {"absent": "there is no file", "folder": "is a folder"}.get(kind, "is no .npz file of plain numbers") in told


@pytest.mark.parametrize(
    ("program", "held", "flags", "message"),
    [
        ("wave2d", {"u": 0, "w": 0}, (), "'s.npz' holds 'w', which is no array of 'wave2d'\nhint: it has u, u_prev"),
        ("wave2d", {"u_prev": 0}, (), "'s.npz' holds 'u_prev' but not 'u', which is newer"),
        ("heat2d_var", {"u": 0}, (), "so it needs as many --input besides u, got 0"),
        ("heat2d", {"u": 0}, ("--input", "s.npz"), "holds 'u', which another --input holds as well"),
        ("heat2d", {"u": 0}, ("--shape", "9x9"), "'s.npz' has the shape 20x30, got --shape 9x9"),
        ("wave2d", {"u": 0, "u_prev": 1}, (), "all arrays have one shape"),
        ("heat2d", {"u": 0}, ("--output", "no/s.npz"), "there is no folder"),
        ("mine.py:clash", {"u": 0}, (), "'u_prev' is both a field of 'clash' and an older time level"),
    ],
)
def test_archives_that_do_not_fit(refuses, tmp_path, program, held, flags, message):
    np.savez(tmp_path / "s.npz", **{name: np.ones((20, 30 + more)) for name, more in held.items()})
    assert message in refuses("run", program, "--input", "s.npz", "--steps", 3, *flags)


def test_a_colour_picture_has_no_archive(refuses, tmp_path):
    from PIL import Image

    Image.fromarray(np.zeros((20, 30, 3), np.uint8)).save(tmp_path / "in.png")
    assert "which a .npz file does not hold" in refuses(
        "run", "heat2d", "--input", "in.png", "--steps", 1, "--output", "o.npz"
    )


@pytest.mark.parametrize(("library", "ending"), [("zarr", "zarr"), ("h5py", "h5")])
def test_series_are_written_and_read(cli, library, ending):
    pytest.importorskip(library)
    shape = ("--shape", "20x30", "--seed", 3)
    assert cli("run", "wave2d", *shape, "--steps", 9, "--every", 3, "--snapshots", f"u.{ending}").code == 0
    assert tw.load(f"u.{ending}").steps.tolist() == [3, 6, 9]
    assert cli("run", "wave2d", *shape, "--steps", 12, "--output", "whole.npy").code == 0
    assert cli("run", "wave2d", "--input", f"u.{ending}", "--steps", 3, "--output", "rest.npy").code == 0
    np.testing.assert_array_equal(np.load("rest.npy"), np.load("whole.npy"))
    assert cli("run", "wave2d", "--input", f"u.{ending}", "--steps", 3, "--output", f"last.{ending}").code == 0
    np.testing.assert_array_equal(tw.load(f"last.{ending}").state[0][0], np.load("whole.npy"))
