"""Programs as functions that PyTorch differentiates: ``op(program, steps=…)``.

A run is a custom operator of ``torch.library`` with a registered gradient, :func:`tilewright.vjp`'s, so that
``torch.compile`` takes it as it is. Tensors on the processor are read where they lie, and results are written into
memory that tensors share.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError, needed
from tilewright.inputs.stencil import ProgramLike, as_program
from tilewright.programs.stencil.program import Program
from tilewright.verbs.gradients.vjp import gradients
from tilewright.verbs.running.run import run

with needed("torch", "tilewright.torch"):
    import torch

Tensor = Any  # a tensor, where PyTorch's types are not at hand
_OPTIONS = ("boundary", "threads", "strict", "backend")
_GRADIENT_OPTIONS = ("memory", "checkpoints", "disk")
_numbers = itertools.count()


def op(program: ProgramLike, *, steps: int, **options: Any) -> Callable[..., Any]:  # noqa: ANN401
    """Return a run of a program as a function of PyTorch.

    It may be compiled (``torch.compile``), and differentiated once, backwards. A second derivative is refused by
    PyTorch: the operator that takes gradients back has none.

    Args:
        program: A stencil, a function, a program, or the name of a built-in one.
        steps: Time steps.
        **options: Of :func:`tilewright.run`: ``boundary``, ``threads``, ``strict``, ``backend``; of
            :func:`tilewright.vjp`: ``memory``, ``checkpoints``, ``disk``.

    Returns:
        ``function(*tensors, **scalars)``: one tensor per field, or a tuple of its time levels, newest first; scalars
        are numbers or tensors: of no axis for a number whose gradient is wanted, of the grid's shape for a coefficient
        field. It returns a tensor, or a tuple of one per updated field.

    Raises:
        UsageError: If an option cannot be used.

    Examples:
        >>> import torch  # doctest: +SKIP
        >>> u = torch.zeros(6, requires_grad=True)  # doctest: +SKIP
        >>> op("jacobi1d", steps=1, boundary="wrap")(u)[0].backward()  # doctest: +SKIP
        >>> u.grad  # doctest: +SKIP
        tensor([0.3333, 0.3333, 0.0000, 0.0000, 0.0000, 0.3333])
    """
    stencil = as_program(program)
    unknown = sorted(set(options) - {*_OPTIONS, *_GRADIENT_OPTIONS})
    if unknown:
        raise UsageError(f"op takes no {unknown[0]!r}", "scalars are arguments of the function that it returns")

    def function(*tensors: Any, **scalars: Any) -> Any:  # noqa: ANN401
        if len(tensors) != len(stencil.fields):
            raise UsageError(f"{stencil.name!r} takes {', '.join(stencil.fields)}, got {len(tensors)} tensors")
        values = {**dict(stencil.defaults), **scalars}
        levels = tuple(len(each) if isinstance(each, tuple) else 0 for each in tensors)
        flat = [tensor for each in tensors for tensor in (each if isinstance(each, tuple) else (each,))]
        _check(flat)
        numbers = [torch.as_tensor(value, dtype=flat[0].dtype) for value in values.values()]
        results = operator([*flat, *numbers], list(levels), ",".join(values))
        return results[0] if len(results) == 1 else tuple(results)

    operator = _register(stencil, steps, options)
    return function


def _check(tensors: Sequence[Any]) -> None:
    for each in tensors:
        if not isinstance(each, torch.Tensor) or each.device.type != "cpu":
            where = each.device if isinstance(each, torch.Tensor) else type(each).__name__
            raise UsageError(f"op takes tensors on the processor, got {where}", "call tensor.cpu()")


def _register(program: Program, steps: int, options: dict[str, Any]) -> Callable[..., list[Tensor]]:
    """Register the operator of a run, and that of its gradient.

    Both take all arrays, then all scalars; of each field how many time levels it was given as, 0 for one array; and the
    scalars' names, between commas.
    """
    plain = {name: value for name, value in options.items() if name in _OPTIONS}
    number, count = next(_numbers), len(program.updated)

    def arguments_of(tensors: Sequence[Tensor], levels: Sequence[int], names: str) -> tuple[list[Any], dict[str, Any]]:
        arrays = iter([each.detach().numpy() for each in tensors])
        fields = [tuple(itertools.islice(arrays, many)) if many else next(arrays) for many in levels]
        return fields, {name: _scalar(value) for name, value in zip(_split(names), arrays, strict=True)}

    def forward(tensors: list[Tensor], levels: list[int], names: str) -> list[Tensor]:
        fields, scalars = arguments_of(tensors, levels, names)
        results = run(program, *fields, steps=steps, **plain, **scalars)
        return [torch.from_numpy(each) for each in (results if isinstance(results, tuple) else (results,))]

    def backward(tensors: list[Tensor], levels: list[int], names: str, cotangents: list[Tensor]) -> list[Tensor]:
        fields, scalars = arguments_of(tensors, levels, names)
        values = tuple(each.detach().contiguous().numpy() for each in cotangents)
        cotangent = values if count > 1 else values[0]
        of_arrays, of_scalars = gradients(program, cotangent, *fields, steps=steps, **options, **scalars)
        flat = [array for each in of_arrays for array in (each if isinstance(each, tuple) else (each,))]
        every = [*flat, *(of_scalars[name] for name in _split(names))]
        return [torch.as_tensor(np.asarray(a)).to(b.dtype) for a, b in zip(every, tensors, strict=True)]

    def like_results(tensors: list[Tensor], levels: list[int], names: str) -> list[Tensor]:  # noqa: ARG001
        starts = list(itertools.accumulate((max(1, many) for many in levels), initial=0))
        firsts = [tensors[starts[program.fields.index(field)]] for field in program.updated]
        return [torch.empty(each.shape, dtype=each.dtype) for each in firsts]

    def like_tensors(
        tensors: list[Tensor],
        levels: list[int],  # noqa: ARG001
        names: str,  # noqa: ARG001
        cotangents: list[Tensor],  # noqa: ARG001
    ) -> list[Tensor]:
        return [torch.empty(each.shape, dtype=each.dtype) for each in tensors]

    name = f"tilewright::run{number}"
    form = "Tensor[] tensors, int[] levels, str names"
    called = torch.library.custom_op(name, forward, mutates_args=(), schema=f"({form}) -> Tensor[]")
    back = torch.library.custom_op(
        f"{name}_back", backward, mutates_args=(), schema=f"({form}, Tensor[] cotangents) -> Tensor[]"
    )
    called.register_fake(like_results)
    back.register_fake(like_tensors)

    def keep(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:  # noqa: ANN401, ARG001
        ctx.save_for_backward(*inputs[0])
        ctx.form = inputs[1:]

    def take_back(ctx: Any, cotangents: list[Tensor]) -> tuple[Any, ...]:  # noqa: ANN401
        return back(list(ctx.saved_tensors), *ctx.form, list(cotangents)), None, None

    called.register_autograd(take_back, setup_context=keep)
    operator: Callable[..., list[Tensor]] = called
    return operator


def _split(names: str) -> list[str]:
    return names.split(",") if names else []


def _scalar(array: Any) -> Any:  # noqa: ANN401
    return array.item() if array.ndim == 0 else array
