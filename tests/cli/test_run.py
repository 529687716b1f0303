import gzip
import re

import numpy as np
import pytest
from PIL import Image
from tests.sampling import some

import tilewright as tw
from tilewright.cli.app import COMMANDS
from tilewright.programs.stencil.catalogue import names, program
from tilewright.runtime import samples
from tilewright.runtime.kernels import CpuKernel
from tilewright.runtime.samples import random_arrays
from tilewright.runtime.warn import forget_warnings

SMALL = {1: "3000", 2: "70x90", 3: "20x24x28"}


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.mark.parametrize(("text", "steps"), [("1e1", 10), ("10.0", 10), ("10", 10)])
def test_whole_steps_in_any_notation(cli, text, steps):
    assert cli("run", "jacobi1d", "--shape", "50", "--steps", text, "--json").json["steps"] == steps


def test_steps_that_are_not_whole_are_refused(cli):
    for text in ["1.5e0", "many", "nan", "inf"]:
        done = cli("run", "jacobi1d", "--shape", "50", "--steps", text)
        assert done.code == 2, text
        said = " ".join(done.err.replace("│", " ").split())
        assert f"'--steps': a whole number such as 1000 or 1e3 is wanted, got '{text}'" in said, text


def test_a_scalar_with_a_default_need_not_be_set(cli, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text("import tilewright as tw\n\n@tw.stencil\ndef scale(u, a=2.0):\n    return a * u[0]\n")
    np.save(tmp_path / "u.npy", np.arange(4.0))
    args = ("run", f"{mine}:scale", "--input", tmp_path / "u.npy", "--steps", 1, "--output", tmp_path / "v.npy")
    assert cli(*args).code == 0
    assert np.load(tmp_path / "v.npy").tolist() == [0.0, 2.0, 4.0, 6.0]
    assert cli(*args, "--set", "a=3").code == 0
    assert np.load(tmp_path / "v.npy").tolist() == [0.0, 3.0, 6.0, 9.0]


def test_the_keys_of_the_interface(cli):
    document = cli("run", "jacobi2d", "--shape", "64x48", "--steps", 10, "--check", "--json").json
    assert document["checked"] is True
    assert {"seconds", "gcells_per_second", "max_error"} <= set(document)
    assert document["shape"] == [64, 48]
    assert 0 < document["max_error"] < 1e-5
    tile = document["tiling"]
    again = cli("run", "jacobi2d", "--shape", "64x48", "--steps", 10, "--tile", tile, "--json").json
    assert again["tiling"] == tile
    assert "checked" not in again


@pytest.mark.parametrize(
    "name",
    some(sorted(names(), key=("jacobi1d", "heat2d_var", "fdtd2d", "wave3d", "smith_waterman").__contains__)[::-1], 5),
)
def test_programs_of_the_catalogue_are_right(cli, name):
    shape = "12x14" if name == "smith_waterman" else SMALL[program(name).rank]
    result = cli("run", name, "--shape", shape, "--steps", 7, "--check", "--json")
    assert result.code == 0, result.err
    assert result.json["within_bound"] is True


@pytest.mark.parametrize(
    ("value", "said"),
    [("1e39", r"the boundary value 1e\+39 of 'u' does not fit float32"), ("1e400", "a constant boundary is a number")],
)
def test_a_boundary_that_the_element_type_cannot_hold(cli, value, said):
    result = cli("run", "heat2d", "--shape", "33x47", "--steps", 9, "--boundary", f"constant:{value}")
    assert result.code == 2
    assert re.search(said, " ".join(result.err.split()))


@pytest.mark.parametrize("boundary", ["wrap", "reflect,fixed", "nearest/constant:0.5,mirror", "u=constant:1"])
def test_boundaries(cli, boundary):
    result = cli("run", "heat2d", "--shape", "33x47", "--steps", 9, "--boundary", boundary, "--check", "--json")
    assert result.code == 0, result.err
    assert result.json["checked"] is True


def test_an_array_of_ones_own(cli, tmp_path):
    u = np.random.default_rng(3).random((60, 50))
    np.save(tmp_path / "u.npy", u)
    result = cli("run", "jacobi2d", "--input", "u.npy", "--output", "v.npy", "--steps", 12, "--json")
    assert result.code == 0, result.err
    assert result.json["dtype"] == "float64"
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), tw.run("jacobi2d", u, steps=12))


def test_several_fields(cli, tmp_path):
    rng = np.random.default_rng(4)
    arrays = [rng.random((30, 40), dtype=np.float32) for _ in range(3)]
    flags = []
    for name, array in zip(("ey", "ex", "hz"), arrays, strict=True):
        np.save(tmp_path / f"{name}.npy", array)
        flags += ["--input", f"{name}.npy", "--output", f"{name}-out.npy"]
    assert cli("run", "fdtd2d", *flags, "--steps", 5).code == 0
    for name, expected in zip(("ey", "ex", "hz"), tw.run("fdtd2d", *arrays, steps=5), strict=True):
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}-out.npy"), expected)


