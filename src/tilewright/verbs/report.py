"""``tilewright report``: results as one self-contained HTML page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tilewright.base import documents
from tilewright.base.documents import Amount, Check, shortened, today, version
from tilewright.base.errors import TilewrightError, UsageError
from tilewright.base.paths import check_there
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import Program
from tilewright.report import page
from tilewright.report.study import StudiedTiling, Study
from tilewright.runtime.formats.logs import read_text
from tilewright.runtime.warn import warn_skipped
from tilewright.schedules.tiling import is_gone, parse
from tilewright.tuning import stencil
from tilewright.verbs.options import FileDefaults
from tilewright.verbs.predict import as_machine, select
from tilewright.verbs.prediction import Prediction
from tilewright.verbs.tuning import study
from tilewright.verbs.tuning.plan import Plan

_MOST = 10_000
_LONGEST = 500
Result = Plan | Prediction | Study


def report(
    results: Sequence[Result] | Result,
    path: str | Path,
    *,
    title: str = "tilewright report",
    command: str = "",
) -> Path:
    """Write results as one HTML page: rooflines, predicted against measured, candidates, Pareto sets, explanations.

    The page loads nothing and runs no script.

    Args:
        results: Plans of :func:`tilewright.tune`, predictions, or studies of :func:`of_file` and :func:`of_problem`.
        path: The file to write, ``.html``.
        title: The page's title.
        command: The command that makes the page, to be shown on it.

    Returns:
        The path.

    Raises:
        UsageError: If there is nothing to show, matplotlib is missing, or the file cannot be written.
    """
    many = [results] if isinstance(results, Plan | Prediction | Study) else list(results)
    if not many:
        raise UsageError("there is nothing to report", "give a file that `tilewright tune … --json` printed")
    remarks = [f"Made on {today()} by tilewright {version()}"]
    remarks += [f"with the command {command}"] if command else []
    return page.write([_study(each) for each in many], Path(path), title, ", ".join(remarks))


def _study(result: Result) -> Study:
    return result if isinstance(result, Study) else result.study()


def of_problem(program: Program, context: FileDefaults, top: int = 40) -> Study:
    """Return the study of a problem on a machine from the models alone: nothing is compiled or run."""
    if context.shape is None or not context.steps:
        raise UsageError("a report of a program needs its shape and steps", "give --shape 4096x4096 --steps 256")
    machine = as_machine(context.machine or "host")
    ranked = select(
        program, shape=context.shape, steps=context.steps, machine=machine, within=None, top=top, dtype=context.dtype,
        boundary=context.boundary,
    )  # fmt: skip
    first = ranked[0]
    assert isinstance(first.problem, Problem)  # noqa: S101  (a program has no table)
    work = stencil.on_machine(first.problem, machine, model=first.model)
    return study.of_case(work, [each.candidate() for each in ranked])


def of_file(path: Path, context: FileDefaults) -> Study:
    """Read what ``tune --json`` or ``predict --json`` printed, or a tuning log of the store (``.jsonl``)."""
    where = repr(str(path))
    if not path.exists():
        raise _missing(str(path))
    if path.suffix == ".jsonl":
        return _of_log(path, context)
    hint = "give a file that `tilewright tune … --json` printed"
    document = documents.decode_json(read_text(path), where, hint)
    if not isinstance(document, dict) or "program" not in document or "machine" not in document:
        raise UsageError(f"{where} is not what tune or predict print", hint)
    rows = document.get("candidates") or [document.get("winner") or document]
    if not isinstance(rows, list) or not 0 < len(rows) <= _MOST:
        raise UsageError(f"the candidates in {where} are a list of 1 to {_MOST}")
    entries = [row for row in rows if not isinstance(row, dict) or not is_gone(_tiling(row))]
    warn_skipped(len(rows) - len(entries), path.name)
    if not entries:
        raise UsageError(f"{where} has no tiling of a family that is still there", "tune or predict again")
    candidates = [_candidate(row, where) for row in entries]
    work, lines = _work(document, context, where), _lines(document, candidates)
    return study.of_case(work, candidates, lines, study.read_circumstances(document))


def _missing(name: str) -> UsageError:
    """The error about a file that is not there; a newcomer gives the name of a program."""
    if ".py:" in name or study.known_program(name) is not None:
        return UsageError(f"{name!r} is a program, no file of results", f"give --program {name} --shape AxB --steps T")
    return UsageError(
        f"there is no file {name!r}", "give a file that `tilewright tune … --json` printed, or --program P"
    )


def _of_log(path: Path, context: FileDefaults) -> Study:
    """Read a tuning log, up to wherever it was cut; the quickest tiling counts as chosen."""
    from tilewright.verbs.tuning.meter import read_history

    check_there(path, "a tuning log")
    if context.program is None or context.shape is None or context.steps is None:
        raise UsageError("a log does not say what it is of", "give --program P --shape S --steps T of one sample")
    measurements = read_history(path).measurements
    if not measurements:
        raise UsageError(f"{str(path)!r} holds no measurement")
    many = [
        StudiedTiling(
            tiling=str(tiling),
            predicted=math.nan,
            measured=sample.median if sample.seconds else None,
            measured_range=(min(sample.seconds), max(sample.seconds)) if sample.seconds else None,
            spread=None if len(sample.seconds) < 2 else (max(sample.seconds) - min(sample.seconds)) / sample.median,
            outcome=str(sample.outcome),
        )
        for tiling, sample in measurements.items()
    ]
    many.sort(key=lambda each: math.inf if each.measured is None else each.measured)
    problem = make_problem(context.program, context.shape, context.steps, context.dtype, context.boundary)
    work = stencil.on_machine(problem, as_machine(context.machine or "host"))
    return study.of_case(work, many, (f"{len(many)} tilings in the log {path.name}",))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    program: object
    machine: str
    shape: tuple[int, ...]
    steps: Annotated[int, Check("a whole number above 0", lambda value: value >= 1)]
    dtype: str = "float32"
    model: str = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Costs:
    seconds: Amount | None = None
    flops: Amount | None = None
    dram_bytes: Amount | None = None
    joules: Amount | None = None
    bound_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A tiling of a file, what was predicted and what was measured; of a prediction the costs alone."""

    predicted_seconds: Amount | None = None
    measured_seconds: Amount | None = None
    range_seconds: tuple[Amount, Amount] | None = None
    spread: Amount | None = None
    unstable: bool = False
    outcome: str | None = None
    costs: object = None


