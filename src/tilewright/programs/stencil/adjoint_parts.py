"""What an adjoint consists of: programs of a step backwards, and the names of what they sum."""

from dataclasses import dataclass

from tilewright.programs.stencil.boundaries import BoundarySpec, Sides
from tilewright.programs.stencil.problem import Span
from tilewright.programs.stencil.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjoint:
    """The adjoint of a program under boundaries."""

    program: Program  # one step backwards
    boundary: BoundarySpec  # of that, by field
    forward: Program  # the program whose adjoint it is
    sides: tuple[Sides, ...]  # the forward boundaries, per field
    # by name of a field that holds a forward state, its forward field and time level; 1 is what the step computes
    states: dict[str, tuple[str, int]]
    positions: dict[int, str]  # by axis, the field that holds a cell's index along it
    extents: dict[int, str]  # by axis, the scalar that holds the grid's extent
    sums: dict[str, str]  # by the forward field or scalar that no step changes, the field that sums what it is worth
    kept: dict[str, str]  # by updated field, the field that sums what cells are worth that no step updates
    # by updated field whose new values later statements of the step read, the field of what they are worth with these
    stages: dict[str, str]
    # the same results, from statements that update some cells each in place of testing where a cell lies; None where
    # there is nothing to test
    split: "Split | None" = None
    # for steps that depend on no state and sum nothing else, what updated cells are worth alone; what kept cells are
    # worth follows from its sums near the sides
    inner: "Inner | None" = None
    # for steps that depend on no state, only the sums of what states are worth: ``u_sum`` beside ``u_bar``; one step of
    # ``program`` from these makes all other sums
    steady: "SteadyPart | None" = None

    def worth(self, field: str, level: int = 0) -> str:
        """Name of the field that holds what a forward field's version is worth, ``level`` steps before the newest."""
        return worth_of(field, level)

    @property
    def changing(self) -> tuple[str, ...]:
        """Names of fields of forward states that are other ones in every step."""
        updated = self.forward.updated
        return tuple(name for name, (field, _) in self.states.items() if field in updated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """The part of an adjoint that says what updated cells are worth; no cell that is kept is worth anything in it.

    Where all fields have two time levels, it reads two versions of what these are worth, of which the older one is
    nothing at first, in place of handing on what the older level is worth.
    """

    program: Program  # one step backwards
    boundary: BoundarySpec  # of that, by field
    # by updated field, the cells that are updated, where the boundaries say others
    regions: dict[str, tuple[Span, ...]]
    edges: Program  # what kept cells are worth (``u_rim``), from the sums over the steps of all versions that are read
    edge_boundary: BoundarySpec  # of these sums, by field
    # what older levels are worth after a last step, from what the newest were worth before it; None if handed on
    older: Program | None
    older_boundary: BoundarySpec


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyPart:
    """The part of an adjoint that changes from step to step, where the rest is linear in its sum over the steps."""

    program: Program  # one step backwards
    boundary: BoundarySpec  # of that, by field
    sums: dict[str, str]  # by updated field, the field that sums what the new values are worth


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """An adjoint whose statements update some cells each."""

    program: Program  # one step backwards
    boundary: BoundarySpec  # of that, by field
    regions: dict[str, tuple[Span, ...]]  # by updated field, the cells that are updated; all without an entry
    # by the field that sums what kept cells are worth in ``Adjoint.program``, those that do it here: one per side of
    # the grid, zero at first
    rims: dict[str, tuple[str, ...]]


def worth_of(field: str, level: int = 0) -> str:
    """Name what a version of a field is worth."""
    return f"{field}_bar{level or ''}"
