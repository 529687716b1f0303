"""Hostile arguments of calls from Python: one sentence of the package's own or a value, never anything else."""

import random
import re
import signal
import warnings
from collections import Counter

import pytest

from tilewright.base.errors import TilewrightError

from . import hostile, hostile_calls
from .conftest import sizes

SECONDS = 30.0
"""Processor time that one call may cost."""
LONGEST = 1100


def _late(*_):
    raise TimeoutError(f"more than {SECONDS} s of processor time")


def ended(call, right, folder):
    """Return how a call ended, and what is wrong with that."""
    signal.signal(signal.SIGPROF, _late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries, about what they are given
            call(folder)
    except TilewrightError as error:
        text = str(error)
        return "refused", "" if text.strip() and "\n" not in text and len(text) <= LONGEST else f"said {text[:500]!r}"
    except Exception as error:  # noqa: BLE001  (all failures are shown together)
        return "raised", f"{type(error).__name__}: {str(error)[:200]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "done", "" if right is ... else "was accepted"


@sizes(12, 10_000)
@pytest.mark.parametrize("area", hostile_calls.AREAS)
def test_hostile_calls(area, count, folders, monkeypatch, tally):
    if area in {"zarr stores", "states", "ranks"}:
        pytest.importorskip("zarr")
        pytest.importorskip("h5py")
        pytest.importorskip("mpi4py")
    if area == "labelled arrays":
        pytest.importorskip("xarray")
    monkeypatch.chdir(folders)
    cases = list(hostile_calls.AREAS[area]())
    draw = random.Random(hostile.SEED)  # noqa: S311
    found, wrong = Counter(), []
    for number, (name, call, right) in enumerate(draw.sample(cases, min(count, len(cases)))):
        folder = folders / f"case{number}"
        folder.mkdir()
        how, what = ended(call, right, folder)
        found[how] += 1
        wrong += [f"{re.sub(r'0x[0-9a-f]+', '…', name)}: {what}"] if what else []
    tally(f"hostile calls, {area}: {found.total()}; {dict(sorted(found.items()))}")
    assert not list(folders.rglob(hostile.TRAP))
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong)
