"""What writes files in processes of its own: without end, until the disk is full, or as the command does."""

import fcntl
import itertools
import os
import random
import resource
import runpy
import sys
import time
import warnings

import numpy as np
from tests import forked
from tests.forked import tell

import tilewright as tw
from tilewright.base.paths import write_text
from tilewright.inputs.files import write_state
from tilewright.programs.stencil.catalogue import program
from tilewright.runtime import cache
from tilewright.runtime.formats.files import write_archive, write_planes
from tilewright.runtime.store import folder

forked.prepare(__name__)


def killed(work, numbers, paths):
    """Let a process write each path until a signal ends it, and return the last step or time that each finished."""
    draw = random.Random(f"{paths[0].suffix} {len(paths)}")  # noqa: S311  (reproducible, not secret)
    started, last = [forked.start(work, path) for path in paths], []
    for (process, told), number in zip(started, numbers, strict=True):
        assert told.poll(60)  # it writes
        time.sleep(draw.uniform(0, 0.15))
        last.append(int(forked.end(process, told, number)[1].split()[-1]))
    return last


@tw.stencil
def one_more(u):
    return u[0, 0] + 1


def write_series(path, done):
    """Write a series without end, and tell which steps are in it."""

    def finished(step, _):
        tell(done, step)

    tw.run(one_more, np.zeros((64, 80), "f4"), steps=10**6, every=1, out=path, callback=finished)


def replace(path, done):
    """Write a file again and again, and tell which are done."""
    known = program("j2d5pt")
    for k in itertools.count(1):
        values = np.full((300, 400), k % 200, "f4")
        {
            ".npy": lambda: write_planes(path, (values,)),  # noqa: B023
            ".npz": lambda: write_archive(path, {"u": values}),  # noqa: B023
            ".png": lambda: write_planes(path, (values / 255,)),  # noqa: B023
            ".txt": lambda: write_text(path, f"{k}\n" * 20000),  # noqa: B023
            ".h5": lambda: write_state(path, known, {"u": (values,)}),  # noqa: B023
            ".zarr": lambda: write_state(path, known, {"u": (values,)}),  # noqa: B023
        }[path.suffix]()
        tell(done, k)


@tw.stencil
def noise(u, k):
    return k[0, 0] * (u[0, 0] + 1)


def _limit(size):
    """No file may be longer, as on a disk that is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def write_until_full(path, limit, k, told):
    def stopping(step, _):
        if step == 3:
            _limit(limit)

    try:
        tw.run(noise, np.zeros((64, 80), "f4"), k, steps=40, every=1, out=path, callback=stopping)
    except tw.TilewrightError as error:
        tell(told, error)


def call(size, *given):
    """What ``python -m tilewright`` does, with files of a size at most."""
    *command, told = given
    if size is not None:
        _limit(size)
    with open(told.fileno(), "w", closefd=False) as stream:
        sys.argv, sys.stdout, sys.stderr = ["tilewright", *command], stream, stream
        runpy.run_module("tilewright", run_name="__main__")


def write_store(log, kernels, name, keys, disk, _told):
    """Append to one log and write one cache; of every key, as processes do that compile the same at the same time."""

    def unlocked(*_):
        raise OSError(37, "no locks")

    def halves(handle, data, write=os.write):
        middle = len(data) // 2
        return write(handle, data[:middle]) + write(handle, data[middle:])

    warnings.simplefilter("error")
    if "without locks" in disk:
        fcntl.flock = unlocked
    if "in halves" in disk:
        os.write = halves
    for key in range(keys):
        assert folder.append(log, {"writer": name, "key": key, "padding": name * (key % 40)})
        kernel = f"kernel {key} ".encode() * (200 + key)
        cache.save(kernels, f"{key}.so", kernel)
        assert cache.load(kernels, f"{key}.so") == kernel
