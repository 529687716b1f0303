"""Weighted sums of reads, written for a block of results: one candidate per file.

    inputs      w * a for every result that reads a        scatter form (Stock et al., PLDI 2014)
    columns     a column's weights held, inputs go by      weights in registers
    winograd    two results, four products for six         minimal filtering F(2, 3), F(2, 2) (Winograd 1980)
    loop        a loop over taps, weights from a table     rolled taps

Which one is written is said by the schedule (:class:`tilewright.schedules.code.Sum`), whose ``outputs``, as the
program has it, needs none. What each takes per result is :func:`tilewright.schedules.sums.work`.
"""

from collections.abc import Callable, Mapping, Sequence

from tilewright.codegen.sums import columns, inputs, loop, winograd
from tilewright.codegen.sums.registers import RegisterBlock, Results
from tilewright.programs.stencil.weights import SUM, Apart, Terms
from tilewright.schedules.code import Sum

Candidate = Callable[[RegisterBlock, str, Terms, Sum], Results]
"""Writes a weighted sum for all places of a block; new names start with the string."""

CANDIDATES: Mapping[str, Candidate] = {
    "inputs": inputs.write,
    "columns": columns.write,
    "winograd": winograd.write,
    "loop": loop.write,
}
"""By form."""


def write_sums(
    block: RegisterBlock, found: Apart, forms: Sequence[Sum], names: Callable[[int], str]
) -> dict[str, Results]:
    """Write an expression's weighted sums for all places of a block, by the fields that stand for them in the rest."""
    every = enumerate(zip(found.sums, forms, strict=True))
    return {f"{SUM}{k}": CANDIDATES[form.form](block, names(k), terms, form) for k, (terms, form) in every}
