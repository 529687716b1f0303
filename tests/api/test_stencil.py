import inspect
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
from tilewright.api.stencil import as_program


@tw.stencil
def heat(u, alpha):
    """Explicit heat equation."""
    return u[0, 0] + alpha * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])


def test_a_stencil_keeps_its_name_and_documentation():
    assert heat.__name__ == "heat"
    assert heat.__doc__ == "Explicit heat equation."
    assert list(inspect.signature(heat).parameters) == ["u", "alpha"]
    assert heat.program.fields == ("u",)
    assert heat.program.scalars == ("alpha",)


def test_a_stencil_prints_as_its_program():
    assert repr(heat) == (
        "heat(u; alpha): 2D, 5 loads and 7 flops per cell and step\n"
        "  u <- u[0, 0] + alpha * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])"
    )
    assert "&lt;-" in heat._repr_html_()


def test_a_stencil_may_be_used_in_another_one():
    twice = tw.stencil(lambda u: heat(u, 0.1) * 2, name="twice")
    assert twice.__name__ == "twice"
    assert twice.program.loads == 5


def test_a_name_may_be_given():
    @tw.stencil(name="smooth-1")
    def body(u):
        return 0.5 * (u[-1] + u[1])

    assert body.program.name == "smooth-1"


def test_a_stencil_called_with_an_array_says_what_to_do():
    with pytest.raises(tw.UsageError, match=r"tw\.run\(heat"):
        heat(np.zeros((4, 4)), 0.1)


def test_what_a_program_may_be():
    assert as_program("heat2d") is as_program("heat2d")
    assert as_program(heat) is heat.program
    assert as_program(heat.program) is heat.program
    assert as_program(lambda u: u[-1]).rank == 1
    for wrong in (3, None, np.zeros(3)):
        with pytest.raises(tw.UsageError, match="a program is a stencil"):
            as_program(wrong)


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "sin", "cos", "tanh", "floor", "abs"])
def test_functions_of_one_value(name):
    function = getattr(tw, name)
    program = tw.stencil(lambda u, a: function(u[0]) + function(a) + function(1 - u[1])).program
    assert [node.op for node in program.statements[0].tape if hasattr(node, "op")].count(name) == 3


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "sin", "cos", "tanh"])
def test_functions_of_numbers_are_numbers(name):
    program = tw.stencil(lambda u: u[0] * getattr(tw, name)(2)).program
    values = [node.value for node in program.statements[0].tape if hasattr(node, "value")]
    assert values == [getattr(np, name)(2.0)]


def test_functions_of_several_values():
    program = tw.stencil(lambda u, a: tw.where(u[0] > a, tw.minimum(u[0], 1), tw.maximum(a, u[-1]))).program
    ops = {node.op for node in program.statements[0].tape if hasattr(node, "op")}
    assert ops == {"gt", "minimum", "maximum", "where"}


def test_every_public_name_is_there():
    assert set(tw.__all__) <= set(dir(tw))
    for name in tw.__all__:
        assert getattr(tw, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'bogus'"):
        tw.bogus  # noqa: B018


def test_importing_loads_next_to_nothing():
    code = "import sys, tilewright; print([m for m in ('numpy', 'typer', 'rich', 'PIL') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
