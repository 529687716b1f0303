"""Whether two programs compute the same, whatever they and their fields are called and in which order sums are written.

What was measured of a program of the catalogue is then found for the same expression from any front end.
"""

import hashlib
from collections.abc import Sequence

from tilewright.base.facts import fact
from tilewright.programs.stencil.expression import Apply, Const, Leaf, Profile, Read, Scalar, Tape
from tilewright.programs.stencil.program import Program

_REORDERED = frozenset({"add", "mul", "maximum", "minimum"})
"""Operators whose chains are the same in every order; rounding aside."""
_MODULUS = 2**128


@fact
def identity(program: Program) -> str:
    """Return a digest of what a program computes: fields and scalars by their places, sums and products unordered.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> identity(program("j2d5pt")) == identity(program("star2d1r")) != identity(program("jacobi2d"))
    True
    """
    fields = {name: place for place, name in enumerate(program.fields)}
    scalars = {name: place for place, name in enumerate(program.scalars)}
    statements = [(fields[each.field], _value(each.tape, fields, scalars)) for each in program.statements]
    return hashlib.blake2b(repr((program.rank, len(fields), statements)).encode(), digest_size=16).hexdigest()


def _value(tape: Tape, fields: dict[str, int], scalars: dict[str, int]) -> int:
    """Return the digest of a tape's value: a chain of one operator that may be reordered adds up those of its terms."""
    whole: list[int] = []
    terms: list[int] = []
    for node in tape:
        if not isinstance(node, Apply):
            digest = _digest(_leaf(node, fields, scalars))
            whole.append(digest)
            terms.append(digest)
            continue
        if node.op in _REORDERED:
            operands = [(place, tape[place]) for place in node.args]
            parts = [
                terms[place] if isinstance(each, Apply) and each.op == node.op else whole[place]
                for place, each in operands
            ]
            terms.append(sum(parts) % _MODULUS)
            whole.append(_digest((node.op, terms[-1])))
        else:
            whole.append(_digest((node.op, *(whole[place] for place in node.args))))
            terms.append(whole[-1])
    return whole[-1]


def _leaf(node: Leaf, fields: dict[str, int], scalars: dict[str, int]) -> Sequence[object]:
    if isinstance(node, Read):
        return ("read", fields[node.field], node.level, node.offset)
    if isinstance(node, Const):
        return ("constant", node.value if isinstance(node.value, bool) else complex(node.value))
    if isinstance(node, Scalar):
        return ("scalar", scalars.get(node.name, node.name))
    if isinstance(node, Profile):
        return ("profile", node.axis, node.shift, node.wraps)
    return ("place", repr(node))


def _digest(value: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(value).encode(), digest_size=16).digest(), "big")
