"""Where results come from: date, version, processor, compiler; and what a page says of a result in plain words."""

from collections.abc import Mapping
from typing import Any

from tilewright.base.errors import ToolchainError
from tilewright.base.made import today, version
from tilewright.base.units import format_seconds
from tilewright.costs.time import Costs
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.problem import Problem
from tilewright.report.study import StudiedTiling
from tilewright.schedules.tiling import parse

_KEYS = ("date", "version", "backend", "processor", "compiler", "threads")
_LONGEST = 200
_NOISE = 0.02
"""Times that differ by less are called equal."""
_BOUND = {
    "compute": "the arithmetic takes longest",
    "memory": "moving data between memory and chip takes longest",
    "synchronisation": "waiting for each other takes longest",
}


def measured_here(backend: str, threads: int) -> dict[str, str]:
    """Describe the circumstances of a measurement that this process made."""
    from tilewright.runtime.host import cpu_name
    from tilewright.runtime.toolchains.cpu import toolchain

    try:
        compiler = toolchain().identity.partition(" ")[2].splitlines()[0]  # without the fingerprint of its files
    except ToolchainError:
        compiler = "none"
    found = {"date": today(), "version": version(), "backend": backend, "processor": cpu_name()}
    return {**found, "compiler": compiler, "threads": str(threads)}


def read(document: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return what a document says of its circumstances, as names and texts; keys that are not known are left out."""
    made = document.get("made")
    known: Mapping[str, Any] = made if isinstance(made, dict) else {}
    return pairs({key: str(known[key])[:_LONGEST] for key in _KEYS if isinstance(known.get(key), str | int)})


def pairs(made: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return circumstances as names and values for people."""
    names = {"date": "measured on", "version": "measured by", "backend": "backend", "processor": "processor"}
    texts = {key: f"tilewright {value}" if key == "version" else value for key, value in made.items()}
    return tuple((names.get(key, key), texts[key]) for key in _KEYS if key in texts)


def in_plain_words(problem: Problem, machine: Machine, chosen: StudiedTiling, costs: Costs, others: int) -> str:
    """Say what was chosen, beside ``others`` of the same cost to the model, what it costs, and what was measured."""
    grid = " x ".join(map(str, problem.shape))
    expected = f"The model expects {format_seconds(chosen.predicted, keep=True)}{_range(chosen)}"
    sentences = [
        f"{problem.program.name} updates every cell of a grid of {grid} cells {problem.steps:,} times.",
        f"On {machine.title or machine.name} the choice is {chosen.tiling}: {parse(chosen.tiling).family.summary}.",
        f"{expected}; {_BOUND.get(costs.bound_by, costs.bound_by)}.",
    ]
    if others:
        sentences.append(
            f"{others} of the other tilings below are within {_NOISE:.0%} of that: the model cannot tell them apart."
        )
    if chosen.measured is not None:
        sentences.append(f"Measured were {format_seconds(chosen.measured, keep=True)}{_samples(chosen)}.")
    else:
        sentences.append("Nothing was run: every time on this page is what the model expects.")
        if machine.kind == "gpu":
            sentences.append("No code of tilewright ran on this GPU for it.")
    return " ".join(sentences)


def equals(candidates: tuple[StudiedTiling, ...]) -> int:
    """Return how many candidates have about the time of the first."""
    first = candidates[0].predicted
    return sum(each.known and each.predicted <= (1 + _NOISE) * first for each in candidates[1:])


def _range(chosen: StudiedTiling) -> str:
    if chosen.interval is None:
        return ""
    low, high = (format_seconds(value, keep=True) for value in chosen.interval)
    return f" (four of five times from {low} to {high})"


def _samples(chosen: StudiedTiling) -> str:
    if chosen.measured_range is None:
        return ""
    low, high = (format_seconds(value, keep=True) for value in chosen.measured_range)
    return f" (samples from {low} to {high})" if low != high else ""