def test_a_colour_picture_is_computed_by_channel(cli, tmp_path):
    pixels = np.random.default_rng(5).integers(0, 256, (40, 30, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "in.png")
    flags = ("--boundary", "reflect", "--steps", 4, "--check", "--json")
    result = cli("run", "heat2d", "--input", "in.png", "--output", "out.png", *flags)
    assert result.code == 0, result.err
    assert result.json["planes"] == 3
    shown = np.asarray(Image.open(tmp_path / "out.png"))
    for channel in range(3):
        plane = (pixels[..., channel] / 255).astype(np.float32)
        expected = np.round(tw.run("heat2d", plane, steps=4, boundary="reflect") * 255)
        assert np.abs(shown[..., channel] - expected).max() <= 1


@pytest.mark.parametrize(
    ("source", "target", "depth"),
    [
        ("g.png", "o.png", 16),
        ("g.tif", "o.tif", 16),
        ("g.pgm", "o.png", 16),
        ("g.png", "o.jpg", 8),
        ("g.png", "o.bmp", 8),
    ],
)
def test_a_picture_keeps_its_depth_or_a_warning_says_that_it_does_not(cli, tmp_path, source, target, depth):
    pixels = np.random.default_rng(0).integers(0, 65536, (20, 30)).astype(np.uint16)
    Image.fromarray(pixels).save(tmp_path / source)
    result = cli("run", "heat2d", "--input", source, "--output", target, "--steps", 0)
    assert result.code == 0, result.err
    said = f"warning: '{target}' holds 8 bits per channel, the input 16 (hint: .png keeps 16, .npy everything)"
    assert (said in result.err.replace("\n", " ")) == (depth == 8)
    shown = np.asarray(Image.open(tmp_path / target))
    if depth == 16:
        np.testing.assert_array_equal(shown, pixels)
    else:
        assert shown.dtype == np.uint8
    cli("run", "heat2d", "--input", source, "--snapshots", target, "--every", 1, "--steps", 1)
    (snapshot,) = tmp_path.glob("o-*")
    assert np.asarray(Image.open(snapshot)).dtype == shown.dtype


def test_colour_of_16_bits_and_grey_floats_stay_what_they_are(cli, tmp_path):
    cv2 = pytest.importorskip("cv2")
    rng = np.random.default_rng(0)
    pixels, floats = rng.integers(0, 65536, (20, 30, 3)).astype(np.uint16), rng.normal(size=(20, 30)).astype("f4")
    for ending in (".png", ".tif", ".ppm"):
        (tmp_path / f"c{ending}").write_bytes(cv2.imencode(ending, pixels)[1].tobytes())
        result = cli("run", "heat2d", "--input", f"c{ending}", "--output", f"o{ending}", "--steps", 0)
        assert (result.code, "warning" in result.err) == (0, False), result.err
        back = cv2.imdecode(np.frombuffer((tmp_path / f"o{ending}").read_bytes(), np.uint8), cv2.IMREAD_UNCHANGED)
        np.testing.assert_array_equal(back, pixels)
    Image.fromarray(floats).save(tmp_path / "f.tif")
    assert cli("run", "heat2d", "--input", "f.tif", "--output", "g.tif", "--steps", 0).code == 0
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "g.tif")), floats)
    result = cli("run", "heat2d", "--input", "f.tif", "--output", "g.png", "--steps", 0)
    assert "'g.png' holds 16 bits per channel, the input 32" in result.err.replace("\n", " ")


def test_receivers_are_read_up_to_a_bound(refuses, tmp_path):
    np.save(tmp_path / "m.npy", np.full((31, 31), 2000.0))
    arguments = ("m.npy", "--spacing", 10, "--source", "100,100", "--time", 0.01, "--frequency", 15)
    with gzip.open(tmp_path / "r.txt.gz", "wb", 1) as file:
        for _ in range(100):
            file.write(b"20 100\n" * 10**5)
    for name in ("r.txt.gz", "/dev/zero"):
        said = refuses("shot", *arguments, "--receivers", name).replace("\n", " ")
        assert f"the text of receivers '{name}' may have at most 64 MiB, and has more" in said
    (tmp_path / "r.txt.gz").write_bytes((tmp_path / "r.txt.gz").read_bytes()[:5000])
    assert "cannot be read" in refuses("shot", *arguments, "--receivers", "r.txt.gz")
    assert "there is no folder" in refuses("shot", *arguments, "--receiver-depth", 20, "--output", "nowhere/t.npy")


