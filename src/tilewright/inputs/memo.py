"""Prepared problems of this process, so that a repeated call neither plans nor looks for its kernel again.

An entry counts as long as the compiler's variables stay the same and nothing new was tuned or calibrated; other
processes' tuning is noticed within a fraction of a second.
"""

import os
import time
from collections import OrderedDict
from typing import Any

from tilewright.driver import prepare
from tilewright.machines.machine import Machine
from tilewright.plan import Target
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.runtime import forks
from tilewright.runtime.kernels import Kernel
from tilewright.runtime.store import hosts, wisdom
from tilewright.schedules.tiling import Tiling

_MOST = 256
_LOOK_SECONDS = 0.2
_VARIABLES = ("TILEWRIGHT_CC", "CC", "TILEWRIGHT_STORE")
_lock = forks.lock()
_entries: "OrderedDict[tuple[Any, ...], Kernel]" = OrderedDict()
_hosts: dict[tuple[str | None, ...], tuple[float, Machine]] = {}
_seen: dict[str, Any] = {"when": 0.0, "wisdom": None}


def prepared(
    problem: Problem,
    target: Target,
    tiling: Tiling | str | None,
    *,
    strict: bool,
    copies: bool = True,
    storage: Storage = PLAIN,
) -> Kernel:
    """Return :func:`tilewright.driver.prepare`'s result, from an earlier call where there was one.

    A fallback to NumPy for want of a compiler is not kept.
    """
    key = (problem, target, tiling, strict, copies, storage, *map(os.environ.get, _VARIABLES))
    with _lock:
        _look()
        cached = _entries.get(key)
        if cached is not None:
            return cached
    kernel = prepare(problem, target, tiling, strict=strict, copies=copies, storage=storage)
    if kernel.plan.target.backend == "c":
        with _lock:
            _entries[key] = kernel
            while len(_entries) > _MOST:
                _entries.popitem(last=False)
    return kernel


def host() -> Machine:
    """Return this machine's CPU as :func:`tilewright.runtime.store.hosts.host` does; its store is asked at times."""
    key = tuple(map(os.environ.get, _VARIABLES))
    now = time.monotonic()
    with _lock:
        recent = _hosts.get(key)
    if recent is not None and now - recent[0] < _LOOK_SECONDS:
        return recent[1]
    machine = hosts.host()
    with _lock:
        _hosts.clear()
        _hosts[key] = (now, machine)
    return machine


def forget() -> None:
    """Forget everything that was prepared."""
    with _lock:
        _entries.clear()
        _hosts.clear()


def _look() -> None:
    """Drop everything if the wisdom store has changed."""
    now = time.monotonic()
    if now - _seen["when"] < _LOOK_SECONDS:
        return
    _seen["when"] = now
    current = wisdom.load()
    if current is not _seen["wisdom"]:
        _seen["wisdom"] = current
        _entries.clear()
