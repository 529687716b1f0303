"""The minimax polynomials of :mod:`tilewright.codegen.print.vector_math`, by the exchange algorithm of E. Y. Remez.

    pip install mpmath && python reproduce/polynomials.py

Prints every polynomial's coefficients, the constant term first and rounded to the element type, and the largest
relative error of the function that it leaves (before rounding) as a power of two.
"""

from collections.abc import Callable, Sequence

import mpmath as mp
import numpy as np

mp.mp.dps = 60
Function = Callable[[mp.mpf], mp.mpf]
REDUCED = mp.log(2) / 2 * mp.mpf("1.01")  # of exp
LOW, HIGH = mp.sqrt(mp.mpf("0.5")) * mp.mpf("0.999") - 1, mp.sqrt(2) * mp.mpf("1.001") - 1  # of log
SQUARED = (HIGH / (2 + HIGH)) ** 2 * mp.mpf("1.01")  # of atanh
QUARTER = (mp.pi / 4 * mp.mpf("1.01")) ** 2  # of sin and cos
EIGHTH = (mp.tan(mp.pi / 8) * mp.mpf("1.001")) ** 2  # of atan
NEAR = mp.mpf("0.01")
"""Where a quotient loses digits a series serves."""


def series(term: Callable[[int], mp.mpf], x: mp.mpf, terms: int = 120) -> mp.mpf:
    return mp.fsum(term(k) * x**k for k in range(terms))


def exp(x: mp.mpf) -> mp.mpf:
    return series(lambda k: 1 / mp.factorial(k + 2), x, 30) if abs(x) < NEAR else (mp.exp(x) - 1 - x) / x**2


def log(f: mp.mpf) -> mp.mpf:
    near = abs(f) < 10 * NEAR
    return series(lambda k: mp.mpf((-1) ** k) / (k + 3), f) if near else (mp.log(1 + f) - f + f * f / 2) / f**3


POLYNOMIALS: dict[str, tuple[Function, Function, mp.mpf, mp.mpf, dict[str, int]]] = {
    # function, weight that makes its error a relative one, ends of the interval, degree by element type
    "exp": (exp, lambda x: x * x / mp.exp(x), -REDUCED, REDUCED, {"float32": 4, "float64": 10}),
    "log": (log, lambda f: abs(f**3 / mp.log(1 + f)) if f else mp.mpf(0), LOW, HIGH, {"float32": 8}),
    "atanh": (
        lambda z: series(lambda k: mp.mpf(2) / (2 * k + 3), z),
        lambda z: z / 2,
        mp.mpf(0),
        SQUARED,
        {"float64": 7},
    ),
    "atanh_rest": (
        lambda z: series(lambda k: mp.mpf(2) / (2 * k + 5), z),
        lambda z: z * z / 2,
        mp.mpf(0),
        SQUARED,
        {"float32": 3, "float64": 6},
    ),
    "sin": (
        lambda u: series(lambda k: (-1) ** (k + 1) / mp.factorial(2 * k + 3), u, 20),
        lambda u: u,
        mp.mpf(0),
        QUARTER,
        {"float32": 3, "float64": 6},
    ),
    "cos": (
        lambda u: series(lambda k: (-1) ** k / mp.factorial(2 * k + 4), u, 20),
        lambda u: u * u,
        mp.mpf(0),
        QUARTER,
        {"float32": 2, "float64": 5},
    ),
    "atan": (
        lambda u: series(lambda k: mp.mpf((-1) ** (k + 1)) / (2 * k + 3), u),
        lambda u: u,
        mp.mpf(0),
        EIGHTH,
        {"float32": 4, "float64": 11},
    ),
}


def minimax(function: Function, weight: Function, a: mp.mpf, b: mp.mpf, degree: int) -> tuple[list[mp.mpf], mp.mpf]:
    """Return the polynomial whose largest weighted error is least, and that error."""
    count = degree + 2
    middle, half = (a + b) / 2, (b - a) / 2
    points = [middle + half * mp.cos(mp.pi * (count - 1 - i) / (count - 1)) for i in range(count)]
    grid = [middle + half * mp.cos(mp.pi * (40 * count - i) / (40 * count)) for i in range(40 * count + 1)]
    values = [function(x) for x in grid]
    for _ in range(12):
        table, right = mp.matrix(count, count), mp.matrix(count, 1)
        for i, x in enumerate(points):
            for j in range(degree + 1):
                table[i, j] = x**j
            table[i, degree + 1] = (-1) ** i / (weight(x) + mp.mpf(10) ** -30)
            right[i] = function(x)
        solved = mp.lu_solve(table, right)
        found = [solved[j] for j in range(degree + 1)]
        errors = [weight(x) * (mp.polyval(found[::-1], x) - y) for x, y in zip(grid, values, strict=True)]
        extrema = alternating(errors)
        if len(extrema) < count:
            break
        while len(extrema) > count:
            extrema = extrema[1:] if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else extrema[:-1]
        points = [grid[i] for i in extrema]
        sizes = [abs(errors[i]) for i in extrema]
        if max(sizes) < mp.mpf("1.01") * min(sizes):
            break
    return found, max(map(abs, errors))


def alternating(errors: Sequence[mp.mpf]) -> list[int]:
    """Return where the errors of every run of one sign are largest."""
    found = [0]
    for i, error in enumerate(errors):
        if mp.sign(error) != mp.sign(errors[found[-1]]):
            found.append(i)
        elif abs(error) > abs(errors[found[-1]]):
            found[-1] = i
    return found


def main() -> None:
    for name, (function, weight, a, b, degrees) in POLYNOMIALS.items():
        for dtype, degree in degrees.items():
            coefficients, error = minimax(function, weight, a, b, degree)
            rounded = [float(np.dtype(dtype).type(float(each))).hex() for each in coefficients]
            print(f"{name} {dtype}, error 2^{float(mp.log(error, 2)):.1f}: {', '.join(rounded)}")


if __name__ == "__main__":
    main()