def test_values_that_a_picture_cannot_show_are_announced(cli, tmp_path):
    np.save(tmp_path / "u.npy", np.full((8, 8), 3.0, dtype=np.float32))
    result = cli("run", "jacobi2d", "--input", "u.npy", "--output", "v.png", "--steps", 1)
    assert result.code == 0
    assert "64 values of 'u' outside 0 to 1 are clipped" in result.err


def test_the_same_seed_gives_the_same_data(cli, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        cli("run", "jacobi1d", "--shape", "100", "--steps", 3, "--seed", seed, "--output", f"{name}.npy")
    a, b, c = (np.load(tmp_path / f"{name}.npy") for name in "abc")
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()


def test_random_data_are_never_zeros_and_coefficients_are_small():
    u, k = random_arrays(program("heat2d_var"), (50, 60), "float32", 0)
    assert u.max() > 0.9
    assert 0 < k.max() <= 0.25
    (counts,) = random_arrays(program("jacobi1d"), (1000,), "int32", 0)
    assert set(counts) == set(range(10))


def test_random_data_need_their_fields_and_one_more_of_memory(monkeypatch):
    asked = []
    monkeypatch.setattr(samples, "check_memory", asked.append)
    random_arrays(program("heat2d_var"), (50, 60), "float64", 0)
    assert asked == [50 * 60 * 8 * 3]


def test_a_stencil_of_the_users_file_with_a_scalar(cli, tmp_path):
    (tmp_path / "mine.py").write_text("def heat(u, a):\n    return u[0] + a * (u[-1] - 2 * u[0] + u[1])\n")
    result = cli("run", "mine.py:heat", "--set", "a=0.25", "--shape", "500", "--steps", 20, "--check", "--json")
    assert result.code == 0, result.err
    assert result.json["program"] == "heat"


def test_a_wrong_result_exits_with_1(cli, monkeypatch):
    real = CpuKernel.run

    def wrong(kernel, problem, inputs, threads):
        results = real(kernel, problem, inputs, threads)
        results["u"][3, 4] += 1e-3
        return results

    monkeypatch.setattr(CpuKernel, "run", wrong)
    result = cli("run", "heat2d", "--shape", "20x20", "--steps", 3, "--check", "--json")
    assert result.code == 1
    assert result.json["checked"] is True
    assert result.json["within_bound"] is False
    assert "more than rounding explains" in result.err


def test_nan_is_computed_and_announced(cli, tmp_path):
    u = np.random.default_rng(6).random((40, 40), dtype=np.float32)
    u[20, 20] = np.nan
    np.save(tmp_path / "u.npy", u)
    result = cli("run", "jacobi2d", "--input", "u.npy", "--output", "v.npy", "--steps", 3, "--check", "--json")
    assert result.code == 0, result.err
    assert result.json["within_bound"] is True
    assert np.isnan(np.load(tmp_path / "v.npy")).sum() == 25
    assert "25 values of 'u' are not finite after 3 steps" in result.err


def test_without_a_compiler_numpy_computes(cli, monkeypatch, tmp_path):
    for name in ("CC", "TILEWRIGHT_CC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    forget_warnings()  # it is given once, and another test may have got it already
    with pytest.warns(UserWarning, match="install a C compiler"):
        result = cli("run", "jacobi2d", "--shape", "20x20", "--steps", 3, "--check", "--json")
    assert result.code == 0
    assert result.json["backend"] == "numpy"


def test_bad_input_is_refused_in_one_sentence(refuses, tmp_path):
    for args, code, part in [
        (("heat3", "--shape", "8x8"), 2, "did you mean heat3d"),
        (("heat2d",), 2, "--shape"),
        (("heat2d", "--shape", "8x8x8"), 2, "2 dimensions"),
        (("heat2d", "--shape", "0x8"), 2, "at least 1"),
        (("heat2d", "--shape", "900000x900000"), 2, "memory"),
        (("heat2d", "--shape", "8x8", "--tile", "hybrid:t=x"), 2, "whole number"),
        (("heat2d", "--shape", "8x8", "--tile", "hexagonal:t=4,s=8"), 2, ""),
        (("fdtd2d", "--shape", "8x8", "--tile", "hybrid:t=4,s=8x8", "--boundary", "hz=wrap"), 2, "wrap"),
        (("smith_waterman", "--shape", "8x8", "--tile", "hybrid:t=4,s=8x8"), 2, "recurrence"),
        (("heat2d", "--shape", "8x8", "--backend", "fortran"), 2, "backend"),
        (("heat2d", "--shape", "8x8", "--dtype", "text"), 2, "dtype"),
        (("heat2d", "--shape", "8x8", "--threads", "0"), 2, "threads"),
        (("heat2d", "--shape", "8x8", "--set", "a=1"), 2, "'a=1'"),
        (("heat2d", "--input", "absent.npy"), 2, "absent.npy"),
        (("heat2d", "--input", "cube.npy"), 2, "2 dimensions"),
        (("heat2d", "--input", "empty.npy"), 2, "at least 1"),
        (("heat2d", "--input", "text.npy"), 2, "text.npy"),
        (("heat2d", "--input", "flat.npy", "--shape", "9x9"), 2, "leave --shape out"),
        (("fdtd2d", "--input", "flat.npy"), 2, "as many --input, got"),
        (("heat2d", "--shape", "8x8", "--output", "v.txt"), 2, ".npy"),
        (("heat2d", "--shape", "8x8", "--output", "no/v.npy"), 2, "no folder"),
        (("heat2d", "--shape", "8x8", "--output", "v.npy", "--output", "w.npy"), 2, "2 times"),
    ]:
        np.save(tmp_path / "cube.npy", np.zeros((3, 3, 3)))
        np.save(tmp_path / "flat.npy", np.zeros((3, 3)))
        np.save(tmp_path / "empty.npy", np.zeros((0, 3)))
        (tmp_path / "text.npy").write_text("hello")
        assert part in refuses("run", *args, "--steps", 3, code=code), (args, code, part)


def test_looks_snapshots_masks_and_sources(cli, tmp_path):
    mask = np.ones((40, 50))
    mask[10:20] = 0
    np.save(tmp_path / "mask.npy", mask)
    heat = ("run", "heat2d", "--shape", "40x50")
    result = cli(*heat, "--steps", "20", "--every", "8", "--snapshots", str(tmp_path / "u.npy"), "--json")
    assert result.json["steps"] == 20
    assert sorted(path.name for path in tmp_path.glob("u-*")) == ["u-000008.npy", "u-000016.npy", "u-000020.npy"]
    settled = cli(*heat, "--steps", "100000", "--until", "1e-4", "--json").json
    assert 0 < settled["steps"] < 100000
    extra = ("--where", str(tmp_path / "mask.npy"), "--source", "8,8=1.0", "--source", "30,3=-0.5")
    assert cli(*heat, "--steps", "9", *extra, "--check", "--json").json["within_bound"]


def test_refusals_of_looks(cli):
    for extra, message in [
        (("--snapshots", "u.npy"), "--every 100"),
        (("--source", "x"), "CELL=VALUE"),
        (("--source", "8=1"), "not on the grid"),
        (("--until", "1", "--check"), "--check"),
        (("--where", "none.npy"), "no file"),
    ]:
        result = cli("run", "heat2d", "--shape", "40x50", "--steps", "4", *extra)
        assert result.code in {1, 2}, (extra, message)
        assert result.err.startswith("error: "), (extra, message)
        assert message in result.err, (extra, message)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "heat2d", "--stepz", "3"), "No such option: --stepz"),
        (("run", "heat2d", "--shape", "8x8", "--steps", "1.5"), "a whole number such as 1000"),
        (("nonsense",), "No such command 'nonsense'"),
        (("wisdom", "nonsense"), "No such command 'nonsense'"),
        (("wisdom", "import"), "Missing argument 'FILE'"),
        (("energy", "heat2d"), "error: give a program and its shape"),
        (("run",), "PROGRAM"),
        (("--nonsense",), "No such option: --nonsense"),
        (("predict", "heat2d", "--shape", "8x8", "--tile", "none", "--top", "3"), "nothing to rank"),
    ],
)
def test_every_error_has_one_form(cli, arguments, says):
    done = cli(*arguments)
    assert done.code == 2
    lines = done.err.splitlines()
    assert lines[0].startswith("error: ")
    assert says in lines[0]
    assert lines[1].startswith("hint: ")
    assert lines[1].endswith("--help says what it takes")
    assert len(lines) == 2


@pytest.mark.parametrize(("group", "commands"), [((), ("run", "wisdom")), (("wisdom",), ("list", "forget"))])
def test_a_group_alone_shows_its_help_and_a_wrong_name_its_commands(cli, group, commands):
    alone = cli(*group)
    assert (alone.code, alone.err) == (2, "")
    assert all(f" {each} " in alone.out for each in commands)
    hint = cli(*group, "nonsense").err.splitlines()[1]
    assert hint.startswith("hint: the commands are ")
    assert all(each in hint for each in commands)


@pytest.mark.parametrize("command", [*COMMANDS, "wisdom list", "wisdom export", "wisdom import", "wisdom forget"])
def test_no_error_of_any_command_is_empty(refuses, command):
    assert "No such option: --nonsense" in refuses(*command.split(), "--nonsense")


def test_research_stands_apart_in_the_help(cli):
    text = cli("--help").out
    panel = text[text.index("Research") :]
    for name in ("codesign", "area", "energy", "whatif"):
        assert name in panel
    assert "Compute a program" not in panel
