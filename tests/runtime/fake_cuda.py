"""A driver that keeps memory in this process, behind the real packages ``cuda.core`` and ``cuda.bindings``.

A small library takes the place of ``libcuda.so.1``: the packages find it under that name and every call of theirs comes
here. What is given to a stream is done as late as the driver's rules allow: when somebody waits for it, or for work
that comes after it. So whoever forgets to wait reads old values. Streams that block wait for the legacy default stream
and it for them, others do not; events order streams. Memory that is handed back is overwritten when its stream comes to
that, so that whoever still reads it gets nonsense. Every thread has its stack of contexts.
"""

# ruff: noqa: N802  (the driver's own names)

import atexit
import contextlib
import ctypes
import gc
import shutil
import subprocess
import tempfile
import threading
import traceback
from collections import defaultdict
from pathlib import Path

import pytest

PRIMARY = 100
"""The primary context of device n is this number plus n."""
NON_BLOCKING = 1
LEGACY, PER_THREAD = 1, 2
_INVALID_VALUE, _OUT_OF_MEMORY, _NO_DEVICE, _INVALID_CONTEXT, _NOT_FOUND, _UNKNOWN = 1, 2, 100, 201, 500, 999
_ATTRIBUTES = {
    97: 232448, 75: 9, 76: 0, 16: 132, 13: 1980000, 81: 233472, 1: 1024, 39: 2048, 106: 32, 82: 65536, 38: 52428800,
    115: 1,
}  # fmt: skip
_WORDS = 9
"""Arguments of a call that are seen, each as a word; those that are not there are whatever lies in their place."""
_NO_DEALLOCATION = 0xEE
"""What handed back memory is overwritten with."""
_QUIET = (
    "cuInit", "cuEventDestroy", "cuStreamDestroy", "cuGraphDestroy", "cuGraphExecDestroy", "cuLibraryUnload",
    "cuCtxGetStreamPriorityRange", "cuMemPoolDestroy", "cuDevicePrimaryCtxRelease",
    "cuUserObjectCreate", "cuGraphRetainUserObject", "cuGraphReleaseUserObject", "cuUserObjectRelease",
)  # fmt: skip
"""Calls that succeed and do nothing."""

Plain = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t))


def _int(word):
    return ctypes.c_int32(word & 0xFFFFFFFF).value


def put(address, kind, value):
    """Write a result of a call."""
    kind.from_address(address).value = value


class Work:
    """Something given to a stream, and what the driver does before it."""

    def __init__(self, name, act, before):
        self.name, self.act, self.before, self.done = name, act, [each for each in before if each is not None], False


