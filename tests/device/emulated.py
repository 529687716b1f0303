"""A stand-in for the driver that computes: a kernel's CUDA text is compiled by g++ and its threads take turns."""

# ruff: noqa: N802  (the driver's own names)

import ctypes
import itertools
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

from tests.runtime.fake_cuda import FakeDriver, put

HEADER = Path(__file__).with_name("threads.hpp")
ROOM = "extern __shared__ __align__(16) unsigned char tw_room[];"
COMPILER = ["g++", "-std=c++17", "-w", "-O0", "-fPIC"]


def compile_cuda(text, architecture, *, strict):
    """In the place of NVRTC: a module's code is its text."""
    return SimpleNamespace(cubin=text.encode(), resources=None, architecture=architecture)


class EmulatedDriver(FakeDriver):
    """A driver of :mod:`fake_cuda` whose kernels compute; of the same text they are compiled once."""

    def __init__(self, folder, built, **options):
        super().__init__(**options)
        self.folder, self.built, self.libraries, self.functions = folder, built, {}, {}
        self.numbers = itertools.count(1)

    def do_cuLibraryLoadData(self, library, code):
        number, text = next(self.numbers), ctypes.string_at(code).decode().replace(ROOM, "")
        if text not in self.built:
            self.built[text] = self._compiled(text)
        place = shutil.copy(self.built[text], self.folder / f"module{number}.so")  # variables of its own
        put(library, ctypes.c_size_t, number)
        self.libraries[number] = ctypes.CDLL(str(place))

    def _compiled(self, text):
        names = re.findall(r"^TW_KERNEL\(\w+\)\s*(\w+)\(", text, re.MULTILINE)
        launchers = "\n".join(f"LAUNCHER({name})" for name in names)
        folder, number = self.built["folder"], len(self.built)
        source, header = folder / f"{number}.cpp", folder / HEADER.name
        if not header.exists():
            shutil.copy(HEADER, header)
            subprocess.run([*COMPILER, "-x", "c++-header", header], check=True)
        source.write_text(f'#include "{header.name}"\n{text}\n{launchers}\n')
        subprocess.run([*COMPILER, "-shared", source, "-o", source.with_suffix(".so")], check=True)
        return source.with_suffix(".so")

    def do_cuLibraryGetKernel(self, kernel, library, name):
        number = next(self.numbers)
        put(kernel, ctypes.c_size_t, number)
        name = ctypes.string_at(name).decode()
        count = getattr(self.libraries[library], f"count_{name}")()
        self.functions[number] = getattr(self.libraries[library], f"launch_{name}"), count

    def launch_of(self, kernel, arguments, numbers):
        launch, count = self.functions[kernel]
        places = (ctypes.c_size_t * count).from_address(arguments)
        sizes = [ctypes.string_at(place, 8) for place in places]  # they are read before the call returns
        groups, threads = numbers[0], numbers[3]

        def act():
            boxes = [ctypes.create_string_buffer(size, 16) for size in sizes]
            launch(groups, threads, (ctypes.c_void_p * len(boxes))(*map(ctypes.addressof, boxes)))

        return act
