"""Derivatives of a stencil's expression as expressions: by what it reads and by its scalars, in reverse mode."""

from collections.abc import Callable, Sequence

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.expression import Apply, Const, Leaf, Tape, Value, apply, flatten, reads
from tilewright.programs.stencil.operators import BOOLEAN, FLAT

_STILL = BOOLEAN | FLAT  # operators whose derivative is zero wherever there is one
_FEWEST = 2  # leaves from which on it pays to hand on the cotangent of a node through which they all act
_MANY = 12
"""Leaves from which on it pays for a node whose derivative is a product: each leaf computes it anew otherwise."""
_CHOICES = frozenset({"where", "minimum", "maximum"})  # operators with branches that are not taken
_UNBOUNDED = frozenset({"div", "sqrt", "log", "pow", "exp", "tan", "remainder", "floor_divide"})
"""Operators that may be infinite, or no number, of finite numbers."""
_LINEAR = _CHOICES | {"add", "sub", "neg"}  # operators that hand on zero from zero, whatever their operands are


def values_of(tape: Tape, leaf: Callable[[Leaf], Value]) -> list[Value]:
    """Build the values of a tape's nodes anew, each leaf replaced."""
    values: list[Value] = []
    for node in tape:
        if isinstance(node, Apply):
            values.append(apply(node.op, *(values[arg] for arg in node.args)))
        else:
            values.append(leaf(node))
    return values


def common_node(tape: Tape, wanted: Callable[[Leaf], bool]) -> int | None:
    """Return the innermost node through which most leaves act on a tape's result, by a derivative that takes long.

    The cotangent of that node is one value per cell, where those of the leaves are one for each of them: of ``1 /
    sqrt(c + a * a + b * b)`` the node is what the root is taken of. Of many leaves, it is the weighted sum that is
    multiplied by a field. None where no more than one leaf acts through any, the derivative by it has no division or
    function and the leaves are few, or the expression has branches.
    """
    below: list[frozenset[Leaf]] = []
    for node in tape:
        if isinstance(node, Apply):
            below.append(frozenset().union(*(below[arg] for arg in node.args if node.op not in FLAT)))
        else:
            below.append(frozenset({node}) if wanted(node) else frozenset())
    most = max(map(len, below))
    if most < _FEWEST or any(isinstance(node, Apply) and node.op in _CHOICES for node in tape):
        return None  # what a branch that is not taken hands on may be infinite
    place = next(number for number, leaves in enumerate(below) if len(leaves) == most)
    values = values_of(tape, Value)
    seed = slopes_through(tape, values, wanted, place)[0]
    if seed is not None and not is_smooth(seed):
        return place
    return _weighted_sum(tape, values, wanted, [len(leaves) for leaves in below])


def _weighted_sum(tape: Tape, values: list[Value], wanted: Callable[[Leaf], bool], counts: Sequence[int]) -> int | None:
    """Return the node that sums many leaves with constant weights and that fields multiply, if there is one."""
    for place in sorted(range(len(tape)), key=lambda number: (-counts[number], number)):
        if counts[place] < _MANY:
            return None
        seed, inner, _ = slopes_through(tape, values, wanted, place)
        if seed is not None and reads(flatten(seed)) and not any(reads(flatten(each)) for each in inner.values()):
            return place
    return None


def slopes_through(
    tape: Tape, values: list[Value], wanted: Callable[[Leaf], bool], place: int
) -> tuple[Value | None, dict[Leaf, Value], dict[Leaf, Value]]:
    """Differentiate a result by one of its nodes, this by leaves, and the result by leaves that act past it."""
    stop: dict[int, Value] = {}
    past = slopes(tape, values, wanted, stop=(place, stop))
    return stop.get(place), slopes(tape[: place + 1], values[: place + 1], wanted), past


