"""Signals are answered while a kernel computes: Ctrl-C, a notebook's interrupt, whatever has a handler in Python.

Python runs the handlers of signals in its main thread, between two steps of its own, and a kernel is a single one. So
kernels ask, between tiles, whether their results are still wanted (``tw_interrupted`` in their text). The function here
answers: about ten times a second it takes the interpreter's lock and lets handlers run. Where none raises, the kernel
goes on as if nothing had been; where one does, the kernel ends early, its threads at rest, and its caller gets the
exception. What is computed, and in which order, is the same whether anybody asks or not.

Other threads than the main one compute on: Python answers no signals there.
"""

import _thread
import ctypes
import threading
from typing import Any

from tilewright.codegen.source import KernelSource, c_source

HOOK = "tw_interrupted"  # the variable of a kernel's library that names what it asks
_TEXT = """#include <stdint.h>
#include <time.h>

typedef struct {
  void *python; /* what this thread computes for, while it holds no lock of the interpreter */
  double asked, served;
  int64_t patience;
  int raised;
} tw_state;
static __thread tw_state state;

static double tw_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *(*tw_leave)(void);
static void (*tw_enter)(void *);
static int (*tw_check)(void);

/* PyEval_SaveThread, PyEval_RestoreThread, PyErr_CheckSignals */
void tw_functions(void *leave, void *enter, void *check) {
  tw_leave = (void *(*)(void))leave;
  tw_enter = (void (*)(void *))enter;
  tw_check = (int (*)(void))check;
}

/* How often not to ask again, or -1: a handler has raised. Short tiles do not look at the clock each time; waiting for
   the lock, which another thread's Python may hold, takes a hundredth of the time at most. */
int64_t tw_pending(void) {
  if (!state.python) return INT64_MAX;
  if (state.raised) return -1;
  const double now = tw_now();
  if (state.served == 0) state.served = now;
  if (now - state.asked < 2e-5 && state.patience < 63) state.patience = 2 * state.patience + 1;
  if (now - state.asked > 1e-3) state.patience = 0;
  state.asked = now;
  if (now < state.served + 0.1) return state.patience;
  tw_enter(state.python);
  const double waited = tw_now() - now;
  state.raised = tw_check() != 0;
  state.python = tw_leave();
  state.asked = tw_now();
  state.served = state.asked + (waited < 0.004 ? 100 * waited : 0.4);
  return state.raised ? -1 : state.patience;
}

/* Call a kernel with four or five addresses, the interpreter's lock free; an exception may be set afterwards. */
void tw_call(void *kernel, int64_t count, void *a, void *b, void *c, void *d, void *e) {
  const tw_state outer = state; /* a handler may compute, too */
  state = (tw_state){.python = tw_leave()};
  if (count == 4) ((void (*)(void *, void *, void *, void *))kernel)(a, b, c, d);
  else ((void (*)(void *, void *, void *, void *, void *))kernel)(a, b, c, d, e);
  tw_enter(state.python);
  state = outer;
}
"""
_FUNCTIONS = ("PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_CheckSignals")


def source() -> KernelSource[None]:
    """Return the C text of what kernels ask and are called by; :class:`Calls` loads it."""
    return c_source(_TEXT, "tw_call")


class Calls:
    """Calls kernels so that signals are answered meanwhile."""

    def __init__(self, library: ctypes.CDLL) -> None:
        addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in _FUNCTIONS]
        library.tw_functions(*addresses)
        self._pending = ctypes.cast(library.tw_pending, ctypes.c_void_p)
        kinds = (ctypes.c_void_p, ctypes.c_int64, *(ctypes.c_void_p,) * 5)
        # Unlike others, a function of this kind is called with the interpreter's lock, and may raise.
        self._call = ctypes.PYFUNCTYPE(None, *kinds)(("tw_call", library))

    def heeding(self, library: ctypes.CDLL, function: Any) -> Any:  # noqa: ANN401  (of ctypes)
        """Return what calls a kernel; its function itself where nothing in it takes long."""
        try:
            ctypes.c_void_p.in_dll(library, HOOK).value = self._pending.value
        except ValueError:  # there is no such variable
            return function
        call, address = self._call, ctypes.cast(function, ctypes.c_void_p).value
        count = len(function.argtypes)
        rest = (None,) * (5 - count)

        def called(*arguments: int | None) -> None:
            if _thread.get_ident() == threading.main_thread().ident:
                call(address, count, *arguments, *rest)
            else:
                function(*arguments)

        return called
