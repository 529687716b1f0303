"""What an adjoint consists of: programs of a step backwards, and the names of what they sum."""

from dataclasses import dataclass

from tilewright.programs.stencil.boundaries import BoundarySpec, Sides
from tilewright.programs.stencil.problem import Span
from tilewright.programs.stencil.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjoint:
    """The adjoint of a program under boundaries.

    Attributes:
        program: What one step backwards computes.
        boundary: The boundaries that it is run under, by field.
        forward: The program whose adjoint it is.
        sides: The forward boundaries, one entry per field.
        states: Fields that hold forward states: by their names, the forward field and time level, where 1 is the value
            computed in the step.
        positions: Names of fields that hold a cell's index along an axis, by axis.
        extents: Names of scalars that hold the grid's extents, by axis.
        sums: By the forward field or scalar that no step changes, the field that sums what it is worth.
        kept: By updated field, the field that sums what cells are worth that no step updates, if there are any.
        stages: By updated field whose new values later statements of the step read, the field that holds what its new
            values are worth with these.
        split: A program with the same results, whose statements update some cells each in place of testing where a cell
            lies. None where there is nothing to test.
        inner: For steps that depend on no state and sum nothing else, a program of what updated cells are worth alone.
            What kept cells are worth follows from its sums near the sides. None where there is none.
        steady: For steps that depend on no state, a program that sums what the states are worth and no more: ``u_sum``
            beside ``u_bar``. One step of ``program`` from these sums makes all other sums. None where it cannot.
    """

    program: Program
    boundary: BoundarySpec
    forward: Program
    sides: tuple[Sides, ...]
    states: dict[str, tuple[str, int]]
    positions: dict[int, str]
    extents: dict[int, str]
    sums: dict[str, str]
    kept: dict[str, str]
    stages: dict[str, str]
    split: "Split | None" = None
    inner: "Inner | None" = None
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

    Attributes:
        program: What one step backwards computes.
        boundary: The boundaries that it is run under, by field.
        regions: By updated field the cells that are updated, where these are not those that the boundaries say.
        edges: What kept cells are worth (``u_rim``), from the sums over the steps of all versions that are read.
        edge_boundary: The boundaries that these sums are read under, by field.
        older: What older levels are worth after a last step, from what the newest ones were worth before it; None where
            they are handed on.
        older_boundary: The boundaries that this is run under.
    """

    program: Program
    boundary: BoundarySpec
    regions: dict[str, tuple[Span, ...]]
    edges: Program
    edge_boundary: BoundarySpec
    older: Program | None
    older_boundary: BoundarySpec


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyPart:
    """The part of an adjoint that changes from step to step, where the rest is linear in its sum over the steps.

    Attributes:
        program: What one step backwards computes.
        boundary: The boundaries that it is run under, by field.
        sums: By updated field, the field that sums what the new values are worth.
    """

    program: Program
    boundary: BoundarySpec
    sums: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """An adjoint whose statements update some cells each.

    Attributes:
        program: What one step backwards computes.
        boundary: The boundaries that it is run under, by field.
        regions: By updated field the cells that are updated; all of them where there is no entry.
        rims: By the field that sums what kept cells are worth in ``Adjoint.program``, those that do it here, zero at
            first: one per side of the grid.
    """

    program: Program
    boundary: BoundarySpec
    regions: dict[str, tuple[Span, ...]]
    rims: dict[str, tuple[str, ...]]


def worth_of(field: str, level: int = 0) -> str:
    """Name what a version of a field is worth."""
    return f"{field}_bar{level or ''}"
