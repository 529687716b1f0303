"""A stand-in for the driver that computes: a kernel's CUDA text is compiled by g++ and its threads take turns."""

# ruff: noqa: N802  (the driver's own names)

import ctypes
import importlib.util
import itertools
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).parent
ROOM = "extern __shared__ __align__(16) unsigned char tw_room[];"


def _neighbour(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fake = _neighbour(HERE.parent / "runtime" / "fake_cuda.py")


def compile_cuda(text, architecture, *, strict):
    """In the place of NVRTC: a module's code is its text."""
    return SimpleNamespace(cubin=text.encode(), resources=None, architecture=architecture)


class EmulatedDriver(fake.FakeDriver):
    """A driver of :mod:`fake_cuda` whose kernels compute."""

    def __init__(self, folder, **options):
        super().__init__(**options)
        self.folder, self.libraries, self.functions, self.numbers = folder, {}, {}, itertools.count(1)

    def do_cuLibraryLoadData(self, library, code):
        number = next(self.numbers)
        text = ctypes.string_at(code).decode().replace(ROOM, "")
        launchers = "\n".join(
            f"LAUNCHER({name})" for name in re.findall(r"^TW_KERNEL\(\w+\)\s*(\w+)\(", text, re.MULTILINE)
        )
        source, built = self.folder / f"module{number}.cpp", self.folder / f"module{number}.so"
        source.write_text(f'#include "threads.hpp"\n{text}\n{launchers}\n')
        command = ["g++", "-std=c++17", "-w", "-O0", "-shared", "-fPIC", f"-I{HERE}", source, "-o", built]
        subprocess.run(command, check=True)
        fake.put(library, ctypes.c_size_t, number)
        self.libraries[number] = ctypes.CDLL(str(built))

    def do_cuLibraryGetKernel(self, kernel, library, name):
        number = next(self.numbers)
        fake.put(kernel, ctypes.c_size_t, number)
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
