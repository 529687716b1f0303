import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.fingerprint import fingerprint
from tilewright.inputs.stencil import as_program


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
    assert set(tw.__all__) - {"__version__"} == {*tw._HOME, *tw._MODULES}


def test_a_misspelt_name_is_one_that_python_can_correct():
    code = "import tilewright as tw; tw.stencli"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "has no attribute 'stencli'. Did you mean: 'stencil'?" in done.stderr
    for name in tw.__all__:
        assert getattr(tw, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'bogus'"):
        tw.bogus  # noqa: B018


def test_importing_loads_next_to_nothing():
    code = "import sys, tilewright; print([m for m in ('numpy', 'typer', 'rich', 'PIL') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def once_more(stencil):
    return lambda image: stencil(stencil(image))


def half(stencil):
    return lambda u: stencil(u, 0.5)


@pytest.mark.parametrize(
    "stencil",
    [
        heat,
        tw.stencil(lambda u, alpha: u[0, 0] * alpha, name="of_a_lambda"),
        tw.stencil(heat.__wrapped__, name="other"),
    ],
    ids=["decorated", "lambda", "renamed"],
)
def test_a_stencil_is_pickled_by_value(stencil):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        once = pickle.loads(pickle.dumps(stencil, protocol))  # noqa: S301  (our own)
        twice = pickle.loads(pickle.dumps(once, protocol))  # noqa: S301
        for copy in (once, twice):
            assert copy.program == stencil.program
            assert fingerprint(copy.program) == fingerprint(stencil.program)
            assert (copy.__name__, copy.__doc__) == (stencil.__name__, stencil.__doc__)
            assert repr(copy) == repr(stencil)
            assert tw.stencil(copy, name=stencil.__name__).program == stencil.program
            assert tw.stencil(half(copy)).program == tw.stencil(half(stencil)).program


def test_a_pickled_stencil_is_part_of_a_pipeline():
    across = tw.stencil(lambda u: u[0, 1] - u[0, -1], name="across")
    copy = pickle.loads(pickle.dumps(across))  # noqa: S301  (our own)
    image = np.random.default_rng(0).random((12, 14))
    wanted, got = (tw.pipeline(once_more(each))(image) for each in (across, copy))
    np.testing.assert_array_equal(got, wanted)


def test_a_decorated_recurrence_is_pickled_by_value():
    table = tw.recurrence(lambda t: tw.maximum(t[-1, 0], t[0, -1]) + 1, outside={"t": 0}, name="t")
    copy = pickle.loads(pickle.dumps(table))  # noqa: S301  (our own)
    assert copy.recurrence == table.recurrence
    np.testing.assert_array_equal(tw.fill(copy, shape=(4, 5)), tw.fill(table, shape=(4, 5)))


def test_a_stencil_that_no_module_holds_runs_in_a_spawned_process(tmp_path):
    script = tmp_path / "main.py"
    script.write_text(
        """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import tilewright as tw

if __name__ == "__main__":
    weight = 0.25
    heat = tw.stencil(lambda u, a: u[0] + a * weight * (u[-1] - 2 * u[0] + u[1]), name="heat")
    u = np.random.default_rng(0).random(64)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        got = pool.submit(tw.run, heat, u, steps=3, a=0.5).result(timeout=100)
    assert np.array_equal(got, tw.run(heat, u, steps=3, a=0.5))
""",
        encoding="utf-8",
    )
    done = subprocess.run((sys.executable, str(script)), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