class FakeDriver:
    """See the module; ``calls`` has the names of all calls with the thread's context at that moment."""

    def __init__(self, devices=("Card A", "Card B")):
        self.devices, self.launched, self.memory, self.set, self.failing = devices, [], {}, [], {}
        self.contexts, self.calls, self.retained, self.kernels = set(), [], [], []
        self.places, self.stacks, self.errors = {}, defaultdict(list), []
        self.streams, self.last, self.events = {LEGACY: True, PER_THREAD: True}, {}, {}
        self.captures, self.graphs, self.freed = {}, {}, []
        self.handles = iter(range(1000, 10**6))
        self.words = 0
        """Arguments that every kernel takes, where launches are to be looked at."""

    def call(self, name, words):
        """Do what one call of the driver asks for."""
        self.calls.append((name, self.current))
        if name in self.failing:
            return self.failing[name]
        done = getattr(self, f"do_{name}", None)
        if done is None:
            return 0
        count = done.__code__.co_argcount - hasattr(done, "__self__") - len(done.__defaults__ or ())
        return done(*words[:count]) or 0

    # What tests do in the caller's place.

    @property
    def stack(self):
        """The contexts of this thread, the current one last."""
        return self.stacks[threading.get_ident()]

    @property
    def current(self):
        """The current context of this thread, 0 for none."""
        return self.stack[-1] if self.stack else 0

    @current.setter
    def current(self, context):
        self.stack[-1:] = [context]

    def stream(self, flags=NON_BLOCKING):
        """Make a stream of the caller's."""
        handle = next(self.handles)
        self.streams[handle] = not flags & NON_BLOCKING
        return handle

    def give(self, stream, act=None, name="the caller's"):
        """Give work to a stream; it is done as late as possible."""
        stream = stream or LEGACY
        if stream in self.captures:
            self.graphs[self.captures[stream]].append((act, name))
            return Work(name, None, [])
        before = [self.last.get(stream)]
        if stream == LEGACY:
            before += [work for other, work in self.last.items() if self.streams.get(other)]
        elif self.streams.get(stream):
            before.append(self.last.get(LEGACY))
        self.last[stream] = Work(name, act, before)
        return self.last[stream]

    def given(self, stream):
        """The names of what a stream was given and has not done, in order."""
        work, names = self.last.get(stream), []
        while work is not None and not work.done:
            names.insert(0, work.name)
            work = work.before[0] if work.before else None
        return names

    def order(self, first, then):
        """Let one stream wait for what another was given so far, as a producer of DLPack does."""
        event = self.give(first, name="event")
        self.give(then, name="wait").before.append(event)

    def wait(self, work):
        """Do some work and everything that comes before it."""
        pending = [work] if work else []
        while pending:
            top = pending[-1]
            first = [each for each in top.before if not each.done]
            if first and not top.done:
                pending += first
                continue
            pending.pop()
            if not top.done:
                top.done = True
                if top.act:
                    top.act()

    def wait_for_all(self):
        """Do everything that any stream was given; the streams that are in use longest, the caller's, come last."""
        for work in reversed(list(self.last.values())):
            self.wait(work)

    # What the driver does.

    def do_cuDriverGetVersion(self, version):
        put(version, ctypes.c_int, 13000)

    def do_cuDeviceGetCount(self, count):
        put(count, ctypes.c_int, len(self.devices))

    def do_cuDeviceGet(self, handle, number):
        put(handle, ctypes.c_int, _int(number))

    def do_cuDevicePrimaryCtxRetain(self, context, device):
        put(context, ctypes.c_size_t, PRIMARY + _int(device))
        self.retained.append(_int(device))

    def do_cuCtxGetCurrent(self, context):
        put(context, ctypes.c_size_t, self.current)

    def do_cuCtxSetCurrent(self, context):
        self.stack[-1:] = [context] if context else []

    def do_cuCtxPushCurrent(self, context):
        self.stack.append(context)

    def do_cuCtxPopCurrent(self, context):
        if not self.stack:
            return _INVALID_CONTEXT
        put(context, ctypes.c_size_t, self.stack.pop())
        return 0

    def do_cuCtxGetDevice(self, device):
        if not self.current:
            return _INVALID_CONTEXT
        put(device, ctypes.c_int, self.current - PRIMARY)
        return 0

    def do_cuDeviceGetName(self, buffer, size, device):
        ctypes.memmove(buffer, self.devices[_int(device)].encode() + b"\0", len(self.devices[_int(device)]) + 1)

    def do_cuDeviceTotalMem(self, size, device):
        put(size, ctypes.c_size_t, 2**24)

    def do_cuDeviceGetAttribute(self, value, attribute, device):
        put(value, ctypes.c_int, _ATTRIBUTES[_int(attribute)])

    def do_cuDeviceGetPCIBusId(self, text, size, device):
        ctypes.memmove(text, f"0000:0{_int(device) + 1}:00.0\0".encode(), 13)

    def do_cuPointerGetAttribute(self, value, attribute, pointer):
        assert _int(attribute) == 9
        if pointer not in self.places:
            return _INVALID_VALUE
        put(value, ctypes.c_int, self.places[pointer])
        return 0

    def do_cuLibraryLoadData(self, library, code):
        put(library, ctypes.c_size_t, next(self.handles))

    def do_cuLibraryGetKernel(self, kernel, library, name):
        put(kernel, ctypes.c_size_t, next(self.handles))
        self.set.append(("function", ctypes.string_at(name)))

    def do_cuKernelSetAttribute(self, attribute, value, kernel, device):
        self.set.append((_int(attribute), _int(value)))

    def do_cuMemPoolCreate(self, pool, properties):
        # CUmemPoolProps: kind of allocation, kinds of handles, kind of place, number of the device.
        put(pool, ctypes.c_size_t, 7000 + (ctypes.c_int * 4).from_address(properties)[3])

    def do_cuMemPoolSetAttribute(self, pool, attribute, value):
        self.set.append((f"pool {pool - 7000}", ctypes.c_uint64.from_address(value).value))

    def do_cuMemPoolGetAttribute(self, pool, attribute, value):
        put(value, ctypes.c_uint64, 2**64 - 1)

    def do_cuMemAllocFromPoolAsync(self, pointer, size, pool, stream):
        if not self.current:
            return _INVALID_CONTEXT
        buffer = (ctypes.c_char * size)()
        address = ctypes.addressof(buffer)
        put(pointer, ctypes.c_size_t, address)
        self.memory[address] = buffer
        self.places[address] = pool - 7000
        return 0

    def do_cuMemFreeAsync(self, pointer, stream):
        if not self.current:
            return _INVALID_CONTEXT
        buffer = self.memory.pop(pointer, None)
        if buffer is None:
            return _INVALID_VALUE
        self.freed.append(stream)
        self.give(stream, lambda: ctypes.memset(buffer, _NO_DEALLOCATION, len(buffer)), "free")
        return 0

    def _copy(self, target, source, size, stream):
        self.give(stream, lambda: ctypes.memmove(target, source, size), "copy")

    def do_cuMemcpyHtoDAsync(self, target, source, size, stream):
        self._copy(target, source, size, stream)

    def do_cuMemcpyDtoHAsync(self, target, source, size, stream):
        self._copy(target, source, size, stream)

    def do_cuMemcpyDtoDAsync(self, target, source, size, stream):
        self._copy(target, source, size, stream)

    def do_cuMemcpy3DAsync(self, copy, stream):
        word = (ctypes.c_size_t * 25).from_address(copy)
        # CUDA_MEMCPY3D: x, y, z, lod, type, host, device, array, reserved, pitch, height; then width, height, depth.
        (sx, sy, sz), source, (source_pitch, source_height) = word[0:3], word[6], word[9:11]
        (tx, ty, tz), target, (target_pitch, target_height) = word[11:14], word[17], word[20:22]
        width, height, depth = word[22:25]

        def act():
            for z in range(depth):
                for y in range(height):
                    to = target + ((tz + z) * target_height + ty + y) * target_pitch + tx
                    ctypes.memmove(to, source + ((sz + z) * source_height + sy + y) * source_pitch + sx, width)

        self.give(stream, act, "copy")

    def do_cuLaunchKernelEx(self, config, kernel, arguments, extra):
        numbers = (ctypes.c_uint32 * 7).from_address(config)
        stream = ctypes.c_size_t.from_address(config + 32).value
        words = (ctypes.c_size_t * self.words).from_address(arguments) if self.words else ()
        values = [ctypes.c_int32.from_address(word).value for word in words]
        self.launched.append((numbers[0], numbers[3], numbers[6], values))
        self.contexts.add(self.current)
        self.kernels.append(self.give(stream, self.launch_of(kernel, arguments, numbers), "kernel"))

    def launch_of(self, kernel, arguments, numbers):
        """What a launch does; here nothing."""
        return

    def do_cuStreamCreateWithPriority(self, stream, flags, priority):
        if not self.current:
            return _INVALID_CONTEXT
        put(stream, ctypes.c_size_t, self.stream(_int(flags)))
        return 0

    def do_cuStreamGetCtx(self, stream, context):
        put(context, ctypes.c_size_t, self.current)

    def do_cuStreamIsCapturing(self, stream, status):
        put(status, ctypes.c_int, int(stream in self.captures))

    def do_cuStreamSynchronize(self, stream):
        self.wait(self.give(stream, name="synchronize"))

    def do_cuCtxSynchronize(self):
        self.wait_for_all()

    def do_cuStreamBeginCapture(self, stream, mode):
        assert stream not in {LEGACY, PER_THREAD}
        self.captures[stream] = next(self.handles)
        self.graphs[self.captures[stream]] = []

    def do_cuStreamGetCaptureInfo(self, stream, status, identity, graph):
        put(status, ctypes.c_int, int(stream in self.captures))
        if identity:
            put(identity, ctypes.c_uint64, stream)
        if graph:
            put(graph, ctypes.c_size_t, self.captures.get(stream, 0))

    def do_cuStreamEndCapture(self, stream, graph):
        put(graph, ctypes.c_size_t, self.captures.pop(stream))

    def do_cuGraphInstantiateWithParams(self, executable, graph, options):
        put(executable, ctypes.c_size_t, graph)

    def do_cuGraphLaunch(self, executable, stream):
        for act, name in self.graphs[executable]:
            work = self.give(stream, act, name)
            if name == "kernel":
                self.kernels.append(work)

    def do_cuEventCreate(self, event, flags):
        put(event, ctypes.c_size_t, next(self.handles))

    def do_cuEventRecord(self, event, stream):
        self.events[event] = self.give(stream, name="event")

    def do_cuStreamWaitEvent(self, stream, event, flags):
        self.give(stream, name="wait").before.append(self.events[event])

    def do_cuEventSynchronize(self, event):
        self.wait(self.events[event])

    def do_cuEventElapsedTime(self, milliseconds, first, last):
        put(milliseconds, ctypes.c_float, 2.5)


