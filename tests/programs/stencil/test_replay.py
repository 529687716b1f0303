"""The body of a stencil from its program builds what the function built."""

import pytest

from tilewright.base.errors import TraceError
from tilewright.inputs.stencil import body_of
from tilewright.tracing import argument_names, trace


def wave(c, u):
    return {"u": 2 * u[0, 0] - u.prev[0, 0] + c * (u[1, 0] + u[-1, 0] + u[0, 1] + u[0, -1] - 4 * u[0, 0])}


def two(u, v, a):
    return u[0] + a * v[1], v[0] - u.new[-1] / a


def second(u, v):
    return {"v": abs(u[0] - v.prev2[0]) ** 3 + v[-1]}


def early(u):
    return u[0] + u.prev2[1] - u.prev[0]


@pytest.mark.parametrize("function", [wave, two, second, early])
def test_a_body_traced_again_is_the_same_program(function):
    program = trace(function)
    body = body_of(program, tuple(argument_names(function, function.__name__)))
    assert trace(body, program.name) == program


def test_numbers_and_other_fields_stand_for_arguments():
    body = body_of(trace(two), ("u", "v", "a"))

    def other(x, y):
        return body(x, y, 0.5)

    assert trace(other) == trace(lambda x, y: two(x, y, 0.5), "other")


def test_another_number_of_arguments_is_refused():
    body = body_of(trace(two), ("u", "v", "a"))
    with pytest.raises(TraceError, match="missing a required argument: 'v'"):
        trace(lambda u: body(u))  # noqa: PLW0108  (a body is a function)


def test_scalars_have_their_defaults_and_names():
    def moved(u, a=0.5, b=2.0):
        return a * u[0] + b * u[1]

    body = body_of(trace(moved), ("u", "a", "b"))
    assert trace(lambda u: body(u, b=3.0), "other") == trace(lambda u: moved(u, b=3.0), "other")
