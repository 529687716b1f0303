"""Boundaries: what a read outside a grid yields, per field, axis and side, and how they are written."""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.errors import UsageError, meant
from tilewright.base.facts import Facts
from tilewright.base.fingerprint import identity
from tilewright.base.units import parse_number
from tilewright.programs.stencil.program import Program

KINDS = ("fixed", "constant", "nearest", "reflect", "mirror", "wrap")
SYNONYMS = {"periodic": "wrap"}  # other names of a kind that mean exactly the same
FACES = ("dirichlet", "neumann", "robin")
"""Kinds of boundaries that say something of the face between the outermost cells and those outside."""


@dataclass(frozen=True, eq=False)
class Boundary(Facts):
    """What a read outside one side of the grid yields, with ``scipy.ndimage``'s names.

    ``fixed`` is the exception: a cell with any read outside a fixed side is not updated and keeps its initial value.
    A cell outside along several ``constant`` axes takes the value of the innermost of them.
    Boundaries are equal if the signs and types of their values are, too.

    Three kinds are conditions on the face halfway between the outermost cells and those outside, as in finite
    volumes, on lengths counted in cells: ``dirichlet`` is the value on the face, ``neumann`` the derivative along the
    outward normal, and ``robin`` the sum of that derivative and ``factor`` times the value on the face. ``neumann`` of
    0 is ``reflect``. A cell outside is extrapolated through the face from the one as far inside.

    Attributes:
        kind: One of :data:`KINDS` and :data:`FACES`.
        value: The value outside, for ``constant``, or of the condition on the face. Runs in memory and gradients also
            take an array: of one value per step, or of values along the side, with as many axes as the program and
            the extent 1 along the axis of the side.
        factor: That of ``robin``, per cell.

    Examples:
        >>> str(Boundary("constant", 1.5)), str(Boundary("wrap")), str(Boundary("robin", 1.0, factor=0.5))
        ('constant:1.5', 'wrap', 'robin:1:0.5')
        >>> str(Boundary("constant", np.zeros(3)))
        'constant:<array of shape (3,)>'
    """

    kind: str = "fixed"
    value: complex = 0.0
    factor: float = 0.0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Boundary) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @functools.cached_property
    def _identity(self) -> tuple[object, ...]:
        if np.ndim(self.value) == 0:
            return self.kind, identity(self.value), identity(self.factor)
        values = np.asarray(self.value)
        return self.kind, values.dtype.str, values.shape, values.tobytes(), identity(self.factor)

    def __str__(self) -> str:
        number = f"{self.value:g}" if np.ndim(self.value) == 0 else f"<array of shape {np.shape(self.value)}>"
        value = f":{number}" if self.kind in {"constant", *FACES} else ""
        return f"{self.kind}{value}{f':{self.factor:g}' if self.kind == 'robin' else ''}"


FIXED = Boundary()
Sides = tuple[tuple[Boundary, Boundary], ...]
"""Per axis, outermost first, the boundary below index 0 and the one above the last index."""


BoundarySpec = str | Boundary | tuple["BoundarySpec", ...] | list["BoundarySpec"] | Mapping[str, "BoundarySpec"]
"""A kind for all sides, such as ``wrap``, ``constant:0.5`` or ``robin:1:0.5`` (value and factor); ``periodic`` is
``wrap``; a tuple of one entry per axis, each a kind or a pair (below, above); or a mapping by field."""


def parse_boundary(text: str) -> BoundarySpec:
    """Parse a boundary as the command line writes it.

    ``wrap``; per axis ``fixed,wrap``; per side ``nearest/constant:1``; per field ``u=wrap;v=fixed``.

    Examples:
        >>> parse_boundary("wrap")
        Boundary(kind='wrap', value=0.0, factor=0.0)
        >>> [str(each) for each in parse_boundary("nearest/fixed")]
        ['nearest', 'fixed']
    """
    if "=" in text:
        pairs = [part.partition("=") for part in text.split(";") if part.strip()]
        return {name.strip(): parse_boundary(spec) for name, _, spec in pairs}
    if "," in text:
        return tuple(parse_boundary(part) for part in text.split(","))
    if "/" in text:
        return tuple(_kind(part) for part in text.split("/"))
    return _kind(text)


def _kind(text: str) -> Boundary:
    kind, *numbers = text.strip().split(":")
    kind = SYNONYMS.get(kind.lower(), kind.lower())
    if kind not in KINDS and kind not in FACES:
        raise _unknown_kind(kind)
    most = 2 if kind == "robin" else 1
    if len(numbers) > most or (numbers and kind not in {"constant", *FACES}):
        raise UsageError(f"a {kind!r} boundary is written {_WRITTEN.get(kind, kind)}, got {text.strip()!r}")
    try:
        value = _value(numbers[0]) if numbers and numbers[0] else 0.0
        return Boundary(kind=kind, value=value, factor=parse_number(numbers[1]) if len(numbers) > 1 else 0.0)
    except ValueError:
        raise UsageError(
            f"the value of a {kind} boundary is a number, got {':'.join(numbers)!r}", f"write {_WRITTEN[kind]}"
        ) from None


_WRITTEN = {"constant": "constant:0.5", "dirichlet": "dirichlet:0.5", "neumann": "neumann:0.5", "robin": "robin:1:0.5"}


