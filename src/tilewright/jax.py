"""Programs as functions that JAX differentiates: ``op(program, steps=…)``.

The arrays are handed over by a callback, on the processor, and the gradient is :func:`tilewright.vjp`'s.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from tilewright.base.errors import UsageError
from tilewright.verbs.gradients.vjp import gradients
from tilewright.verbs.running.run import run
from tilewright.verbs.stencil import ProgramLike, as_program


def op(program: ProgramLike, *, steps: int, **options: Any) -> Callable[..., Any]:  # noqa: ANN401
    """Return a run of a program as a function of JAX.

    It may be compiled (``jax.jit``), and differentiated once, backwards (``jax.grad``, ``jax.vjp``); JAX refuses a
    second derivative, since a callback has none.

    Args:
        program: A stencil, a function, a program, or the name of a built-in one.
        steps: Time steps.
        **options: Of :func:`tilewright.run`: ``boundary``, ``threads``, ``strict``, ``backend``; of
            :func:`tilewright.vjp`: ``memory``, ``checkpoints``, ``disk``.

    Returns:
        ``function(*arrays, **scalars)``: one array per field, or a tuple of its time levels, newest first; scalars are
        numbers or arrays of JAX, which make coefficient fields. It returns what :func:`tilewright.run` returns.

    Raises:
        UsageError: If an option cannot be used.

    Examples:
        >>> import jax.numpy as jnp  # doctest: +SKIP
        >>> step = op("jacobi1d", steps=1, boundary="wrap")  # doctest: +SKIP
        >>> [round(float(x), 3) for x in jax.grad(lambda u: step(u)[0])(jnp.zeros(6))]  # doctest: +SKIP
        [0.333, 0.333, 0.0, 0.0, 0.0, 0.333]
    """
    known = as_program(program)
    unknown = sorted(set(options) - {"boundary", "threads", "strict", "backend", "memory", "checkpoints", "disk"})
    if unknown:
        raise UsageError(f"op takes no {unknown[0]!r}", "scalars are arguments of the function that it returns")
    plain = {name: value for name, value in options.items() if name not in {"memory", "checkpoints", "disk"}}

    def shapes(arrays: tuple[Any, ...]) -> Any:  # noqa: ANN401
        first = {
            field: each[0] if isinstance(each, tuple) else each
            for field, each in zip(known.fields, arrays, strict=True)
        }
        found = tuple(_like(first[field]) for field in known.updated)
        return found[0] if len(found) == 1 else found

    def numbers(scalars: dict[str, Any]) -> dict[str, Any]:
        return {name: np.asarray(value) for name, value in scalars.items()}

    def on_host(arrays: tuple[Any, ...], scalars: dict[str, Any]) -> Any:  # noqa: ANN401
        return run(known, *jax.tree.map(np.asarray, arrays), steps=steps, **plain, **numbers(scalars))

    def back_on_host(arrays: tuple[Any, ...], scalars: dict[str, Any], cotangent: Any) -> Any:  # noqa: ANN401
        given = jax.tree.map(np.asarray, arrays)
        worth = jax.tree.map(np.asarray, cotangent)
        of_arrays, of_scalars = gradients(known, worth, *given, steps=steps, **options, **numbers(scalars))
        typed = {name: np.asarray(of_scalars[name], np.asarray(value).dtype) for name, value in scalars.items()}
        return of_arrays, typed

    @jax.custom_vjp
    def called(arrays: tuple[Any, ...], scalars: dict[str, Any]) -> Any:  # noqa: ANN401
        return jax.pure_callback(on_host, shapes(arrays), arrays, scalars)

    def forward(arrays: tuple[Any, ...], scalars: dict[str, Any]) -> Any:  # noqa: ANN401
        return called(arrays, scalars), (arrays, scalars)

    def backward(kept: Any, cotangent: Any) -> Any:  # noqa: ANN401
        like = jax.tree.map(_like, kept)
        return jax.pure_callback(back_on_host, like, *kept, cotangent)

    called.defvjp(forward, backward)

    def function(*arrays: Any, **scalars: Any) -> Any:  # noqa: ANN401
        if len(arrays) != len(known.fields):
            raise UsageError(f"{known.name!r} takes {', '.join(known.fields)}, got {len(arrays)} arrays")
        values = {**dict(known.defaults), **scalars}
        return called(jax.tree.map(jax.numpy.asarray, arrays), jax.tree.map(jax.numpy.asarray, values))

    return function


def _like(array: Any) -> Any:  # noqa: ANN401
    """What JAX needs to know of an array that a callback returns."""
    return jax.ShapeDtypeStruct(array.shape, array.dtype)  # type: ignore[no-untyped-call]
