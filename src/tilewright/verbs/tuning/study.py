"""Plans, predictions and files -> studies, which pages and notebooks show, with where measurements come from."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.base.documents import today, version
from tilewright.base.errors import TilewrightError, ToolchainError
from tilewright.base.units import format_seconds, format_shape
from tilewright.costs.bottleneck import Roofline
from tilewright.costs.setting import make_setting
from tilewright.costs.time import Costs
from tilewright.machines.machine import Machine
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.report.study import StudiedTiling, Study
from tilewright.schedules.tiling import parse
from tilewright.tuning import select as choices
from tilewright.tuning.ranking import evaluated, families_of
from tilewright.tuning.spaces import space
from tilewright.tuning.stencil import StencilWorkload
from tilewright.verbs.predict import predicted
from tilewright.verbs.prediction import Prediction

_FILLED = 60  # candidates for which the model is asked again for traffic and energy
_KEYS = ("date", "version", "backend", "processor", "compiler", "threads")
_LONGEST = 200
_NOISE = 0.02  # times that differ by less are called equal
_BOUND = {
    "compute": "the arithmetic takes longest",
    "memory": "moving data between memory and chip takes longest",
    "synchronisation": "waiting for each other takes longest",
}


def of_case(
    work: StencilWorkload,  # what a result is of; the model can be asked about it again
    candidates: Sequence[StudiedTiling],  # the chosen tiling first
    explanation: Sequence[str] = (),  # lines; by default of the chosen tiling's prediction
    made: tuple[tuple[str, str], ...] = (),  # when, where and with what anything was measured
) -> Study:
    """Return the full study of a result: the model is asked for whatever the result does not hold."""
    from tilewright.verbs.bottleneck import explain
    from tilewright.verbs.energy.energy import compared

    problem, machine = work.form, work.machine
    filled = tuple(_filled_tiling(work, each) if place < _FILLED else each for place, each in enumerate(candidates))
    try:
        prediction = predicted(work, parse(filled[0].tiling))
    except TilewrightError as error:
        note = f"the model cannot say more about the chosen tiling: {error}"
        title = f"{problem.program.name} {format_shape(problem.shape)}, {problem.steps} steps on {machine.name}"
        return Study(title=title, facts=(), candidates=filled, made=made, explanation=tuple(explanation), notes=(note,))
    why, front = explain(prediction), compared(problem, machine, model=work.model).front
    return Study(
        title=prediction.title,
        facts=prediction.facts() + _measured_facts(filled[0], prediction),
        candidates=filled,
        roof=prediction.roof,
        front=tuple(StudiedTiling(tiling=str(p.tiling), predicted=p.seconds, joules=p.joules) for p in front),
        families=_families(work),
        used=why.resources,
        gains=tuple((text, factor) for text, factor in why.speedups if factor > 1.0005),
        plain=_in_plain_words(problem, machine, filled, prediction.costs),
        made=made,
        tile=(problem, prediction.tiling),
        explanation=tuple(explanation) or (str(prediction),),
        notes=prediction.notes + _estimates(prediction) + above(prediction.roof, filled),
    )


def _families(work: StencilWorkload) -> tuple[StudiedTiling, ...]:
    """Return the best tiling of every family by predicted time, best first."""
    setting, tilings = make_setting(work.form, work.machine), []
    for family in families_of(work.form, setting, work.model):
        sizes, result = evaluated(setting, family, work.model)
        index = choices.best(result.seconds, sizes)
        if index is not None and result.joules is not None and np.isfinite(result.seconds[index]):
            tiling, seconds = str(space.tiling_at(family, sizes, index)), float(result.seconds[index])
            tilings.append(StudiedTiling(tiling=tiling, predicted=seconds, joules=float(result.joules[index])))
    return tuple(sorted(tilings, key=lambda each: each.predicted))


def known_program(name: str) -> Program | None:
    """Return the built-in program of a name, or None."""
    return catalogue.program(name) if name in catalogue.names() else None


def _filled_tiling(work: StencilWorkload, each: StudiedTiling) -> StudiedTiling:
    if each.dram_bytes is not None:
        return each
    try:
        candidate = predicted(work, parse(each.tiling)).candidate()
    except TilewrightError:
        return each
    return dataclasses.replace(
        each,
        predicted=each.predicted if each.known else candidate.predicted,
        flops=candidate.flops,
        dram_bytes=candidate.dram_bytes,
        joules=candidate.joules,
        bound_by=candidate.bound_by,
    )


def _measured_facts(chosen: StudiedTiling, prediction: Prediction) -> tuple[tuple[str, str], ...]:
    if not chosen.measured:
        return ()
    speed = prediction.costs.gcells_per_second * prediction.costs.seconds / chosen.measured
    return (("measured time", f"{format_seconds(chosen.measured)}, {speed:.4g} GCells/s"),)


def _estimates(prediction: Prediction) -> tuple[str, ...]:
    names = ["C_iter"] if prediction.c_iter.source == "estimated" else []
    if prediction.costs.energy is not None and prediction.costs.energy.source == "estimated":
        names.append("the energy")
    return (f"estimated, not measured: {' and '.join(names)}",) if names else ()


def above(roof: Roofline | None, many: Sequence[StudiedTiling]) -> tuple[str, ...]:
    """Say which points lie above a roof, and why: a reader who sees them should not have to wonder."""
    if roof is None:
        return ()
    remarks = []
    rates = [_over(each, each.predicted, roof) for each in many if each.known]
    beyond = [over for over in rates if over > 1.0005]
    if beyond:
        remarks.append(
            f"{len(beyond)} of {len(rates)} predictions lie above the memory roof, by up to {max(beyond) - 1:.0%}: the "
            "roof is what the machine file calls sustained; models of thread blocks take 95 % of the data sheet's, and "
            "the time model charges every tile of a GPU the whole device's, as its paper prints it"
        )
    reached = [(each.flops or 0.0) / each.measured / roof.flops_per_second for each in many if each.measured]
    faster = [share for share in reached if share > 1.0005]
    if faster:
        remarks.append(
            f"{len(faster)} of {len(reached)} measured points lie above the roof of the arithmetic, by up to "
            f"{max(faster) - 1:.0%}: C_iter, by which it is drawn, is too long for the code that ran"
        )
    return tuple(remarks)


def _over(each: StudiedTiling, seconds: float, roof: Roofline) -> float:
    """Return how many times the memory's bandwidth a run of so many seconds takes; 0 where the bytes are unknown."""
    return (each.dram_bytes or 0.0) / seconds / roof.bytes_per_second


