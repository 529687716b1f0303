"""Forward states in files."""

import gc
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import ArrayError, UsageError
from tilewright.verbs.gradients import checkpoints


def _gradient(program, levels, **options):
    draw = np.random.default_rng(3)
    u, k, worth = draw.random((3, 60))
    result, pullback = tw.vjp(program, u if levels == 1 else (u, 0.9 * u), 0.1 * k, steps=23, **options)
    return result, pullback, worth


@pytest.fixture
def folder(private_folders, tmp_path):
    made = tmp_path / "states"
    made.mkdir()
    return made


@tw.stencil
def heat(u, k):
    return u[0] + k[0] * (u[-1] - 2 * u[0] + u[1])


@tw.stencil
def wave(u, m):
    return 2 * u[0] - u.prev[0] + m[0] * (u[-1] - 2 * u[0] + u[1])


@pytest.mark.parametrize(("program", "levels"), [(heat, 1), (wave, 2)])
def test_the_gradient_is_the_same_and_files_go_with_the_pullback(folder, program, levels):
    result, pullback, worth = _gradient(program, levels, checkpoints=100)
    on_disk, from_disk, _ = _gradient(program, levels, checkpoints=5, disk=folder)
    np.testing.assert_array_equal(result, on_disk)
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    assert sizes == [levels * 60 * 8] * 4  # five segments, of which the first starts with the caller's arrays
    for _ in range(2):
        found, expected = from_disk(worth)[0], pullback(worth)[0]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
    del from_disk
    gc.collect()
    assert list(folder.iterdir()) == []


def test_nothing_is_written_where_states_fit_or_none_are_needed(folder):
    for program, count in ((heat, 2), ("jacobi1d", 1)):
        result, pullback = tw.vjp(program, *[np.ones(60)] * count, steps=6, disk=folder)
        pullback(result)
        assert list(folder.iterdir()) == []


def test_what_has_no_room_is_refused_before_the_run(folder, monkeypatch):
    monkeypatch.setattr(checkpoints.shutil, "disk_usage", lambda _: SimpleNamespace(free=1500))
    with pytest.raises(ArrayError, match=r"4 forward states need 1\.875 KiB in .* where 1\.465 KiB are free"):
        _gradient(heat, 1, checkpoints=5, disk=folder)
    with pytest.raises(UsageError, match="disk is a folder"):
        _gradient(heat, 1, disk=folder / "missing")
