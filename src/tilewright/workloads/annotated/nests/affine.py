"""Subscripts, bounds and conditions of a loop nest in isl's words, where they are affine."""

from collections.abc import Collection, Mapping

from tilewright.workloads.annotated.nests.accesses import AssignmentSite
from tilewright.workloads.annotated.nests.nest import Binary, Call, Convert, Expr, Name, Num, Unary, arrays, names
from tilewright.workloads.annotated.nests.values import evaluate, literal


def affine(expr: Expr, dims: Mapping[str, str], known: Mapping[str, int], changed: Collection[str]) -> str | None:  # noqa: PLR0911
    """Return an expression as isl text, ``dims`` in place of counters, or None if it is not affine."""
    # names that are ``changed`` somewhere are no parameters
    match expr:
        case Num(text):
            value = literal(text)
            return str(value) if isinstance(value, int) else None
        case Name(name):
            if name in dims:
                return dims[name]
            return str(known[name]) if name in known else None if name in changed else f"p_{name}"
        case Convert("int" | "long" | "int64_t" | "int32_t", operand):
            return affine(operand, dims, known, changed)
        case Unary("-" | "+" as op, operand):
            inner = affine(operand, dims, known, changed)
            return None if inner is None else f"({op}({inner}))"
        case Binary("+" | "-" as op, left, right):
            a, b = affine(left, dims, known, changed), affine(right, dims, known, changed)
            return None if a is None or b is None else f"({a} {op} {b})"
        case Binary("*", left, right):
            for one, other in ((left, right), (right, left)):
                factor = evaluate(one, known) if not names(one) & set(dims) else None
                inner = affine(other, dims, known, changed)
                if isinstance(factor, int) and inner is not None:
                    return f"({factor} * {inner})"
            return None
    value = evaluate(expr, known) if not (names(expr) & set(dims) or arrays(expr)) else None
    return str(value) if isinstance(value, int) else None


def rows(
    expr: Expr, dims: Mapping[str, str], known: Mapping[str, int], changed: Collection[str]
) -> tuple[tuple[Expr, ...], tuple[str, ...]] | None:
    """Return a subscript of a matrix with one index as those of one with several, and the lengths of its rows, or None.

    ``(i*m + j)*n + k`` is ``[i][j][k]`` with rows of ``m`` and ``n`` elements (Maslov, Delinearization, 1992); that
    holds where every subscript but the first lies in its row, which is the caller's to show.
    """
    if affine(expr, dims, known, changed) is not None:
        return (expr,), ()
    found = terms(expr)
    if found is None:
        return None
    lengths = {part.name for _, factors in found if len(factors) > 1 for part in factors if isinstance(part, Name)}
    for length in sorted(lengths - set(dims) - set(changed)):
        inside = [term for term in found if Name(length) not in term[1]]
        outside = [(number, _without(factors, Name(length))) for number, factors in found if Name(length) in factors]
        column = _joined(inside)
        if affine(column, dims, known, changed) is None:
            continue
        split = rows(_joined(outside), dims, known, changed)
        if split is not None:
            return (*split[0], column), (*split[1], length)
    return None


_MOST_TERMS = 32


def terms(expr: Expr) -> list[tuple[int, tuple[Expr, ...]]] | None:  # noqa: PLR0911
    """Return a sum of products of names as terms, each a number and names; None if it is something else.

    >>> terms(Binary("*", Binary("+", Name("i"), Num("2")), Name("n")))
    [(1, (Name(name='i'), Name(name='n'))), (2, (Name(name='n'),))]
    """
    match expr:
        case Num(text):
            value = literal(text)
            return [(value, ())] if isinstance(value, int) else None
        case Name():
            return [(1, (expr,))]
        case Unary("-" | "+" as op, operand):
            inner = terms(operand)
            return None if inner is None else [(-number if op == "-" else number, part) for number, part in inner]
        case Binary("+" | "-" | "*" as op, left, right):
            a, b = terms(left), terms(right)
            if a is None or b is None or len(a) * len(b) > _MOST_TERMS:
                return None
            if op == "*":
                return [(m * n, (*one, *other)) for m, one in a for n, other in b]
            return a + [(-number if op == "-" else number, part) for number, part in b]
    return None


