"""The benchmark of gradients: it compares with JAX's before it times, and says which gradients differ."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"

pytest.importorskip("jax")


@pytest.fixture
def gradients(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    import gradients

    yield gradients
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def kernels_of_the_test(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "kernels"))


@pytest.mark.parametrize(("name", "states"), [("wave2d", None), ("heat2d_var", 3)])
def test_gradients_are_compared_with_those_of_jax_and_timed(kernels_of_the_test, gradients, name, states):
    case = gradients.Case(program=name, shape=(20, 24), steps=7, dtype="float64", threads=1)
    found = gradients.measured(case, states, 2, beside_jax=True)
    assert found.error < 1e-12
    assert len(found.forward) == len(found.seconds) == len(found.jax) == 2
    assert found.cost > 0
    assert found.speedup > 0
    assert not found.wrong


def test_gradients_that_differ_are_not_timed(kernels_of_the_test, gradients, monkeypatch):
    right = gradients.jax_gradient
    longer = lambda case: right(replace(case, steps=case.steps + 1))  # noqa: E731
    monkeypatch.setattr(gradients, "jax_gradient", longer)
    case = gradients.Case(program="jacobi2d", shape=(20, 24), steps=4, dtype="float64", threads=1)
    found = gradients.measured(case, None, 2, beside_jax=True)
    assert found.wrong
    assert not found.seconds
    assert "differs from JAX's" in gradients.line(found)


def test_a_gradient_that_is_not_finite_is_wrong(gradients):
    found = gradients.Gradient(program="u", shape=(4,), steps=1, dtype="float32", states=None, error=float("nan"))
    assert found.wrong
