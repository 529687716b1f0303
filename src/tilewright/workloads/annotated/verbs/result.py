"""What becomes of a region."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tilewright.base.records import Outcome, Record
from tilewright.base.units import format_seconds
from tilewright.workloads.annotated.nests.limit import TimeUpError
from tilewright.workloads.annotated.nests.nest import Stmt
from tilewright.workloads.annotated.parse.evaluate import Plain
from tilewright.workloads.annotated.search import LoopChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeResult:
    """What a search found at one size of the input."""

    numbers: Mapping[str, Plain]  # the input's parameters
    values: Mapping[str, object] = field(default_factory=dict)  # the winner's parameters
    bodies: tuple[Stmt, ...] = ()  # what replaces the regions
    seconds: float = math.nan  # the winner's time; NaN if nothing was timed
    original: float = math.nan  # the original body's time
    original_command: tuple[str, ...] = ()  # how the original body was built
    # the original body's seconds over the winner's, one per round in which they were timed in turn
    ratios: tuple[float, ...] = ()
    choice: LoopChoice | None = None  # the search
    notes: tuple[str, ...] = ()  # what was left out of the winner, and why
    command: tuple[str, ...] = ()  # how the winner was built
    finite: bool = True  # whether the original body's results are all finite
    # rounds on a processor of the winner (or the loops' best, where another compiler's code won) and the original body
    # in turn; 0 where time ran out
    rounds: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)  # further facts, such as a kernel's resources
    text: tuple[str, ...] = ()  # the new text, where it is no loop nest
    # per region, in C, what has to hold for the new text; the original body runs otherwise
    conditions: tuple[tuple[str, ...], ...] = ()
    priced: str = ""  # the GPU that the points were priced for; empty where they were measured

    @property
    def made(self) -> bool:
        """Whether there is new code for this size."""
        return bool(self.bodies or self.text)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        choice = self.choice
        counts: dict[str, int] = {}
        failures: list[dict[str, Any]] = []
        for trial in choice.trials if choice else ():
            outcome = str(trial.measurement.outcome)
            counts[outcome] = counts.get(outcome, 0) + 1
            if trial.measurement.outcome is not Outcome.OK and len(failures) < 10:
                failures.append({"values": dict(trial.values), "outcome": outcome, "reason": trial.measurement.detail})
        return {
            "input": dict(self.numbers),
            "winner": dict(self.values),
            "seconds": self.seconds,
            "original_seconds": self.original,
            "speedup": self.original / self.seconds if self.seconds > 0 else math.nan,
            "speedup_low": min(self.ratios, default=math.nan),
            "speedup_high": max(self.ratios, default=math.nan),
            "rounds": self.rounds,
            "original_command": " ".join(self.original_command),
            "search": choice.algorithm if choice else None,
            "space_size": choice.space if choice else 1,
            "evaluated": len(choice.trials) if choice else 0,
            "priced_for": self.priced or None,
            "outcomes": counts,
            "failures": failures,
            "skipped": choice.skipped_count if choice else 0,
            "skipped_reasons": [{"values": dict(v), "reason": r} for v, r in (choice.skipped[:5] if choice else ())],
            "finished": choice.finished if choice else self.made,
            "interrupted": choice.interrupted if choice else False,
            "validated": bool(choice and choice.winner and math.isfinite(self.seconds)),
            "finite": self.finite,
            "command": " ".join(self.command),
            "conditions": [list(each) for each in self.conditions],
            "notes": list(self.notes),
            **{key: value for key, value in self.extra.items() if not key.startswith("_")},
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SiteResult(Record):
    """What became of a site."""

    KEYS = "line tuned notes results=sizes"

    line: int  # of its annotation
    sizes: tuple[SizeResult, ...]  # one result per size of the input, one alone where there is no specification
    tuned: bool  # whether it has a specification
    notes: tuple[str, ...] = ()  # what was noticed about the region itself
    # per size, names that the file has and the values that choose it among the sizes
    guards: tuple[Mapping[str, Plain], ...] = ()

    def __str__(self) -> str:
        out = [f"line {self.line}: " + ("tuned" if self.tuned else "transformed (no tuning specification, so not run)")]
        out += [f"  note: {note}" for note in self.notes]
        for size in self.sizes:
            out += _description(size, tuned=self.tuned)
        return "\n".join(out)


def _description(size: SizeResult, *, tuned: bool) -> list[str]:
    where = ", ".join(f"{name}={value}" for name, value in size.numbers.items())
    values = ", ".join(f"{name}={value}" for name, value in size.values.items())
    out = []
    if tuned and size.choice is not None:
        took = ""
        choice = size.choice
        if not math.isnan(size.seconds):
            took = f" {format_seconds(size.seconds)}, {_comparison(size)}"
        elif size.priced and choice.winner is not None:
            took = f" {format_seconds(choice.winner.seconds)} on {size.priced}, expected, not measured"
        out.append(f"  {where or 'one size'}:{took}")
        out.append(f"    winner: {values or 'no parameters'}")
        end = "" if choice.finished else ", stopped by the time or the number of runs"
        state = f"priced for {size.priced}, expected and not measured" if size.priced else "measured"
        out.append(
            f"    {choice.algorithm}: {len(choice.trials)} of {choice.space} points {state}, "
            f"{choice.skipped_count} excluded by constraints{end}"
        )
    if tuned and not size.made:
        out.append(f"  {where or 'one size'}: not tuned")
    out += [f"    {key}: {value}" for key, value in size.extra.items() if not key.startswith("_")]
    out += [f"    note: {note}" for note in size.notes[:6]]
    return out


def _comparison(size: SizeResult) -> str:
    """Say against what a time is compared, and how far the comparison spreads."""
    built = f"the original body, built with {' '.join(size.original_command)}," if size.original_command else ""
    spread = ""
    if size.ratios:
        rounds = f"{len(size.ratios)} round{'s' * (len(size.ratios) != 1)}"
        spread = f", {min(size.ratios):.2f} to {max(size.ratios):.2f} over {rounds}"
    return (
        f"{built or 'the original body'} {format_seconds(size.original)} "
        f"({size.original / size.seconds:.2f} times as fast{spread})"
    )


def untuned(numbers: Mapping[str, Plain], error: TimeUpError) -> SizeResult:
    """Return a size at which the original body stays, since there was no time for it."""
    note = f"{error.message}: the original body stays"
    return SizeResult(numbers=dict(numbers), notes=(note,), extra={"kept_original": True})
