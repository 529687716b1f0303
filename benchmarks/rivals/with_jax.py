"""JAX on the CPU: all time steps in one jitted loop; of two forms the one that is faster in a short trial competes.

``slices`` updates the interior by ``.at[…].set`` of an expression of slices; ``rolls`` computes everywhere on rolled
arrays and selects the interior by a mask.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from case import Array, Case, initial
from tilewright.programs.stencil import reference
from tilewright.programs.stencil.expression import Const, Read
from tilewright.programs.stencil.program import Statement

FORMS = ("slices", "rolls")
_TRIAL_STEPS = 6
_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "div": jnp.divide, "neg": jnp.negative, "pow": jnp.power,
    "sqrt": jnp.sqrt, "exp": jnp.exp, "log": jnp.log, "sin": jnp.sin, "cos": jnp.cos, "tanh": jnp.tanh, "abs": jnp.abs,
    "minimum": jnp.minimum, "maximum": jnp.maximum, "floor": jnp.floor, "lt": jnp.less, "le": jnp.less_equal,
    "gt": jnp.greater, "ge": jnp.greater_equal, "eq": jnp.equal, "ne": jnp.not_equal, "and": jnp.logical_and,
    "or": jnp.logical_or, "not": jnp.logical_not, "where": jnp.where,
}  # fmt: skip
State = dict[str, tuple[Any, ...]]


class Jax:
    """The jitted loop."""

    def __init__(self, case: Case) -> None:
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", case.dtype == "float64")
        self.case = case
        self.problem = case.problem()
        program = self.problem.program
        self.order = [program.statements[i] for stage in program.stages for i in stage]
        start = reference.start(self.problem, initial(case))
        self.start = {field: tuple(jnp.asarray(v) for v in versions) for field, versions in start.items()}
        self.done: State = {}

    def prepare(self) -> None:
        """Compile both forms and keep the faster."""
        seconds: dict[str, float] = {}
        entries, compiling = {}, {}
        for form in FORMS:
            entries[form] = self._entry(form)
            begin = time.perf_counter()
            jax.block_until_ready(entries[form](self.start, 1))
            compiling[form] = time.perf_counter() - begin
            begin = time.perf_counter()
            jax.block_until_ready(entries[form](self.start, _TRIAL_STEPS))
            seconds[form] = time.perf_counter() - begin
        self.form = min(seconds, key=seconds.__getitem__)
        self.entry, self.compile_seconds = entries[self.form], compiling[self.form]

    def _entry(self, form: str) -> Callable[[State, int], State]:
        return jax.jit(lambda state, steps: jax.lax.fori_loop(0, steps, lambda _, each: self.step(each, form), state))

    def step(self, state: State, form: str) -> State:
        """Trace one time step in one of the :data:`FORMS`."""
        update = self._sliced if form == "slices" else self._rolled
        new: dict[str, Any] = {}
        for statement in self.order:
            new[statement.field] = update(statement, state, new)
        return {field: (new[field], *versions[:-1]) if field in new else versions for field, versions in state.items()}

    def _sliced(self, statement: Statement, state: State, new: dict[str, Any]) -> Any:  # noqa: ANN401
        box = self.problem.update_box(statement)

        def read(node: Read) -> Any:  # noqa: ANN401
            places = tuple(slice(low + o, high + o) for (low, high), o in zip(box, node.offset, strict=True))
            return _version(node, state, new)[places]

        inside = tuple(slice(low, high) for low, high in box)
        return state[statement.field][0].at[inside].set(self._value(statement, read))

    def _rolled(self, statement: Statement, state: State, new: dict[str, Any]) -> Any:  # noqa: ANN401
        def read(node: Read) -> Any:  # noqa: ANN401
            axes = tuple(range(len(node.offset)))
            return jnp.roll(_version(node, state, new), tuple(-o for o in node.offset), axes)

        inside: Any = True
        for axis, (low, high) in enumerate(self.problem.update_box(statement)):
            place = jax.lax.broadcasted_iota(jnp.int32, self.problem.shape, axis)
            inside = inside & (place >= low) & (place < high)
        return jnp.where(inside, self._value(statement, read), state[statement.field][0])

    def _value(self, statement: Statement, read: Callable[[Read], Any]) -> Any:  # noqa: ANN401
        kind = np.dtype(self.case.dtype).type
        values: list[Any] = []
        for node in statement.tape:
            if isinstance(node, Const):
                values.append(kind(node.value))
            elif isinstance(node, Read):
                values.append(read(node))
            else:
                values.append(_OPERATORS[node.op](*(values[arg] for arg in node.args)))
        return values[-1]

    def run(self) -> float | None:
        """Run from the initial arrays, which stay as they are."""
        begin = time.perf_counter()
        self.done = jax.block_until_ready(self.entry(self.start, self.case.steps))
        return time.perf_counter() - begin

    def result(self) -> dict[str, Array]:
        """The newest versions."""
        return {field: np.asarray(self.done[field][0]) for field in self.problem.program.updated}

    def describe(self) -> dict[str, str]:
        """Version and form."""
        return {"jax": jax.__version__, "form": self.form}


def _version(node: Read, state: State, new: dict[str, Any]) -> Any:  # noqa: ANN401
    if node.level == 1:
        return new[node.field]
    versions = state[node.field]
    return versions[-node.level if len(versions) > 1 else 0]
