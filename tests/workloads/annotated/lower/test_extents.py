"""What a nest touches of its arrays, told from its text, against what it touches when it runs."""

import itertools
import random

from tilewright.workloads.annotated.lower.extents import extents_of
from tilewright.workloads.annotated.nests.nest import (
    Assign,
    Binary,
    Block,
    Call,
    Choose,
    Expr,
    If,
    Item,
    Loop,
    Name,
    Num,
    Stmt,
    Unary,
)
from tilewright.workloads.annotated.parse.c import parse_code

STEPS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: int(a / b),
    "%": lambda a, b: a - b * int(a / b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
}


def value(expr: Expr, names: dict[str, int], touched: dict[str, list[int]]) -> int:  # noqa: PLR0911
    """What an expression is worth, as C has it; elements are 1 and leave their first subscript behind."""
    match expr:
        case Num(text):
            return int(text)
        case Name(name):
            return names[name]
        case Unary("!", operand):
            return int(not value(operand, names, touched))
        case Unary("-", operand):
            return -value(operand, names, touched)
        case Binary("&&", left, right):
            return int(bool(value(left, names, touched)) and bool(value(right, names, touched)))
        case Binary("||", left, right):
            return int(bool(value(left, names, touched)) or bool(value(right, names, touched)))
        case Binary(op, left, right):
            return STEPS[op](value(left, names, touched), value(right, names, touched))
        case Call(function, args):
            return {"min": min, "max": max}[function](value(each, names, touched) for each in args)
        case Choose(test, then, other):
            return value(then if value(test, names, touched) else other, names, touched)
        case Item(array, index):
            subscripts = [value(each, names, touched) for each in index]
            touched.setdefault(array, []).append(subscripts[0])
            return 1
    raise TypeError(expr)


def run(stmt: Stmt, names: dict[str, int], touched: dict[str, list[int]]) -> None:
    match stmt:
        case Block(body):
            for each in body:
                run(each, names, touched)
        case Loop(index=index, first=first, last=last, step=step, body=body):
            low, high = value(first, names, touched), value(last, names, touched)
            for number in range(low, high + (1 if step > 0 else -1), step):
                run(body, {**names, index: number}, touched)
        case If(test, then, other):
            if value(test, names, touched):
                run(then, names, touched)
            elif other is not None:
                run(other, names, touched)
        case Assign(target, _, expr):
            value(target, names, touched)
            value(expr, names, touched)


EXACT = {
    "guard": ("for (i=0;i<n;i++) if (i+1<n) y[i] = x[i+1];", "xy"),
    "other branch": ("for (i=0;i<n;i++) if (i < 4) y[i] = x[i]; else z[i+2] = x[i+3];", "xyz"),
    "two guards": ("for (i=0;i<n;i++) if (i != 2 && (i < 1 || i+2 < m)) y[i] = x[i+1];", "xy"),
    "short circuit": ("for (i=0;i<n;i++) if (i+1 < n && x[i+1] > 0) z[i] = 1;", "x"),
    "choice": ("for (i=0;i<n;i++) y[i] = i > 0 ? x[i-1] : x[i+1];", "xy"),
    "step": ("for (i=0;i<n;i+=3) y[i] = x[i+1];", "xy"),
    "step and guard": ("for (i=1;i<n;i+=4) if (i+2<m) y[i] = x[i+2];", "xy"),
    "falling": ("for (i=n-1;i>=0;i-=2) y[i] = x[n-1-i];", "xy"),
    "triangle": ("for (i=0;i<n;i++) for (j=i+1;j<n;j++) y[j] += x[i];", "xy"),
    "falling triangle": ("for (i=0;i<n;i++) for (j=0;j<n-i;j++) y[j] += x[i];", "xy"),
    "difference": ("for (i=0;i<n;i++) for (j=0;j<=i;j++) y[i-j] += x[i+2*j];", "xy"),
    "rows": ("for (i=0;i<n;i++) for (j=0;j<m;j++) y[i*m+j] = x[j*n+i] + z[i];", "xyz"),
    "inner cells": ("for (i=1;i<n-1;i++) for (j=1;j<m-1;j++) y[i*m+j] = x[(i+1)*m+j] + x[i*m+j-1];", "xy"),
    "guarded rows": ("for (i=0;i<n;i++) for (j=0;j<m;j++) if (j+1<m) y[i*m+j] = x[i*m+j+1];", "xy"),
    "stepped rows": ("for (i=0;i<n;i+=2) for (j=0;j<m;j+=3) y[i*m+j] = 1;", "y"),
    "halves": ("for (i=0;i<n/2;i++) y[2*i] = x[n/2+i];", "xy"),
    "later half of the rows": ("for (i=0;i<n/2;i++) for (j=0;j<m;j++) y[(n/2)*m+i*m+j] = x[(m%3)*n+i];", "yx"),
    "two axes": ("for (i=0;i<n;i++) for (j=0;j<m;j++) if (i+j < n) A[i][j] = 1;", "A"),
    "bounds": ("for (i=0;i<n;i++) for (j=r[i];j<r[i+1];j++) z[i] += 1;", "r"),
    "literal": ("for (i=0;i<7;i+=2) y[3*i+1] = x[6-i];", "xy"),
    "extremes": ("for (i=max(0,m-3);i<=min(n-1,m+2);i++) y[i] = x[i+1];", "xy"),
}