_active = []
"""The driver that calls go to, if any."""


def _dispatch(name, words):
    try:
        return _active[-1].call(name.decode(), words[:_WORDS])
    except Exception:  # noqa: BLE001  (it cannot pass through the packages)
        _active[-1].errors.append(traceback.format_exc())
        return _UNKNOWN


_callback = Plain(_dispatch)
_loaded = []


def _text():
    """The library: a function per call, which comes here while the interpreter runs."""
    names = [name.removeprefix("do_") for name in dir(FakeDriver) if name.startswith("do_")] + list(_QUIET)
    words = ", ".join(f"size_t a{number}" for number in range(_WORDS))
    listed = ", ".join(f"a{number}" for number in range(_WORDS))
    functions = "\n".join(
        f'static int f_{name}({words}) {{ size_t a[] = {{{listed}}}; return ask("{name}", a); }}' for name in names
    )
    table = "\n".join(f'if (!strcmp(name, "{name}")) {{ *to = (void *)f_{name}; return 0; }}' for name in names)
    return f"""
#include <stddef.h>
#include <string.h>
static int (*handler)(const char *, size_t *);
static int ask(const char *name, size_t *a) {{ return handler ? handler(name, a) : {_NO_DEVICE}; }}
void stand_in(int (*given)(const char *, size_t *)) {{ handler = given; }}
static int f_cuGetErrorName(int status, const char **text) {{
    *text = status == {_OUT_OF_MEMORY} ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_ILLEGAL_ADDRESS"; return 0;
}}
{functions}
int cuGetProcAddress(const char *name, void **to, int version, unsigned long long flags) {{
    if (!strcmp(name, "cuGetErrorName") || !strcmp(name, "cuGetErrorString")) {{
        *to = (void *)f_cuGetErrorName; return 0;
    }}
    {table}
    *to = 0;
    return {_NOT_FOUND};
}}
int cuGetProcAddress_v2(const char *name, void **to, int version, unsigned long long flags, int *status) {{
    int found = cuGetProcAddress(name, to, version, flags);
    if (status) *status = found ? 1 : 0;
    return found ? {_NOT_FOUND} : 0;
}}
"""


