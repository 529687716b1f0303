"""A stand-in for CUDA's driver: memory is this process's own, kernels do nothing but being noted, streams are real.

Work that is given to a stream is done as late as the driver's rules allow: when somebody waits for it, or for work
that comes after it. So whoever forgets to wait reads old values. Streams that block wait for the legacy default stream
and it for them, others do not; events order streams. Every thread has its stack of contexts.
"""

# ruff: noqa: N802, N815  (the driver's own names)

import ctypes
import threading
from collections import defaultdict

PRIMARY = 100
"""The primary context of device n is this number plus n."""
NON_BLOCKING = 1
_LEGACY, _PER_THREAD = 1, 2
_INVALID_VALUE, _INVALID_CONTEXT = 1, 201
_ATTRIBUTES = {
    97: 232448, 75: 9, 76: 0, 16: 132, 13: 1980000, 81: 233472, 1: 1024, 39: 2048, 106: 32, 82: 65536, 38: 52428800,
}  # fmt: skip


class Work:
    """Something given to a stream, and what the driver does before it."""

    def __init__(self, name, act, before):
        self.name, self.act, self.before, self.done = name, act, [each for each in before if each is not None], False


class FakeDriver:
    """See the module; ``calls`` has the names of all calls with the thread's context at that moment."""

    def __init__(self, devices=("Card A", "Card B")):
        self.devices, self.launched, self.memory, self.set, self.failing = devices, [], {}, [], {}
        self.contexts, self.calls, self.retained, self.kernels = set(), [], [], []
        self.places, self.stacks = {}, defaultdict(list)
        self.streams, self.last, self.events = {_LEGACY: True, _PER_THREAD: True}, {}, {}
        self.handles = iter(range(1000, 10**6))

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append((name, self.current))
            if name in self.failing:
                return self.failing[name]
            done = getattr(type(self), f"do_{name}", None)
            return 0 if done is None else done(self, *arguments)

        return call

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
        stream = stream or _LEGACY
        before = [self.last.get(stream)]
        if stream == _LEGACY:
            before += [work for other, work in self.last.items() if self.streams[other]]
        elif self.streams[stream]:
            before.append(self.last.get(_LEGACY))
        self.last[stream] = Work(name, act, before)
        return self.last[stream]

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

    def do_cuDeviceGetCount(self, count):
        count._obj.value = len(self.devices)
        return 0

    def do_cuDeviceGet(self, handle, number):
        handle._obj.value = number
        return 0

    def do_cuDevicePrimaryCtxRetain(self, context, handle):
        context._obj.value = PRIMARY + handle.value
        self.retained.append(handle.value)
        return 0

    def do_cuCtxSetCurrent(self, context):
        self.current = context.value
        return 0

    def do_cuCtxPushCurrent_v2(self, context):
        self.stack.append(context.value)
        return 0

    def do_cuCtxPopCurrent_v2(self, context):
        if not self.stack:
            return _INVALID_CONTEXT
        context._obj.value = self.stack.pop()
        return 0

    def do_cuDeviceGetName(self, buffer, _, handle):
        buffer.value = self.devices[handle.value].encode()
        return 0

    def do_cuDeviceTotalMem_v2(self, size, _):
        size._obj.value = 2**24
        return 0

    def do_cuDeviceGetAttribute(self, value, number, _):
        value._obj.value = _ATTRIBUTES[number]
        return 0

    def do_cuDeviceGetPCIBusId(self, text, _, handle):
        text.value = f"0000:0{handle.value + 1}:00.0".encode()
        return 0

    def do_cuPointerGetAttribute(self, value, attribute, pointer):
        assert attribute == 9
        if pointer.value not in self.places:
            return _INVALID_VALUE
        value._obj.value = self.places[pointer.value]
        return 0

    def do_cuModuleGetFunction(self, function, _, name):
        function._obj.value = 1
        self.set.append(("function", name))
        return 0

    def do_cuFuncSetAttribute(self, _, attribute, value):
        self.set.append((attribute, value))
        return 0

    def do_cuMemAlloc_v2(self, pointer, size):
        if not self.current:
            return _INVALID_CONTEXT
        buffer = (ctypes.c_char * size.value)()
        pointer._obj.value = ctypes.addressof(buffer)
        self.memory[pointer._obj.value] = buffer
        self.places[pointer._obj.value] = self.current - PRIMARY
        return 0

    def do_cuMemFree_v2(self, pointer):
        if not self.current:
            return _INVALID_CONTEXT
        self.wait_for_all()
        del self.memory[pointer.value]
        return 0

    def do_cuMemcpyHtoD_v2(self, target, source, size):
        self.wait(self.give(0, lambda: ctypes.memmove(target.value, source.value, size.value), "copy"))
        return 0

    do_cuMemcpyDtoH_v2 = do_cuMemcpyHtoD_v2

    def do_cuMemcpyDtoD_v2(self, target, source, size):
        self.give(0, lambda: ctypes.memmove(target.value, source.value, size.value), "copy")
        return 0

    def do_cuMemcpyDtoDAsync_v2(self, target, source, size, stream):
        self.give(stream.value, lambda: ctypes.memmove(target.value, source.value, size.value), "copy")
        return 0

    def do_cuLaunchKernel(self, kernel, groups, _y, _z, threads, _ty, _tz, room, stream, arguments, extra):
        numbers = [ctypes.cast(each, ctypes.POINTER(ctypes.c_int32)).contents.value for each in arguments]
        self.launched.append((groups, threads, room, numbers))
        self.contexts.add(self.current)
        self.kernels.append(self.give(stream.value, name="kernel"))
        return 0

    def do_cuStreamCreate(self, stream, flags):
        if not self.current:
            return _INVALID_CONTEXT
        stream._obj.value = self.stream(flags)
        return 0

    def do_cuStreamSynchronize(self, stream):
        self.wait(self.give(stream.value, name="synchronize"))
        return 0

    def do_cuCtxSynchronize(self):
        self.wait_for_all()
        return 0

    def do_cuEventCreate(self, event, _):
        event._obj.value = next(self.handles)
        return 0

    def do_cuEventRecord(self, event, stream):
        self.events[event.value] = self.give(stream.value, name="event")
        return 0

    def do_cuStreamWaitEvent(self, stream, event, _):
        self.give(stream.value, name="wait").before.append(self.events[event.value])
        return 0

    def do_cuEventSynchronize(self, event):
        self.wait(self.events[event.value])
        return 0

    def do_cuEventElapsedTime(self, milliseconds, _first, _last):
        milliseconds._obj.value = 2.5
        return 0

    def do_cuGetErrorName(self, status, text):
        text._obj.value = b"CUDA_ERROR_ILLEGAL_ADDRESS"
        return 0
