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


FakeDriver = _neighbour(HERE.parent / "runtime" / "fake_cuda.py").FakeDriver


def compile_cuda(text, architecture, *, strict):
    """In the place of NVRTC: a module's code is its text."""
    return SimpleNamespace(cubin=text.encode(), resources=None, architecture=architecture)


class EmulatedDriver(FakeDriver):
    """A driver of :mod:`fake_cuda` whose kernels compute."""

    def __init__(self, folder, **options):
        super().__init__(**options)
        self.folder, self.libraries, self.functions, self.numbers = folder, {}, {}, itertools.count(1)

    def do_cuModuleLoadData(self, module, code):
        number = next(self.numbers)
        text = code.decode().replace(ROOM, "")
        launchers = "\n".join(
            f"LAUNCHER({name})" for name in re.findall(r"^TW_KERNEL\(\w+\)\s*(\w+)\(", text, re.MULTILINE)
        )
        source, library = self.folder / f"module{number}.cpp", self.folder / f"module{number}.so"
        source.write_text(f'#include "threads.hpp"\n{text}\n{launchers}\n')
        command = ["g++", "-std=c++17", "-w", "-O0", "-shared", "-fPIC", f"-I{HERE}", source, "-o", library]
        subprocess.run(command, check=True)
        module._obj.value = number
        self.libraries[number] = ctypes.CDLL(str(library))
        return 0

    def do_cuModuleGetFunction(self, function, module, name):
        number = function._obj.value = next(self.numbers)
        self.functions[number] = getattr(self.libraries[module.value], f"launch_{name.decode()}")
        return 0

    def do_cuCtxGetCurrent(self, context):
        context._obj.value = self.current or None
        return 0

    def do_cuLaunchKernel(self, kernel, groups, _y, _z, threads, _ty, _tz, room, stream, arguments, extra):
        self.contexts.add(self.current)
        sizes = [ctypes.string_at(each, 8) for each in arguments]  # they are read before the call returns
        launch = self.functions[kernel.value]

        def act():
            boxes = [ctypes.create_string_buffer(size, 16) for size in sizes]
            launch(groups, threads, (ctypes.c_void_p * len(boxes))(*map(ctypes.addressof, boxes)))

        self.kernels.append(self.give(stream.value, act, "kernel"))
        return 0