def _load():
    """Put the library in the place of the driver's, for the rest of the process."""
    if _loaded:
        return
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler for the stand-in")
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "driver.c", Path(folder) / "driver.so"
        source.write_text(_text())
        command = [compiler, "-shared", "-fPIC", "-w", "-O0", "-Wl,-soname,libcuda.so.1", source, "-o", library]
        subprocess.run(command, check=True)
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    seen = ctypes.CDLL("libcuda.so.1")
    if not hasattr(seen, "stand_in"):
        pytest.skip("this process uses a GPU's driver already")
    atexit.register(seen.stand_in, None)
    _loaded.append(seen)


@pytest.fixture(scope="module")
def settled():
    """Garbage is looked for once: what others hold by now is none, and is left out where a driver's memory goes."""
    gc.collect()
    gc.freeze()


@contextlib.contextmanager
def installed(fake):
    """Let all calls go to a driver; afterwards nothing must have gone wrong inside it."""
    from tilewright.runtime.devices import cuda

    pytest.importorskip("cuda.core")
    _load()
    for known in (cuda.library, cuda.opened):
        known.cache_clear()
    _active.append(fake)
    _loaded[0].stand_in(_callback)
    try:
        yield fake
    finally:
        gc.collect()
        cuda.opened.cache_clear()
        gc.collect()
        _active.remove(fake)
        _loaded[0].stand_in(None)
    assert not fake.errors, fake.errors[0]
