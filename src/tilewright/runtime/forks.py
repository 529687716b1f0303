"""Forks of a process that has run kernels (``multiprocessing``, PyTorch's ``DataLoader``): the children compute too.

GCC's OpenMP library keeps the threads of a parallel region waiting for the next one. They belong to the thread that
made them; a fork copies that thread and its list of them, but not the threads, and the child's first parallel region
waits for ever. So the threads are ended before a fork, in the thread that forks: it is in no parallel region then, its
next one makes new ones, and those of other threads are not touched, so that kernels that these run go on. This also
ends threads that another library started through the same OpenMP library, which are lost to the child as well.

The LLVM library (clang) starts anew in a child by itself. One that does neither (GCC 8 and older) gets a thread that
the fork did not copy, in the child and for each call.
"""

import _thread
import ctypes
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_PAUSE = "omp_pause_resource_all"
_HARD = 2
_GNU = "GOMP_parallel"
_LLVM = "__kmpc_fork_call"
_pauses: dict[int, Callable[[int], int]] = {}
"""By address, what ends the waiting threads of every OpenMP library in use."""
_forked: list[int] = []  # the thread of this process that was copied by a fork
_locks: "weakref.WeakSet[threading.Lock]" = weakref.WeakSet()
_hooked = threading.Event()
_forking = threading.Lock()
_held: list[threading.Lock] = []  # the locks that the fork in progress has taken


def protect(library: ctypes.CDLL, function: Callable[..., None]) -> Callable[..., None]:
    """Return a kernel's function made safe in a child that this process forks; itself where nothing need be done."""
    if not _hook():
        return function
    # The linker looks among the symbols of the whole process first: PyTorch's wheels bring an OpenMP library there.
    everywhere = ctypes.CDLL(None)
    openmp = everywhere if hasattr(everywhere, _GNU) else library
    if not hasattr(openmp, _GNU) or hasattr(openmp, _LLVM):
        return function
    pause = getattr(openmp, _PAUSE, None)
    if pause is None:
        return _Protected(function)
    _pauses[ctypes.cast(pause, ctypes.c_void_p).value or 0] = pause
    return function


def lock() -> threading.Lock:
    """Return a lock that a fork waits for, so that no child finds it taken by a thread that it does not have.

    What is done under it must take no other one of these locks and must not fork.
    """
    _hook()
    lock = threading.Lock()
    with _forking:  # a fork in progress goes through the locks
        _locks.add(lock)
    return lock


class _Protected:
    """A kernel's function that runs in a fresh thread where the calling one was copied by a fork."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function

    def __call__(self, *arguments: Any) -> None:  # noqa: ANN401  (addresses)
        if threading.get_ident() not in _forked:
            self._function(*arguments)
            return
        claim, finished = _thread.allocate_lock(), threading.Event()
        try:
            _thread.start_new_thread(_run, (self._function, arguments, claim, finished))
            finished.wait()
        except KeyboardInterrupt:
            begun = not claim.acquire(blocking=False)  # what has not begun never will
            while begun:  # the kernel still writes to the caller's memory
                with suppress(KeyboardInterrupt):
                    finished.wait()
                    begun = False
            raise


def _run(
    function: Callable[..., None], arguments: tuple[Any, ...], claim: _thread.LockType, finished: threading.Event
) -> None:
    if claim.acquire(blocking=False):
        try:
            function(*arguments)
        finally:
            finished.set()


def _hook() -> bool:
    """Be called at every fork from now on; return whether this system has forks."""
    if not hasattr(os, "register_at_fork"):
        return False
    if not _hooked.is_set():
        _hooked.set()
        os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
    return True


def _before() -> None:
    for each in (_forking, *sorted(_locks, key=id)):
        each.acquire()
        _held.append(each)
    for pause in list(_pauses.values()):
        pause(_HARD)


def _release() -> None:
    while _held:
        _held.pop().release()


def _in_child() -> None:
    _release()
    _forked[:] = [threading.get_ident()]
