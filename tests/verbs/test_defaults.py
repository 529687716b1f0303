"""Defaults of scalars, and scalars where nothing but the model is asked."""

import json
import pickle

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright.base.errors import ArrayError, TilewrightError, UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.runtime.warn import forget_warnings


@tw.stencil
def heat(u, alpha=0.1):
    return u[0] + alpha * (u[-1] - 2.0 * u[0] + u[1])


@tw.stencil
def plain(u, alpha):
    return u[0] + alpha * (u[-1] - 2.0 * u[0] + u[1])


@tw.recurrence(rows="a", columns="b", outside=0)
def common(c, a, b, bonus):
    return tw.where(a[0] == b[0], c[-1, -1] + bonus, tw.maximum(c[-1, 0], c[0, -1]))


HALF = np.float32(0.5)
U = np.random.default_rng(0).random(40)
ASK = {"shape": (400,), "steps": 20, "machine": "gtx980"}


def test_a_default_is_used_where_a_run_gives_no_value():
    default = tw.run(heat, U, steps=5)
    np.testing.assert_array_equal(default, tw.run(plain, U, steps=5, alpha=0.1))
    np.testing.assert_array_equal(tw.run(heat, U, steps=5, alpha=0.2), tw.run(plain, U, steps=5, alpha=0.2))
    field = np.full(40, 0.1)
    np.testing.assert_array_equal(tw.run(heat, U, steps=5, alpha=field), tw.run(plain, U, steps=5, alpha=field))
    np.testing.assert_array_equal(tw.run(lambda u, a=2.0: a * u[0], U, steps=1), 2.0 * U)
    with pytest.raises(UsageError, match="needs a value of 'alpha'"):
        tw.run(plain, U, steps=5)


def test_a_default_stays_with_the_program_and_changes_nothing_of_it():
    program = pickle.loads(pickle.dumps(heat.program))  # noqa: S301
    assert program.defaults == heat.program.defaults == (("alpha", 0.1),)
    other = tw.stencil(lambda u, alpha=0.3: u[0] + alpha * (u[-1] - 2.0 * u[0] + u[1]), name="heat").program
    np.testing.assert_array_equal(tw.run(other, U, steps=5), tw.run(plain, U, steps=5, alpha=0.3))
    without = tw.stencil(lambda u, alpha: u[0] + alpha * (u[-1] - 2.0 * u[0] + u[1]), name="heat").program
    assert program == other == without
    assert len({program, other, without}) == 1
    assert fingerprint(program) == fingerprint(other) == fingerprint(without)
    assert "heat(u; alpha=0.1): 1D" in repr(heat)


def test_a_default_may_be_of_any_kind_of_number():
    assert tw.stencil(lambda u, a=HALF: a * u[0]).program.defaults == (("a", 0.5),)
    assert tw.stencil(lambda u, a=2: a * u[0]).program.defaults == (("a", 2),)
    whole = tw.run(lambda u, a=2: a * u[0], np.arange(5), steps=1)
    assert whole.dtype.kind == "i"


def test_a_default_inside_another_stencil():
    twice = tw.stencil(lambda u, v: (heat(u), heat(v, alpha=0.2)))
    first, second = tw.run(twice, U, U, steps=1)
    np.testing.assert_array_equal(first, tw.run(plain, U, steps=1, alpha=0.1))
    np.testing.assert_array_equal(second, tw.run(plain, U, steps=1, alpha=0.2))


def test_a_default_is_measured_and_planned_with():
    plan = tw.tune(heat, shape=(400,), steps=4, candidates=2, progress=False)
    np.testing.assert_array_equal(plan.run(U, steps=4), tw.run(plain, U, steps=4, alpha=0.1, tiling=plan.tiling))
    np.testing.assert_array_equal(plan.run(U, steps=0, alpha=3.0), U)


def test_a_default_decides_what_is_stable():
    wild = tw.stencil(lambda u, alpha=0.9: u[0] + alpha * (u[-1] - 2.0 * u[0] + u[1]), name="wild")
    forget_warnings()
    with pytest.warns(tw.TilewrightWarning, match="stability limit"):
        tw.predict(wild, **ASK)
    tw.predict(wild, alpha=0.1, **ASK)
    forget_warnings()
    with pytest.warns(tw.TilewrightWarning, match="stability limit"):
        tw.predict(plain, alpha=0.9, **ASK)