def _work(document: Mapping[str, Any], context: FileDefaults, where: str) -> stencil.StencilWorkload:
    facts = documents.parse(_Problem, document, where, alone=False)
    name, machine = facts.program, facts.machine
    program = context.program or (study.known_program(name) if isinstance(name, str) else None)
    if program is None:
        raise UsageError(
            f"{where} is of the program {shortened(name)}, which is not built in", "give --program FILE.py:FUNCTION"
        )
    if context.machine is None and ("/" in machine or machine.endswith(".toml")):
        raise UsageError(
            f"{where} names the machine {shortened(machine)}, which is no name", "give --machine FILE.toml"
        )
    problem = make_problem(program, facts.shape, facts.steps, facts.dtype, context.boundary)
    model = "published" if facts.model == "published" else "exact"
    return stencil.on_machine(problem, as_machine(context.machine or machine), model=model)


def _candidate(row: Any, where: str) -> StudiedTiling:  # noqa: ANN401
    entry = documents.parse(_Candidate, row, f"a candidate in {where}", alone=False)
    costs = _Costs()
    if isinstance(entry.costs, dict):
        costs = documents.parse(_Costs, entry.costs, f"the costs in {where}", alone=False)
    predicted = costs.seconds if entry.predicted_seconds is None else entry.predicted_seconds
    return StudiedTiling(
        tiling=_tile(row, where),
        predicted=predicted or math.nan,
        measured=entry.measured_seconds,
        measured_range=entry.range_seconds,
        spread=entry.spread,
        outcome="unstable" if entry.unstable else (entry.outcome or "")[:_LONGEST],
        flops=costs.flops,
        dram_bytes=costs.dram_bytes,
        joules=costs.joules,
        bound_by=(costs.bound_by or "")[:_LONGEST],
    )


def _tiling(row: Mapping[str, Any]) -> object:
    return row.get("tile", row.get("tiling"))


def _tile(row: Mapping[str, Any], where: str) -> str:
    tiling = _tiling(row)
    if isinstance(tiling, dict):
        values = [("t", tiling.get("time")), ("s", tiling.get("space")), ("sub", tiling.get("sub"))]
        values += [("threads", tiling.get("threads")), ("k", tiling.get("k")), ("rows", tiling.get("rows"))]
        values += [("unroll", tiling.get("unroll"))]
        sizes = [f"{key}={'x'.join(map(str, v)) if isinstance(v, list) else v}" for key, v in values if v]
        name = str(tiling.get("family"))
        tiling = name if name == "none" else f"{name}:{','.join(sizes)}"
    try:
        result = parse(str(tiling)[:_LONGEST])
    except TilewrightError as error:
        raise UsageError(f"a tiling in {where} is none: {error}") from None
    return str(result)


def _lines(document: Mapping[str, Any], candidates: Sequence[StudiedTiling]) -> tuple[str, ...]:
    """Say what a tuning did; a prediction says nothing more than its numbers."""
    if "evaluated" not in document:
        return ()
    measured = sum(each.measured is not None for each in candidates)
    counts = f"{document.get('evaluated')} of {document.get('space_size')} tilings were tried, {measured} measured"
    return (f"{counts}; effort {document.get('effort')}, backend {document.get('backend')}",)
