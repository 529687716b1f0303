"""``tilewright fuse`` and ``tilewright image``."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from tilewright.base.units import format_seconds
from tilewright.cli.app import app

runner = CliRunner()


def invoke(*arguments):
    return runner.invoke(app, [str(a) for a in arguments])


def picture(path, shape=(40, 50), *, bits=8, colour=False):
    values = np.random.default_rng(0).random((*shape, 3) if colour else shape)
    pixels = (values * (2**bits - 1)).astype(np.uint8 if bits == 8 else np.uint16)
    if bits == 16 and colour:
        cv2 = pytest.importorskip("cv2", reason="needs pip install 'tilewright[image]'")
        cv2.imwrite(str(path), pixels[..., ::-1])
    else:
        Image.fromarray(pixels).save(path)
    return pixels


def test_fuse_prints_one_document():
    result = invoke("fuse", "canny", "--shape", "2048x2048", "--machine", "gtx590", "--top", 3, "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["full_fusion_halos"]["G4"] == [4, 1]
    assert len(document["candidates"]) == 3
    assert set(document["candidates"][0]["groups"][0]["configuration"]) >= {"T_y", "T_x", "N_y", "N_x", "occupancy"}


def test_fuse_lists_every_configuration_and_the_basic_one_beside_it():
    words = ("fuse", "blur", "--radius", "7", "--shape", "4096x4096", "--machine", "gtx780", "--fusion", "full")
    result = invoke(*words, "--model", "published", "--configurations", "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    (group,) = document["configurations"]
    basic = group["basic"]
    # (27) and (28): G1 is 32 x 32 and G2 32 x 16 cells of 4 B with their halos; (29): 2048 threads / 256
    assert [basic[key] for key in ("T_y", "T_x", "N_y", "N_x", "threads", "shared_bytes", "resident_blocks")] == [
        16,
        16,
        1,
        1,
        256,
        6144,
        8,
    ]
    assert (basic["occupancy"], basic["iterations"], basic["remaining_blocks"]) == (1.0, 682, 64)
    assert group["halos"] == {"G1": [7, 7], "G2": [7, 0]}
    first = document["candidates"][0]
    assert first["groups"][0]["basic"]["seconds"] == basic["seconds"]
    assert group["configurations"][0]["seconds"] == first["groups"][0]["seconds"] == first["seconds"]
    assert first["interval"]["low"] < first["seconds"] < first["interval"]["high"]
    said = invoke(*words, "--model", "published", "--configurations").stdout
    ratio = basic["seconds"] / first["seconds"]
    assert f"; with blocks of (16, 16, 1, 1) {format_seconds(basic['seconds'])}, {ratio:.2f} times as long" in said
    rows = [line.split() for line in said.splitlines()]
    listed = [row for row in rows if row and (row[0].isdecimal() or row[0] == "basic")]
    assert len(listed) == len(group["configurations"]) + 1
    assert listed[-1] == [
        "basic",
        "16x16",
        "1x1",
        "256",
        "6",
        "KiB",
        "8",
        "100%",
        "682",
        "64",
        *format_seconds(basic["seconds"]).split(),
    ]
    assert "the machine is sm_35" in said or "needs" in said


def test_fuse_takes_a_users_pipeline(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import tilewright as tw\n"
        "across = tw.stencil(lambda u: u[0, 1] - u[0, -1], name='across')\n"
        "@tw.pipeline\n"
        "def twice(image):\n"
        "    return across(across(image))\n"
    )
    result = invoke("fuse", f"{file}:twice", "--machine", "host", "--shape", "512x512", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["full_fusion_halos"] == {"G1": [0, 2], "G2": [0, 1]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fuse", "cany"), "did you mean canny"),
        (("fuse", "blur", "--machine", "gtx59"), "there is no machine"),
        (("fuse", "blur", "--shape", "4096"), "2 dimensions"),
        (("fuse", "blur", "--fusion", "S1 | S9"), "every stencil"),
        (("fuse", "blur", "--top", "0"), "top is a whole number"),
        (("fuse", "blend", "--radius", "2"), "takes no option 'radius'"),
        (("fuse", "blur", "--boundary", "sphere"), "a boundary is one of"),
        (("image", "sharpen", "a.png", "b.png"), "blur, canny, sobel"),
        (("image", "blur", "missing.png", "b.png"), "there is no file"),
        (("image", "blur", "missing.txt", "b.png"), "a picture ends in"),
        (
            ("image", "sobel", "a.png", "b.png", "--sigma", "2"),
            "image sobel blurs nothing: --sigma is for blur and canny",
        ),
        (
            ("image", "sobel", "a.png", "b.png", "--high", "0.3"),
            "image sobel has no thresholds: --low and --high are for",
        ),
        (
            ("image", "blur", "a.png", "b.png", "--low", "0.2"),
            "image blur has no thresholds: --low and --high are for canny",
        ),
        (("fuse", "blur", "--fusion", "full", "--top", "2"), "--fusion names one fusion"),
        (("image", "blur", "missing.png", "b.txt"), "a picture ends in"),
        (("image", "blur", "missing.png", "nowhere/b.png"), "there is no folder"),
    ],
)
def test_mistakes_are_one_sentence(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments)
    assert result.exit_code in {1, 2}
    assert message in result.stderr
    assert len(result.stderr.splitlines()) <= 8


@pytest.mark.parametrize(
    ("name", "bits", "colour"),
    [("a.png", 8, False), ("a.png", 8, True), ("a.png", 16, False), ("a.png", 16, True), ("a.tif", 16, True),
     ("a.tiff", 8, True), ("a.jpg", 8, True), ("a.jpg", 8, False)],
)  # fmt: skip
def test_image_keeps_depth_and_colour(tmp_path, name, bits, colour):
    from scipy import ndimage

    pixels = picture(tmp_path / name, bits=bits, colour=colour)
    result = invoke("image", "blur", tmp_path / name, tmp_path / "out.png", "--sigma", "1.5", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["bits"] == bits
    if bits == 16 and colour:
        import cv2

        written = cv2.imread(str(tmp_path / "out.png"), cv2.IMREAD_UNCHANGED)[..., ::-1]
    else:
        written = np.asarray(Image.open(tmp_path / "out.png"))
    assert written.shape == pixels.shape
    if name.endswith("jpg"):
        return
    sigmas = (1.5, 1.5, 0) if colour else 1.5
    expected = ndimage.gaussian_filter(pixels.astype(np.float64), sigmas)
    assert np.abs(written.astype(np.float64) - expected).max() <= 1


def test_image_canny_writes_an_edge_map(tmp_path):
    from skimage import color, feature

    pixels = picture(tmp_path / "in.png", (90, 110), colour=True)
    result = invoke("image", "canny", tmp_path / "in.png", tmp_path / "out.png", "--sigma", "1.4", "--low", "0.1",
                    "--high", "0.2")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    written = np.asarray(Image.open(tmp_path / "out.png"))
    expected = feature.canny(color.rgb2gray(pixels), 1.4, 0.1, 0.2)
    both = np.count_nonzero((written == 255) & expected)
    assert set(np.unique(written)) <= {0, 255}
    assert 2 * both >= 0.99 * (np.count_nonzero(written) + np.count_nonzero(expected))


def test_image_sobel_of_a_deep_picture(tmp_path):
    picture(tmp_path / "in.png", bits=16)
    result = invoke("image", "sobel", tmp_path / "in.png", tmp_path / "out.tif")
    assert result.exit_code == 0, result.stderr
    assert np.asarray(Image.open(tmp_path / "out.tif")).dtype == np.uint16


def test_broken_pictures_are_refused(tmp_path):
    whole = tmp_path / "whole.png"
    picture(whole, bits=16, colour=True)
    data = whole.read_bytes()
    for name, content in (("cut.png", data[:200]), ("text.png", b"hello"), ("empty.tif", b""), ("head.png", data[:26])):
        (tmp_path / name).write_bytes(content)
        result = invoke("image", "blur", tmp_path / name, tmp_path / "out.png")
        assert result.exit_code == 2, name
        assert "picture" in result.stderr


@pytest.mark.parametrize("command", [("image", "blur", "in.png", "out.png"), ("fuse", "blur", "--shape", "64x64")])
def test_the_old_name_of_boundaries_is_refused_with_the_new_one(command):
    result = invoke(*command, "--border", "wrap")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: the option border (--border) was removed in version 0.3.0\n"
        "hint: write boundary (--boundary), its name in tw.run\n"
    )


def test_a_boundary_that_is_set_for_runs_is_none_of_pipelines(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_BOUNDARY", "fixed")
    picture(tmp_path / "in.png", bits=8, colour=False)
    assert invoke("image", "sobel", tmp_path / "in.png", tmp_path / "out.png").exit_code == 0