def test_extents_are_what_the_loops_touch_at_every_size():
    for name, (text, arrays) in EXACT.items():
        stmt = parse_code(text, "x")
        found = extents_of(stmt)
        assert set(arrays) <= set(found), name
        for n, m in itertools.product((0, 1, 2, 3, 5, 8), repeat=2):
            touched: dict[str, list[int]] = {}
            run(stmt, {"n": n, "m": m}, touched)
            for array in arrays:
                reached = touched.get(array, [])
                assert max(0, value(found[array].count, {"n": n, "m": m}, {})) == 1 + max(reached, default=-1), (
                    array,
                    n,
                    m,
                )
                fits = all(value(each, {"n": n, "m": m}, {}) for each in found[array].assumes)
                assert fits == (min(reached, default=0) >= 0), (array, n, m)


def test_what_cannot_be_told_has_no_extent():
    for text, unknown in [
        ("for (i=0;i<n;i++) y[i] = x[z[i]+i];", "x"),
        ("for (i=0;i<n;i++) if (z[i] > 0) y[i] = 1;", "y"),
        ("for (i=0;i<n;i++) { y[i] = x[i-z[0]]; z[0] = z[0] - 1; }", "x"),
        ("for (i=0;i<n;i++) { k = i; if (i > 3) k = 2*i; y[i] = x[k]; }", "x"),
        ("for (i=0;i<n;i++) for (j=0;j<m;j++) if (i*m+j < k) y[i*m+j] = 1;", "y"),
        ("for (i=0;i<n;i++) for (j=0;j<m-i;j++) y[i*m+j] = 1;", "y"),
        ("for (i=0;i<n;i++) y[i*i] = 1;", "y"),
        ("for (i=0;i<n;i++) for (j=z[i];j<m;j++) y[j] = 1;", "y"),
    ]:
        found = extents_of(parse_code(text, "x"))
        assert unknown not in found, (text, unknown)


def affine(draw: random.Random, names: str) -> str:
    terms = [f"{draw.choice(['', '', '2*', '-', '3*'])}{draw.choice(names)}" for _ in range(draw.randint(1, 2))]
    more = draw.choice([str(draw.randint(-3, 4)), f"n/{draw.randint(2, 3)}", "m%2"])
    return "+".join(f"({each})" for each in ([*terms, more] if draw.random() < 0.7 else terms))


def condition(draw: random.Random, names: str, depth: int = 1) -> str:
    kind = draw.random() if depth else 1.0
    if kind < 0.4:
        return f"({condition(draw, names, 0)} {draw.choice(['&&', '||'])} {condition(draw, names, 0)})"
    plain = f"{affine(draw, names)} {draw.choice(['<', '<=', '>', '>=', '==', '!='])} {affine(draw, names)}"
    return f"!({plain})" if kind < 0.55 else plain


def subscript(draw: random.Random, names: str) -> str:
    kind = draw.random()
    if kind < 0.15:
        return f"{draw.choice(names)}*m+{draw.choice(names)}"
    return f"({affine(draw, names)})*n+{draw.choice(names)}" if kind < 0.25 else affine(draw, names)


def nest(draw: random.Random, names: str = "nm") -> str:
    """A random nest of loops and conditions."""
    free = [each for each in "ijk" if each not in names]
    if free and (len(free) == 3 or draw.random() < 0.5):
        i, low, high = free[0], draw.choice(["0", "1", affine(draw, names)]), draw.choice(["n", affine(draw, names)])
        step, body = draw.randint(1, 3), nest(draw, names + free[0])
        rising = f"for ({i}={low};{i}<{high};{i}+={step}) {body}"
        return rising if draw.random() < 0.8 else f"for ({i}={high};{i}>={low};{i}-={step}) {body}"
    x, z = (f"{each}[{subscript(draw, names)}]" for each in "xz")
    value = draw.choice([x, z, f"({condition(draw, names)} ? {x} : {z})", f"({condition(draw, names)} && {x} > 0)"])
    assign = f"y[{subscript(draw, names)}] = {value};"
    return f"if ({condition(draw, names)}) {{ {assign} }} else {x} = 1;" if draw.random() < 0.4 else assign


def test_what_is_told_of_random_nests_is_true():
    """Where no condition fails, no subscript is negative and the largest is one less than the extent."""
    for seed in range(40):
        text = nest(random.Random(seed))  # noqa: S311
        stmt = parse_code(text, "x")
        found = extents_of(stmt)
        for n, m in itertools.product((-2, 0, 1, 2, 5), (-3, 0, 1, 4)):
            touched: dict[str, list[int]] = {}
            run(stmt, {"n": n, "m": m}, touched)
            for array, extent in found.items():
                reached = touched.get(array, [])
                count = value(extent.count, {"n": n, "m": m}, {})
                if all(value(each, {"n": n, "m": m}, {}) for each in extent.assumes):
                    assert (max(0, count), min(reached, default=0) >= 0) == (1 + max(reached, default=-1), True), (
                        text,
                        n,
                        m,
                    )


def test_a_pointer_into_the_midst_of_an_array_is_an_assumption():
    (extent,) = extents_of(parse_code("for (i=a;i<b;i++) y[i-1] = 0;", "x")).values()
    for a, b in itertools.product(range(-2, 4), repeat=2):
        fits = all(value(each, {"a": a, "b": b}, {}) for each in extent.assumes)
        assert fits == (a >= b or a >= 1)
