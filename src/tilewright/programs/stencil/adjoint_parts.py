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
    sums: dict[str, str]  # by the forward field or scalar that no step changes, the field that sums its cotangent
    kept: dict[str, str]  # by updated field, the field that sums the cotangents of cells that no step updates
    # by updated field whose new values later statements of the step read, the field of their cotangents with these
    stages: dict[str, str]
    # the same results, from statements that update some cells each in place of testing where a cell lies; None where
    # there is nothing to test
    split: "Split | None" = None
    # for steps that depend on no state and sum nothing else, the cotangents of updated cells alone; those of kept cells
    # follow from its sums near the sides
    inner: "Inner | None" = None
    # for steps that depend on no state, only the sums of the cotangents of states: ``u_sum`` beside ``u_bar``; one step
    # of ``program`` from these makes all other sums
    steady: "SteadyPart | None" = None

    def cotangent(self, field: str, level: int = 0) -> str:
        """Name of the field with the cotangent of a forward field's version, ``level`` steps before the newest."""
        return cotangent_name(field, level)

    @property
    def changing(self) -> tuple[str, ...]:
        """Names of fields of forward states that are other ones in every step."""
        updated = self.forward.updated
        return tuple(name for name, (field, _) in self.states.items() if field in updated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """The part of an adjoint that says the cotangents of updated cells; those of kept cells are zero in it.

    Where all fields have two time levels, it reads two versions of their cotangents, of which the older one is zero at
    first, in place of handing on the cotangent of the older level.
    """

    program: Program  # one step backwards
    boundary: BoundarySpec  # of that, by field
    # by updated field, the cells that are updated, where the boundaries say others
    regions: dict[str, tuple[Span, ...]]
    edges: (
        Program  # the cotangents of kept cells (``u_rim``), from the sums over the steps of all versions that are read
    )
    edge_boundary: BoundarySpec  # of these sums, by field
    # the cotangents of older levels after a last step, from the cotangents of the newest before it; None if handed on
    older: Program | None
    older_boundary: BoundarySpec


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyPart:
    """The part of an adjoint that changes from step to step, where the rest is linear in its sum over the steps."""

    program: Program  # one step backwards
    boundary: BoundarySpec  # of that, by field
    sums: dict[str, str]  # by updated field, the field that sums the cotangents of the new values


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """An adjoint whose statements update some cells each."""

    program: Program  # one step backwards
    boundary: BoundarySpec  # of that, by field
    regions: dict[str, tuple[Span, ...]]  # by updated field, the cells that are updated; all without an entry
    # by the field that sums the cotangents of kept cells in ``Adjoint.program``, those that do it here: one per side of
    # the grid, zero at first
    rims: dict[str, tuple[str, ...]]


def cotangent_name(field: str, level: int = 0) -> str:
    """Name the cotangent of a version of a field."""
    return f"{field}_bar{level or ''}"