VERBS = (
    tw.predict,
    tw.select,
    tw.supertune,
    tw.energy,
    tw.compare,
    lambda program, **rest: tw.whatif(program, vary="bandwidth", factors=(2.0,), **rest),
    lambda program, **rest: tw.tune(program, effort="none", **rest),
)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_of_the_model_takes_scalars(verb):
    assert verb(plain, **ASK) is not None
    assert verb(plain, alpha=0.1, **ASK) is not None
    assert verb(heat, alpha=np.float32(0.2), **ASK) is not None
    with pytest.raises(UsageError, match=r"'plain' has no scalar 'alpa' .*did you mean alpha"):
        verb(plain, alpa=0.1, **ASK)
    with pytest.raises(UsageError, match=r"'plain' has no scalar 'u' .*it is a field"):
        verb(plain, u=0.1, **ASK)
    with pytest.raises(ArrayError, match="'alpha' is the text 'much', where numbers must be"):
        verb(plain, alpha="much", **ASK)


def test_a_coefficient_array_costs_what_is_read():
    number = tw.predict(plain, alpha=0.1, tiling="none", **ASK)
    array = tw.predict(plain, alpha=np.full(400, 0.1), tiling="none", **ASK)
    assert array.costs.dram_bytes > number.costs.dram_bytes


def test_scalars_of_a_recurrence_are_checked_by_name():
    ask = {"shape": (400, 400), "machine": "gtx980"}
    assert tw.predict(common, bonus=2, **ask).costs == tw.predict(common, **ask).costs
    with pytest.raises(UsageError, match=r"'common' has no scalar 'bonos' .*did you mean bonus"):
        tw.select(common, bonos=2, **ask)


@pytest.mark.parametrize(
    ("verb", "number"),
    covering(
        [*VERBS, lambda program, **rest: tw.tune(program, **{**rest, "machine": "host", "candidates": 1})],
        [-0.1j, np.complex64(0.1), np.full(400, 0.1j)],
    ),
)
def test_complex_scalars_need_complex_fields(verb, number):
    """A run makes its fields complex then; models are told the type."""
    turned = tw.stencil(lambda u, alpha=0.1j: alpha * u[0])
    for call in (lambda: verb(plain, alpha=number, **ASK), lambda: verb(turned, **ASK)):
        with pytest.raises(UsageError, match=r"alpha = .*does not fit fl|the value .*j of 'alpha' does not fit fl"):
            call()
    given = {**ASK, "machine": "zen3", "dtype": "complex64"}
    assert verb(plain, alpha=number / 20, **given) is not None


@pytest.mark.parametrize(
    "call", [lambda: heat(U), lambda: heat(U, alpha=0.1), lambda: heat(u=U), lambda: heat(1.0), heat]
)
def test_a_stencil_that_is_called_says_what_runs_it(call):
    with pytest.raises(UsageError, match=r"tw\.run\(heat, array, steps=…\)"):
        call()


def test_too_many_arrays_are_counted():
    hint = r"\(hint: scalars are given by name: alpha=…\)"
    with pytest.raises(ArrayError, match=rf"'plain' takes 1 array \(u\), got 2 {hint}"):
        tw.run(plain, U, 0.1, steps=1)
    with pytest.raises(TilewrightError, match=r"'jacobi1d' takes 1 array \(u\), got 2$"):
        tw.run("jacobi1d", U, 0.1, steps=1)


def test_a_matrix_of_a_stencil_takes_the_default():
    given, default = tw.sparse.from_stencil(heat, (8,), alpha=0.1), tw.sparse.from_stencil(heat, (8,))
    np.testing.assert_array_equal(default @ np.arange(8.0), given @ np.arange(8.0))


def test_programs_with_defaults_are_plain_data():
    from tilewright.report.tables import program_dict

    assert json.loads(json.dumps(program_dict(heat.program)))["defaults"] == {"alpha": 0.1}
