"""Programs as functions that JAX differentiates: ``op(program, steps=…)``.

On the processor compiled functions hand over the memory that the arrays lie in, where there is a C compiler; else, and
in functions compiled for other devices, a callback gets copies. The gradient is :func:`tilewright.vjp`'s.
"""

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.base.errors import ToolchainError, UsageError, needed
from tilewright.inputs.stencil import ProgramLike, as_program
from tilewright.runtime import xla
from tilewright.verbs.gradients.vjp import gradients
from tilewright.verbs.running.run import run

with needed("jax", "tilewright.jax"):
    import jax

_TARGET = "tilewright"
_lock = threading.Lock()


def op(program: ProgramLike, *, steps: int, **options: Any) -> Callable[..., Any]:  # noqa: ANN401
    """Return a run of a program as a function of JAX.

    It may be compiled (``jax.jit``), and differentiated once, backwards (``jax.grad``, ``jax.vjp``); JAX refuses a
    second derivative, since a call out of its code has none. What a run refuses is an error of JAX with its sentence.

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
    stencil = as_program(program)
    unknown = sorted(set(options) - {"boundary", "threads", "strict", "backend", "memory", "checkpoints", "disk"})
    if unknown:
        raise UsageError(f"op takes no {unknown[0]!r}", "scalars are arguments of the function that it returns")
    plain = {name: value for name, value in options.items() if name not in {"memory", "checkpoints", "disk"}}

    def shapes(arrays: tuple[Any, ...]) -> Any:  # noqa: ANN401
        first = {
            field: each[0] if isinstance(each, tuple) else each
            for field, each in zip(stencil.fields, arrays, strict=True)
        }
        results = tuple(_like(first[field]) for field in stencil.updated)
        return results[0] if len(results) == 1 else results

    def forth(arrays: tuple[Any, ...], scalars: dict[str, Any], out: Any) -> None:  # noqa: ANN401
        run(stencil, *arrays, steps=steps, out=out, **plain, **scalars)

    def back(arrays: tuple[Any, ...], scalars: dict[str, Any], cotangent: Any, out: Any) -> None:  # noqa: ANN401
        of_arrays, of_scalars = gradients(stencil, cotangent, *arrays, steps=steps, **options, **scalars)
        gradient = of_arrays, {name: of_scalars[name] for name in scalars}
        jax.tree.map(lambda into, each: np.copyto(into, each, casting="unsafe"), out, gradient)

    @jax.custom_vjp
    @jax.jit
    def called(arrays: tuple[Any, ...], scalars: dict[str, Any]) -> Any:  # noqa: ANN401
        return _call_with_out(forth, shapes(arrays), arrays, scalars)

    def forward(arrays: tuple[Any, ...], scalars: dict[str, Any]) -> Any:  # noqa: ANN401
        return called(arrays, scalars), (arrays, scalars)

    @jax.jit
    def backward(residuals: Any, cotangent: Any) -> Any:  # noqa: ANN401
        return _call_with_out(back, jax.tree.map(_like, residuals), *residuals, cotangent)

    called.defvjp(forward, backward)

    def function(*arrays: Any, **scalars: Any) -> Any:  # noqa: ANN401
        if len(arrays) != len(stencil.fields):
            raise UsageError(f"{stencil.name!r} takes {', '.join(stencil.fields)}, got {len(arrays)} arrays")
        values = {**dict(stencil.defaults), **scalars}
        return called(jax.tree.map(jax.numpy.asarray, arrays), jax.tree.map(jax.numpy.asarray, values))

    return function


def _like(array: Any) -> Any:  # noqa: ANN401
    """What JAX needs to know of an array that a callback returns."""
    return jax.ShapeDtypeStruct(array.shape, array.dtype)  # type: ignore[no-untyped-call]


def _call_with_out(function: Callable[..., None], like: Any, *arguments: Any) -> Any:  # noqa: ANN401
    """Call a function that writes into ``out=``: where JAX's buffers lie on the processor, else with copies."""
    leaves, form = jax.tree.flatten(arguments)
    outputs, form_of_results = jax.tree.flatten(like)

    def call(views: Sequence[Any], targets: Sequence[Any]) -> None:
        function(*jax.tree.unflatten(form, views), out=jax.tree.unflatten(form_of_results, targets))

    def copied(*leaves: Any) -> Any:  # noqa: ANN401
        def callback(*arrays: Any) -> Any:  # noqa: ANN401
            targets = [np.empty(each.shape, each.dtype) for each in outputs]
            call([np.asarray(each) for each in arrays], targets)
            return targets

        return jax.pure_callback(callback, outputs, *leaves)

    def handed_over(*leaves: Any) -> Any:  # noqa: ANN401
        specs = [[(each.shape, np.dtype(each.dtype)) for each in several] for several in (leaves, outputs)]
        return jax.ffi.ffi_call(_TARGET, outputs)(*leaves, number=np.int64(xla.numbered(call, *specs)))

    choice = jax.lax.platform_dependent(*leaves, cpu=handed_over, default=copied) if _hands_over() else copied(*leaves)
    return jax.tree.unflatten(form_of_results, choice)


@functools.cache
def _hands_over() -> bool:
    """Whether JAX has the handler that hands over buffers, for which there must be a C compiler."""
    if not hasattr(jax, "ffi"):  # before 0.5
        return False
    with _lock:
        try:
            handler = xla.handler(jax.ffi.include_dir())
        except ToolchainError:
            return False
        capsule = jax.ffi.pycapsule(handler)  # type: ignore[no-untyped-call]
        jax.ffi.register_ffi_target(_TARGET, capsule, platform="cpu")
    return True
