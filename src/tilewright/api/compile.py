"""From a problem to something that computes it: the tiling, the kernel, the compiler, the fallback."""

from dataclasses import replace

from tilewright.api.blocks import Blocks
from tilewright.api.gpu import check_family, circumstances, for_device, is_gpu, open_device, prepare_gpu
from tilewright.base.errors import IllegalTilingError, ToolchainError, UsageError
from tilewright.codegen.emit import emit
from tilewright.programs.dependences import analyse
from tilewright.programs.periodic import extend, wrapped_axes
from tilewright.programs.problem import Problem, instead_of
from tilewright.runtime.cpu import compile_source
from tilewright.runtime.kernels import CpuKernel, Kernel, NumpyKernel
from tilewright.runtime.session import Halo
from tilewright.runtime.toolchain import toolchain
from tilewright.runtime.warn import warn_once
from tilewright.tilings import catalogue
from tilewright.tilings.legality import Violation
from tilewright.tilings.tiling import Tiling, parse

BACKENDS = ("auto", "c", "numpy", "opencl", "cuda")


def prepare(
    problem: Problem,
    tiling: Tiling | str | None = None,
    backend: str = "auto",
    *,
    strict: bool = False,
    threads: int | None = None,
    copies: bool = True,
) -> Kernel:
    """Make a problem ready to run: choose its tiling, write its kernel, compile or load it.

    Args:
        problem: The problem.
        tiling: A tiling; by default what tuning found, or else the model's choice.
        backend: One of :data:`BACKENDS`; ``auto`` is C where a compiler and the element type allow, else NumPy.
        strict: Bit-equal to the untiled order of operations.
        threads: Threads that it will run on; only what was tuned for as many counts.
        copies: Whether a run copies its arrays in and out each time; False for one portion of a longer run.

    Returns:
        What computes it.

    Raises:
        UsageError: If the backend is unknown or cannot compute in the element type.
        IllegalTilingError: If the tiling that was asked for breaks a dependence.
        ToolchainError: If ``c`` is asked for and there is no compiler that works.
    """
    if backend not in BACKENDS and not is_gpu(backend):
        raise UsageError(f"the backend is one of {', '.join(BACKENDS)}, got {backend!r}")
    _check_recurrence(problem)
    if is_gpu(backend):
        return _on_device(problem, tiling, backend, strict=strict)
    learned = None if tiling is not None or backend == "numpy" else _learned(problem, threads)
    blocks, asked = _wrapped(problem, tiling if learned is None else learned, backend)
    if backend == "auto" and not problem.compiles:
        warn_once(
            f"running with NumPy, which is many times slower: no code is generated for {problem.dtype}; "
            f'{instead_of(problem.dtype)} (or backend="numpy" to say that it is meant)'
        )
        backend = "numpy"
    if backend == "numpy":
        return NumpyKernel()
    chosen = default_tiling(problem, copies=copies) if asked is None else asked
    halo = None
    if blocks is not None:
        whole = blocks.extended.problem
        halo = Halo(around=blocks.extended.around, steps=whole.steps, problem=whole)
    source = emit(problem if halo is None else halo.problem, chosen, strict=strict)
    try:
        (compiled,) = compile_source(source, toolchain())
    except ToolchainError as error:
        if backend == "c":
            raise
        warn_once(f"running with NumPy, which is many times slower: {error}")
        return NumpyKernel()
    return CpuKernel(compiled=compiled, tiling=chosen, halo=halo)


def _on_device(problem: Problem, tiling: Tiling | str | None, backend: str, *, strict: bool) -> Kernel:
    asked = parse(tiling) if isinstance(tiling, str) else tiling
    if asked is None and not wrapped_axes(problem):
        asked = _learned_on_device(problem, backend)
    if asked is not None:
        check_family(asked)
        asked = for_device(problem, asked)
        if asked.family == "none" or not wrapped_axes(problem):
            asked = check_tiling(problem, asked)
        else:
            block = extend(problem, max(1, min(problem.steps, asked.time)))
            asked = check_tiling(problem if block is None else block.problem, asked)
    return prepare_gpu(problem, asked, backend, strict=strict)


def _learned_on_device(problem: Problem, backend: str) -> Tiling | None:
    from tilewright.api.wisdom import remembered

    return remembered(problem, 1, backend.partition(":")[0], circumstances(open_device(backend)))


def _wrapped(problem: Problem, tiling: Tiling | str | None, backend: str) -> tuple[Blocks | None, Tiling | None]:
    """Return the blocks of a problem that wraps, and the tiling: theirs, or the one that was asked for, checked."""
    from tilewright.api.predict import blocks_of

    parsed = parse(tiling) if isinstance(tiling, str) else tiling
    # The element type decides costs, which are not asked for here, but never whether a tiling fits.
    alike = problem if problem.compiles else replace(problem, dtype="float64")
    compiled = backend != "numpy" and problem.compiles
    blocks = blocks_of(alike, tiling=parsed) if compiled or parsed is not None else None
    if blocks is not None:
        return blocks, blocks.tiling
    return None, None if parsed is None else check_tiling(problem, parsed)


def check_tiling(problem: Problem, tiling: Tiling | str) -> Tiling:
    """Return a tiling, completed and known to be legal.

    Raises:
        UsageError: If it cannot be read or does not apply.
        IllegalTilingError: If it breaks a dependence, which the message names.
    """
    parsed = catalogue.complete(problem, parse(tiling) if isinstance(tiling, str) else tiling)
    verdict = catalogue.check(problem, parsed)
    if isinstance(verdict, Violation):
        raise IllegalTilingError(verdict.reason, verdict.hint)
    return parsed


def default_tiling(problem: Problem, *, copies: bool = True) -> Tiling:
    """Return the tiling that the cost model expects to be fastest on this machine; see :func:`prepare` for copies."""
    from tilewright.api.predict import choose_tiling

    return choose_tiling(problem, copies=copies)


def _learned(problem: Problem, threads: int | None) -> Tiling | None:
    """Return what tuning found for a problem or a nearby one."""
    from tilewright.api.wisdom import remembered
    from tilewright.runtime.host import thread_count

    return remembered(problem, thread_count(threads))


def _check_recurrence(problem: Problem) -> None:
    program = problem.program
    for dependence in analyse(program).sweep:
        for statement in program.statements:
            swept = any(read.field == statement.field and read.level == 1 for read in statement.reads)
            kinds = {side.kind for pair in problem.sides(statement.field) for side in pair}
            if swept and not kinds <= {"fixed", "constant"}:
                raise UsageError(
                    f"{program.name!r} sweeps over {statement.field!r} ({dependence}), whose boundary must be fixed or "
                    f"constant, got {', '.join(sorted(kinds - {'fixed', 'constant'}))}"
                )