def slopes(
    tape: Tape, values: list[Value], wanted: Callable[[Leaf], bool], *, stop: tuple[int, dict[int, Value]] | None = None
) -> dict[Leaf, Value]:
    """Differentiate a tape's result by leaves; those that it does not smoothly depend on are left out."""
    # ``stop``: a node that counts as a constant, and where to put the derivative by it
    moving = [not isinstance(node, Apply) and wanted(node) for node in tape]
    for place, node in enumerate(tape):
        if isinstance(node, Apply) and node.op not in _STILL:
            moving[place] = any(moving[arg] for arg in node.args)
    seeds: dict[int, Value] = {len(tape) - 1: Value(Const(1.0))}
    chosen: set[int] = set()
    derivatives: dict[Leaf, Value] = {}
    for place in range(len(tape) - 1, -1, -1):
        seed = seeds.pop(place, None)
        if seed is None or not moving[place]:
            continue
        node = tape[place]
        if stop is not None and place == stop[0]:
            stop[1][place] = seed
            continue
        if not isinstance(node, Apply):
            derivatives[node] = seed
            continue
        if node.op not in _PARTIALS:
            raise UsageError(f"{node.op!r} has no derivative here", "write the adjoint by hand")
        args = [values[arg] for arg in node.args]
        partials = _PARTIALS[node.op](seed, values[place], *args)
        choice = place in chosen or node.op in _CHOICES
        for arg, partial in zip(node.args, partials, strict=True):
            if partial is not None and moving[arg]:
                handed = _where_nonzero(seed, partial) if place in chosen and node.op not in _LINEAR else partial
                seeds[arg] = handed if arg not in seeds else seeds[arg] + handed
                if choice:
                    chosen.add(arg)
    return derivatives


def _times(seed: Value, factor: Value) -> Value:
    unit = isinstance(seed.op, Const) and seed.op.value == 1
    return factor if unit else seed * factor


def _minus(seed: Value) -> Value:
    return -seed


def _chosen(condition: Value, seed: Value, *, first: bool) -> Value:
    zero = Value(Const(0.0))
    return apply("where", condition, seed if first else zero, zero if first else seed)


def _where_nonzero(seed: Value, partial: Value) -> Value:
    """Keep a branch that was not taken at zero: what its operators hand on may be infinite, or no number, there."""
    return partial if is_smooth(partial) else apply("where", apply("ne", seed, 0.0), partial, 0.0)


Partials = Callable[..., tuple[Value | None, ...]]
_PARTIALS: dict[str, Partials] = {
    "add": lambda s, _v, _a, _b: (s, s),
    "sub": lambda s, _v, _a, _b: (s, _minus(s)),
    "neg": lambda s, _v, _a: (_minus(s),),
    "mul": lambda s, _v, a, b: (_times(s, b), _times(s, a)),
    "div": lambda s, v, _a, b: (s / b, _minus(_times(s, v / b))),
    "pow": lambda s, v, a, b: (_times(s, b * a ** (b - 1.0)), _times(s, v * apply("log", a))),
    "sqrt": lambda s, v, _a: (s * 0.5 / v,),
    "exp": lambda s, v, _a: (_times(s, v),),
    "log": lambda s, _v, a: (s / a,),
    "sin": lambda s, _v, a: (_times(s, apply("cos", a)),),
    "cos": lambda s, _v, a: (_minus(_times(s, apply("sin", a))),),
    "tanh": lambda s, v, _a: (_times(s, 1.0 - v * v),),
    "tan": lambda s, v, _a: (_times(s, 1.0 + v * v),),
    "atan2": lambda s, _v, a, b: (s * b / (a * a + b * b), _minus(s * a / (a * a + b * b))),
    "remainder": lambda s, _v, a, b: (s, _minus(_times(s, a // b))),
    "abs": lambda s, _v, a: (_times(s, apply("sign", a)),),
    "minimum": lambda s, _v, a, b: (_chosen(a <= b, s, first=True), _chosen(a <= b, s, first=False)),
    "maximum": lambda s, _v, a, b: (_chosen(a >= b, s, first=True), _chosen(a >= b, s, first=False)),
    "where": lambda s, _v, c, _a, _b: (None, _chosen(c, s, first=True), _chosen(c, s, first=False)),
}
"""By operator, what it hands on to each operand: from the cotangent of its own result, the result, and the operands."""


def is_smooth(value: Value) -> bool:
    """Whether an expression is finite wherever what it reads is: no division, root, logarithm, power or function."""
    stack, seen = [value], set()
    while stack:
        each = stack.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each.op, str) and each.op in _UNBOUNDED:
            return False
        stack.extend(each.args)
    return True
