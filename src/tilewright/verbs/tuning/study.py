"""Plans, predictions and files -> studies, which pages and notebooks show."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.base.errors import TilewrightError
from tilewright.base.units import format_seconds, format_shape
from tilewright.costs.bottleneck import Roofline
from tilewright.costs.setting import make_setting
from tilewright.machines.machine import Machine
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.report.study import StudiedTiling, Study, TradeOff, Used
from tilewright.schedules.tiling import parse
from tilewright.tuning import select as selection
from tilewright.tuning import stencil
from tilewright.tuning.ranking import evaluated, families_of
from tilewright.tuning.spaces import space
from tilewright.verbs import provenance
from tilewright.verbs.predict import predicted
from tilewright.verbs.prediction import Prediction

_FILLED = 60
"""Candidates for which the model is asked again for traffic and energy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCase:
    """What a result is of; the model can be asked about it again."""

    problem: Problem
    machine: Machine
    model: str = "exact"  # ``exact`` or ``published``

    def predict(self, tiling: str) -> Prediction:
        """Ask the model about one tiling."""
        return predicted(stencil.on_machine(self.problem, self.machine, model=self.model), parse(tiling))

    def families(self) -> tuple[TradeOff, ...]:
        """Return the best tiling of every family by predicted time, best first."""
        setting, found = make_setting(self.problem, self.machine), []
        for family in families_of(self.problem, setting, self.model):
            sizes, result = evaluated(setting, family, self.model)
            index = selection.best(result.seconds, sizes)
            if index is None or result.joules is None or not np.isfinite(result.seconds[index]):
                continue
            tiling = str(space.tiling_at(family, sizes, index))
            found.append(
                TradeOff(tiling=tiling, seconds=float(result.seconds[index]), joules=float(result.joules[index]))
            )
        return tuple(sorted(found, key=lambda each: each.seconds))


def of_case(
    case: StudyCase,
    candidates: Sequence[StudiedTiling],  # the chosen tiling first
    explanation: Sequence[str] = (),  # lines; by default of the chosen tiling's prediction
    made: tuple[tuple[str, str], ...] = (),  # when, where and with what anything was measured
) -> Study:
    """Return the full study of a result: the model is asked for whatever the result does not hold."""
    from tilewright.verbs.bottleneck import explain
    from tilewright.verbs.energy.energy import compared

    filled = tuple(_filled(case, each) if place < _FILLED else each for place, each in enumerate(candidates))
    try:
        one = case.predict(filled[0].tiling)
    except TilewrightError as error:
        note = f"the model cannot say more about the chosen tiling: {error}"
        name, shape = case.problem.program.name, format_shape(case.problem.shape)
        title = f"{name} {shape}, {case.problem.steps} steps on {case.machine.name}"
        return Study(title=title, facts=(), candidates=filled, made=made, explanation=tuple(explanation), notes=(note,))
    why, pairs = explain(one), compared(case.problem, case.machine, model=case.model)
    front = tuple(TradeOff(tiling=str(p.tiling), seconds=p.seconds, joules=p.joules) for p in pairs.front)
    return Study(
        title=one.title,
        facts=one.facts() + _measured(filled[0], one),
        candidates=filled,
        roof=one.roof,
        front=front,
        families=case.families(),
        used=tuple(Used(name=each.name, kind=each.kind, use=each.use) for each in why.resources),
        gains=tuple((text, factor) for text, factor in why.speedups if factor > 1.0005),
        plain=provenance.in_plain_words(case.problem, case.machine, filled[0], one.costs, provenance.equals(filled)),
        made=made,
        tile=(case.problem, one.tiling),
        explanation=tuple(explanation) or (str(one),),
        notes=one.notes + _estimates(one) + above(one.roof, filled),
    )


def known_program(name: str) -> Program | None:
    """Return the built-in program of a name, or None."""
    return catalogue.program(name) if name in catalogue.names() else None


def _filled(case: StudyCase, each: StudiedTiling) -> StudiedTiling:
    """Add what the model says about a candidate; one that it knows nothing of stays as it is."""
    if each.dram_bytes is not None:
        return each
    try:
        known = case.predict(each.tiling).candidate()
    except TilewrightError:
        return each
    predicted = each.predicted if each.known else known.predicted
    return dataclasses.replace(
        each, predicted=predicted, flops=known.flops, dram_bytes=known.dram_bytes, joules=known.joules,
        bound_by=known.bound_by,
    )  # fmt: skip


def _measured(chosen: StudiedTiling, one: Prediction) -> tuple[tuple[str, str], ...]:
    """Say what was measured of the chosen tiling, where anything was."""
    if not chosen.measured:
        return ()
    speed = one.costs.gcells_per_second * one.costs.seconds / chosen.measured
    return (("measured time", f"{format_seconds(chosen.measured)}, {speed:.4g} GCells/s"),)


def _estimates(one: Prediction) -> tuple[str, ...]:
    """Say what is estimated, not measured."""
    found = ["C_iter"] if one.c_iter.source == "estimated" else []
    if one.costs.energy is not None and one.costs.energy.source == "estimated":
        found.append("the energy")
    return (f"estimated, not measured: {' and '.join(found)}",) if found else ()


def above(roof: Roofline | None, many: Sequence[StudiedTiling]) -> tuple[str, ...]:
    """Say which points lie above a roof, and why: a reader who sees them should not have to wonder."""
    if roof is None:
        return ()
    found = []
    moved = [_over(each, each.predicted, roof) for each in many if each.known]
    beyond = [over for over in moved if over > 1.0005]
    if beyond:
        found.append(
            f"{len(beyond)} of {len(moved)} predictions lie above the memory roof, by up to {max(beyond) - 1:.0%}: the "
            "roof is what the machine file calls sustained; models of thread blocks take 95 % of the data sheet's, and "
            "the time model charges every tile of a GPU the whole device's, as its paper prints it"
        )
    reached = [(each.flops or 0.0) / each.measured / roof.flops_per_second for each in many if each.measured]
    faster = [share for share in reached if share > 1.0005]
    if faster:
        found.append(
            f"{len(faster)} of {len(reached)} measured points lie above the roof of the arithmetic, by up to "
            f"{max(faster) - 1:.0%}: C_iter, by which it is drawn, is too long for the code that ran"
        )
    return tuple(found)


def _over(each: StudiedTiling, seconds: float, roof: Roofline) -> float:
    """Return how many times the memory's bandwidth a run of so many seconds takes; 0 where the bytes are unknown."""
    return (each.dram_bytes or 0.0) / seconds / roof.bytes_per_second
