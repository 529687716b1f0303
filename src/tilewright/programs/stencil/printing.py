"""Programs as text: what a step computes, as a user would write it."""

from collections import Counter

from tilewright.programs.stencil.expression import Apply, Const, Index, Inside, Leaf, Node, Profile, Read, Scalar, Tape
from tilewright.programs.stencil.program import STEP, Program

_INFIX = {
    **dict.fromkeys(("or", "bitor"), ("|", 1)),
    **dict.fromkeys(("and", "bitand"), ("&", 2)),
    "lt": ("<", 3),
    "le": ("<=", 3),
    "gt": (">", 3),
    "ge": (">=", 3),
    "eq": ("==", 3),
    "ne": ("!=", 3),
    "add": ("+", 5),
    "sub": ("-", 5),
    "mul": ("*", 6),
    "div": ("/", 6),
}
_PREFIX = {"neg": ("-", 7), "not": ("~", 7), "invert": ("~", 7)}
_ATOM = 9
LIMIT = 600  # longest line of an expression before it is cut


def arguments_of(program: Program) -> tuple[str, ...]:
    """Return the scalars that a run is given: not the number of its step."""
    return tuple(name for name in program.scalars if name != STEP)


def describe(program: Program) -> str:
    """Say what a program is: its signature, its counts, and what one step computes.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> print(describe(program("jacobi1d")))
    jacobi1d(u): 1D, 3 loads and 3 flops per cell and step
      u <- (u[-1] + u[0] + u[1]) * 0.333333
    """
    defaults = dict(program.defaults)
    scalars = [f"{name}={defaults[name]:g}" if name in defaults else name for name in arguments_of(program)]
    arguments = "; ".join([", ".join(program.fields), *([", ".join(scalars)] if scalars else [])])
    counts = f"{program.loads} loads and {program.flops} flops per cell and step"
    return "\n".join([f"{program.name}({arguments}): {program.rank}D, {counts}", *(f"  {s}" for s in lines(program))])


def lines(program: Program) -> tuple[str, ...]:
    """Return one line per statement, each after the lines of the values it uses more than once.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> lines(program("gradient2d"))[:2]
    ('t1 = u[0, 0] - u[-1, 0]', 't2 = u[0, 0] - u[1, 0]')
    """
    result: list[str] = []
    for statement in program.statements:
        shared, text = _write(statement.tape, first=sum(" <- " not in line for line in result) + 1)
        result += [*shared, f"{statement.field} <- {text}"]
    return tuple(line if len(line) <= LIMIT else f"{line[:LIMIT]} …" for line in result)


def _write(tape: Tape, first: int) -> tuple[list[str], str]:
    """Return the lines of values that are used more than once, and the text of the result."""
    uses = Counter(arg for node in tape if isinstance(node, Apply) for arg in node.args)
    shared: list[str] = []
    done: list[tuple[str, int]] = []
    for i, node in enumerate(tape):
        text, strength = _node(node, done)
        if isinstance(node, Apply) and uses[i] > 1 and i + 1 < len(tape):
            name = f"t{first + len(shared)}"
            shared.append(f"{name} = {text}")
            text, strength = name, _ATOM
        done.append((text, strength))
    return shared, done[-1][0]


def _node(node: Node, done: list[tuple[str, int]]) -> tuple[str, int]:
    """Return a node's text and how tightly it binds."""
    if not isinstance(node, Apply):
        return _leaf(node), _ATOM
    args = [done[arg] for arg in node.args]
    if node.op in _INFIX:
        symbol, strength = _INFIX[node.op]
        bitwise = 1 if node.op in {"and", "or", "bitand", "bitor"} or strength == 3 else 0
        left, right = _wrap(args[0], strength + bitwise), _wrap(args[1], strength + 1)
        return f"{left} {symbol} {right}", strength
    if node.op in _PREFIX:
        symbol, strength = _PREFIX[node.op]
        return f"{symbol}{_wrap(args[0], strength)}", strength
    return f"{node.op}({', '.join(text for text, _ in args)})", _ATOM


def _leaf(node: Leaf) -> str:
    match node:
        case Const():
            return _number(node.value)
        case Read():
            return node.text
        case Scalar():
            return "tw.t" if node.name == STEP else node.name
        case Index():
            return f"tw.index({node.axis})" + (f" {node.shift:+d}" if node.shift else "")
        case Profile():
            return f"{node.name}[{', '.join(':' if axis == node.axis else '0' for axis in range(node.axis + 1))}]"
        case Inside():
            cells = f"{node.low or ''}:{'' if node.high is None else node.high}"
            beside = f" at {node.shift:+d}" if node.shift else ""
            return f"tw.inside[{':, ' * node.axis}{cells}]{beside}"


def _number(value: complex) -> str:
    """Write a constant, in parentheses where it begins with a sign or has two parts."""
    if isinstance(value, complex):
        return f"{value.imag:.6g}j" if value.real == 0 and value.imag >= 0 else f"({value:.6g})"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if value >= 0 else f"({text})"


def _wrap(operand: tuple[str, int], strength: int) -> str:
    """Put an operand that binds less tightly in parentheses."""
    text, binding = operand
    return text if binding >= strength else f"({text})"
