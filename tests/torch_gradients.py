"""Runs that PyTorch differentiates; ``test_torch.py`` runs them in their own process."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import UsageError

torch = pytest.importorskip("torch")
op = pytest.importorskip("tilewright.torch").op
torch.manual_seed(0)


def _roll(x, a, b):
    return torch.roll(x, (-a, -b), (0, 1))


def _laplacian(x):
    return _roll(x, 1, 0) + _roll(x, -1, 0) + _roll(x, 0, 1) + _roll(x, 0, -1) - 4 * x


def _heat(u, a):
    return u[0, 0] + a * (u[1, 0] + u[-1, 0] + u[0, 1] + u[0, -1] - 4 * u[0, 0])


def _leaf(*shape):
    return torch.rand(shape, dtype=torch.float64).requires_grad_()


def _gradients(result, inputs):
    return torch.autograd.grad((result**2).sum(), inputs)


@pytest.mark.parametrize("shape", [(), (12, 10)], ids=["scalar", "field"])
def test_gradients_are_those_of_torch(shape):
    u, a = _leaf(12, 10), _leaf(*shape)
    heat = op(_heat, steps=4, boundary="wrap")
    x = u
    for _ in range(4):
        x = x + a * _laplacian(x)
    y = heat(u, a=a)
    torch.testing.assert_close(y, x)
    for ours, theirs in zip(_gradients(y, (u, a)), _gradients(x, (u, a)), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_time_levels():
    new, old = _leaf(9, 8), _leaf(9, 8)
    step = op(
        lambda u: 2 * u[0, 0] - u.prev[0, 0] + 0.1 * (u[1, 0] + u[-1, 0] + u[0, 1] + u[0, -1] - 4 * u[0, 0]),
        steps=3,
        boundary="wrap",
    )
    x, before = new, old
    for _ in range(3):
        x, before = 2 * x - before + 0.1 * _laplacian(x), x
    for ours, theirs in zip(_gradients(step((new, old)), (new, old)), _gradients(x, (new, old)), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_the_checks_of_torch_library():
    u, a = _leaf(6, 5), _leaf()
    assert torch.autograd.gradcheck(lambda u, a: op(_heat, steps=2, boundary="reflect")(u, a=a), (u, a))


def test_a_compiled_function():
    u = _leaf(8, 8)
    smooth = op("jacobi2d", steps=3, boundary="wrap")
    compiled = torch.compile(lambda u: torch.sin(smooth(u)) ** 2, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(_gradients(compiled(u), (u,)), _gradients(torch.sin(smooth(u)) ** 2, (u,)))


def test_tensors_are_read_where_they_lie_and_left_alone():
    u = torch.rand((16, 16))
    before = u.clone()
    found = op("jacobi2d", steps=2)(u)
    np.testing.assert_array_equal(found.numpy(), tw.run("jacobi2d", before.numpy(), steps=2))
    torch.testing.assert_close(u, before)


def test_a_second_derivative_is_refused():
    u = _leaf(6, 6)
    (first,) = torch.autograd.grad((op("gradient2d", steps=2)(u) ** 2).sum(), u, create_graph=True)
    with pytest.raises(RuntimeError, match=r"backward|autograd|grad"):
        torch.autograd.grad(first.sum(), u)


def test_what_cannot_be_used():
    with pytest.raises(UsageError, match="op takes no 'sources'"):
        op("jacobi2d", steps=1, sources=None)
    with pytest.raises(UsageError, match="takes u, got 2 tensors"):
        op("jacobi2d", steps=1)(torch.zeros(4, 4), torch.zeros(4, 4))
    with pytest.raises(UsageError, match="tensors on the processor, got ndarray"):
        op("jacobi2d", steps=1)(np.zeros((4, 4)))