def _without(factors: tuple[Expr, ...], factor: Expr) -> tuple[Expr, ...]:
    place = factors.index(factor)
    return (*factors[:place], *factors[place + 1 :])


def _joined(terms: list[tuple[int, tuple[Expr, ...]]]) -> Expr:
    total: Expr = Num("0")
    for number, factors in terms:
        term: Expr = Num(str(number))
        for factor in factors:
            term = Binary("*", term, factor)
        total = Binary("+", total, term)
    return total


def conditions(  # noqa: PLR0911
    test: Expr, dims: Mapping[str, str], known: Mapping[str, int], changed: Collection[str]
) -> tuple[list[str], bool]:
    """Return affine conditions that a test implies, and whether they say all of it."""
    match test:
        case Binary("&&", left, right):
            a, whole_a = conditions(left, dims, known, changed)
            b, whole_b = conditions(right, dims, known, changed)
            return a + b, whole_a and whole_b
        case Binary("||", left, right):
            a, whole_a = conditions(left, dims, known, changed)
            b, whole_b = conditions(right, dims, known, changed)
            if whole_a and whole_b:
                return [f"(({' and '.join(a)}) or ({' and '.join(b)}))"], True
        case Binary("<" | "<=" | ">" | ">=" | "==" | "!=" as op, left, right):
            a_text, b_text = affine(left, dims, known, changed), affine(right, dims, known, changed)
            if a_text is not None and b_text is not None:
                return [f"{a_text} {'=' if op == '==' else op} {b_text}"], True
        case Unary("!", Binary("<" | "<=" | ">" | ">=" | "==" | "!=" as op, left, right)):
            flipped = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}[op]
            return conditions(Binary(flipped, left, right), dims, known, changed)
        case Unary("!", Binary("&&", left, right)):
            return conditions(Binary("||", Unary("!", left), Unary("!", right)), dims, known, changed)
        case Unary("!", Unary("!", inner)):
            return conditions(inner, dims, known, changed)
        case Unary("!", Binary("||", left, right)):
            return conditions(Binary("&&", Unary("!", left), Unary("!", right)), dims, known, changed)
    return [], False


def domain(
    site: AssignmentSite, letter: str, known: Mapping[str, int], changed: Collection[str]
) -> tuple[list[str], bool]:
    """Return the conditions on a site's counters as isl text, and whether they are exact."""
    dims: dict[str, str] = {}
    found: list[str] = []
    exact = True
    for depth, loop in enumerate(site.loops):
        inner = dict(dims)
        here = f"{letter}{depth}"
        low, high = (loop.first, loop.last) if loop.step > 0 else (loop.last, loop.first)
        for bound, sign, function in ((low, ">=", "max"), (high, "<=", "min")):
            for part in _extremes(bound, function):
                text = affine(part, inner, known, changed)
                exact = exact and text is not None
                if text is not None:
                    found.append(f"{here} {sign} {text}")
        if abs(loop.step) > 1:
            start = affine(loop.first, inner, known, changed)
            exact = exact and start is not None
            if start is not None:
                found.append(f"exists (e{letter}{depth} : {here} = {start} + {loop.step} e{letter}{depth})")
        dims[loop.index] = here
    for test in site.tests:
        texts, whole = conditions(test, dims, known, changed)
        found += texts
        exact = exact and whole
    return found, exact


def _extremes(expr: Expr, function: str) -> list[Expr]:
    if isinstance(expr, Call) and expr.function == function:
        return [part for each in expr.args for part in _extremes(each, function)]
    return [expr]