def _value(text: str) -> complex:
    return complex(text) if text.endswith("j") else parse_number(text)


def _unknown_kind(kind: str) -> UsageError:
    kinds = (*KINDS, *FACES, *SYNONYMS)
    hint = meant(str(kind), kinds, "such as reflect or constant:0.5; per axis 'wrap,fixed'")
    return UsageError(f"a boundary is one of {', '.join((*KINDS, *FACES))}, got {kind!r}", hint)


def bend(pair: Iterable[Boundary], distance: int) -> int:
    """Return how far a read of a distance reaches the other way, where the sides of its axis mirror or reflect."""
    kinds = {side.kind for side in pair}
    return abs(distance) if "mirror" in kinds else max(0, abs(distance) - 1) if "reflect" in kinds else 0


def mirrored(kind: str, beyond: int) -> int | None:
    """Return which cell, the last one inside as 0, stands for the one ``beyond`` cells outside; None where none does.

    >>> [mirrored(kind, 2) for kind in ("nearest", "reflect", "mirror", "constant")]
    [0, 1, 2, None]
    """
    return {"nearest": 0, "reflect": beyond - 1, "mirror": beyond}.get(kind)


def stand_ins(pair: tuple[Boundary, Boundary], offset: int) -> tuple[int, ...]:
    """Return which offsets stand for one along an axis that leaves the grid, by the cells that lie before its end.

    >>> [stand_ins((Boundary(kind), Boundary(kind)), 2) for kind in ("nearest", "reflect", "mirror", "constant")]
    [(0, 1), (-1, 1), (-2, 0), ()]
    """
    kind, direction = pair[offset > 0].kind, 1 if offset > 0 else -1
    places = [(before, mirrored(kind, abs(offset) - before)) for before in range(abs(offset))]
    return tuple(direction * (before - place) for before, place in places if place is not None)


def resolve(program: Program, spec: BoundarySpec) -> tuple[Sides, ...]:
    """Return the boundaries of every field of a program."""
    if isinstance(spec, Mapping):
        unknown = sorted(set(spec) - set(program.fields))
        if unknown:
            raise UsageError(f"{program.name!r} has no field {unknown[0]!r}", f"its fields are {list(program.fields)}")
        return tuple(sides_of(program.rank, spec.get(name, FIXED)) for name in program.fields)
    return (sides_of(program.rank, spec),) * len(program.fields)


def sides_of(rank: int, spec: BoundarySpec) -> Sides:
    """Return the boundaries of one field, for a kind, an entry per axis, or an entry per side."""
    if isinstance(spec, Boundary) and not _plain(spec):
        return (_pair(spec),) * rank
    if isinstance(spec, str | Boundary):
        return _all_around(rank, spec)
    if isinstance(spec, Mapping):
        raise UsageError("a boundary by field holds no further mapping", "give each field a kind or one entry per axis")
    if not isinstance(spec, tuple | list):
        raise UsageError(f"a boundary is a kind or one entry per axis, got {spec!r}", "such as 'wrap'")
    if len(spec) != rank:
        raise UsageError(f"a boundary has one entry per axis, expected {rank}, got {len(spec)}")
    return tuple(_pair(entry) for entry in spec)


@functools.lru_cache(maxsize=64)
def _all_around(rank: int, spec: str | Boundary) -> Sides:
    return (_pair(spec),) * rank


def _plain(side: Boundary) -> bool:
    """Whether a boundary is one of numbers, so that it can be remembered."""
    numbers = int | float | complex | np.number
    return isinstance(side.kind, str) and isinstance(side.value, numbers) and isinstance(side.factor, numbers)


def _canonical(side: Boundary) -> Boundary:
    """A boundary by its kind's own name."""
    kind = side.kind.lower() if isinstance(side.kind, str) else ""
    kind = SYNONYMS.get(kind, kind)
    if kind not in KINDS and kind not in FACES:
        raise _unknown_kind(str(side.kind))
    if not isinstance(side.factor, int | float | np.number):
        raise UsageError(f"the factor of a boundary is a number, got {side.factor!r:.60}")
    if np.ndim(side.value) == 0 and not isinstance(side.value, int | float | complex | np.number):
        raise UsageError(f"the value of a boundary is a number or an array of numbers, got {side.value!r:.60}")
    if kind == side.kind and not isinstance(side.value, np.generic) and not isinstance(side.factor, np.generic):
        return side
    value = side.value.item() if isinstance(side.value, np.generic) else side.value
    return replace(side, kind=kind, value=value, factor=float(side.factor))


def _pair(spec: BoundarySpec) -> tuple[Boundary, Boundary]:
    if isinstance(spec, str | Boundary):
        side = _kind(spec) if isinstance(spec, str) else _canonical(spec)
        pair = (side, side)
    elif not isinstance(spec, tuple | list) or len(spec) != 2:
        raise UsageError(f"an axis has a boundary below and one above, got {spec!r}", "write it as a pair")
    else:
        pair = (_pair(spec[0])[0], _pair(spec[1])[0])
    if (pair[0].kind == "wrap") != (pair[1].kind == "wrap"):
        raise UsageError("an axis wraps on both sides or on none", f"got {pair[0]} below and {pair[1]} above")
    return pair