def measured_here(backend: str, threads: int) -> dict[str, str]:
    """Describe the circumstances of a measurement that this process made."""
    from tilewright.runtime.host import cpu_name
    from tilewright.runtime.toolchains.cpu import toolchain

    try:
        compiler = toolchain().identity.partition(" ")[2].splitlines()[0]  # without the fingerprint of its files
    except ToolchainError:
        compiler = "none"
    runs = {"date": today(), "version": version(), "backend": backend, "processor": cpu_name()}
    return {**runs, "compiler": compiler, "threads": str(threads)}


def read_circumstances(document: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return what a document says of its circumstances, as names and texts; keys that are not known are left out."""
    circumstances = document.get("made")
    entries: Mapping[str, Any] = circumstances if isinstance(circumstances, dict) else {}
    return pairs({key: str(entries[key])[:_LONGEST] for key in _KEYS if isinstance(entries.get(key), str | int)})


def pairs(circumstances: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return circumstances as names and values for people."""
    names = {"date": "measured on", "version": "measured by", "backend": "backend", "processor": "processor"}
    texts = {key: f"tilewright {value}" if key == "version" else value for key, value in circumstances.items()}
    return tuple((names.get(key, key), texts[key]) for key in _KEYS if key in texts)


def _in_plain_words(problem: Problem, machine: Machine, candidates: Sequence[StudiedTiling], costs: Costs) -> str:
    """Say what was chosen, how many cost the model about the same, what it costs, and what was measured."""
    chosen = candidates[0]
    count = sum(each.known and each.predicted <= (1 + _NOISE) * chosen.predicted for each in candidates[1:])
    grid = " x ".join(map(str, problem.shape))
    expected = f"The model expects {format_seconds(chosen.predicted, keep=True)}{_range(chosen)}"
    sentences = [
        f"{problem.program.name} updates every cell of a grid of {grid} cells {problem.steps:,} times.",
        f"On {machine.title or machine.name} the choice is {chosen.tiling}: {parse(chosen.tiling).family.summary}.",
        f"{expected}; {_BOUND.get(costs.bound_by, costs.bound_by)}.",
    ]
    if count:
        sentences.append(
            f"{count} of the other tilings below are within {_NOISE:.0%} of that: the model cannot tell them apart."
        )
    if chosen.measured is not None:
        sentences.append(f"Measured were {format_seconds(chosen.measured, keep=True)}{_samples(chosen)}.")
    else:
        sentences.append("Nothing was run: every time on this page is what the model expects.")
        if machine.kind == "gpu":
            sentences.append("No code of tilewright ran on this GPU for it.")
    return " ".join(sentences)


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
