"""Runs on arrays that lie on a CUDA device, where their results stay."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from tilewright.base.errors import ArrayError
from tilewright.inputs.arrays import like
from tilewright.plan import Target
from tilewright.runtime.devices.device import DeviceView
from tilewright.runtime.kernels import GpuKernel
from tilewright.runtime.simulation import Simulation
from tilewright.verbs.running.grids.memory import Levels, Memory
from tilewright.verbs.running.monitor import Monitor
from tilewright.verbs.running.problem import CheckedProblem, check_targets

if TYPE_CHECKING:
    from tilewright.runtime.devices.gpu import GpuSession


class Device(Memory):
    """A run on arrays on a device: results with a target go there, others into new arrays of it."""

    name = "a run on a device"
    copies_out = at_once = False

    def warn_if_nonfinite(self, levels: Levels) -> None:
        """Do nothing: the results are not looked at where they lie."""

    def _monitor(self) -> Monitor | None:
        monitor = super()._monitor()
        return None if monitor is None else replace(monitor, shown=self._shown)

    def _place(self) -> None:
        self.target = _device_of(self.case, self.target)
        check_targets(self._targets, self.target.device)

    def _plan(self) -> None:
        super()._plan()
        if not isinstance(self.calculation.kernel, GpuKernel):
            raise ArrayError("an array lies on a GPU, and the run does not", "use backend='cuda'")

    def _copied(self) -> Levels:
        session, targets = cast("GpuSession", self._simulation.state), self._targets
        ages = {f: range(history if self._deep else 1) for f, history in self._simulation.histories.items()}
        for field, levels in targets.items():
            for age, target in enumerate(levels):
                session.give(field, age, target)
        copies = session.take({field: ages[field][len(targets.get(field, ())) :] for field in ages})
        return {field: (*targets.get(field, ()), *copies[field]) for field in ages}

    def _shown(self, run: Simulation, field: str, age: int) -> Any:  # noqa: ANN401
        """Return a copy of a field on its device, of the kind of the caller's array."""
        copied = cast("GpuSession", run.state).copied(field, age)
        return like(copied, self.arrays[run.problem.program.fields.index(field)])


def _device_of(case: CheckedProblem, target: Target) -> Target:
    """Return the CUDA device on which a run's arrays, but for the mask's field, lie."""
    arrays: list[tuple[str, Any]] = [
        (field, array)
        for field, versions in case.given.versions.items()
        if field not in case.added
        for array in versions
    ]
    devices = {array.device: field for field, array in reversed(arrays) if isinstance(array, DeviceView)}
    if target.backend != "cuda" and not target.fallback:
        raise ArrayError(
            f"an array lies on a GPU, where the backend {target.name!r} cannot read it",
            "use backend='cuda', or copy it to the host first",
        )
    if not all(isinstance(array, DeviceView) for _, array in arrays):
        raise ArrayError("the arrays of a run all lie on the GPU or all on the host, got some of each")
    numbers = {number: field for number, field in devices.items() if number is not None}
    if len(numbers) > 1:
        listing = " and ".join(f"{field!r} on {number}" for number, field in sorted(numbers.items()))
        raise ArrayError(f"the arrays of a run all lie on one GPU, got {listing}", "copy them to one GPU first")
    placed = replace(target, backend="cuda", fallback=False)
    if not numbers:
        return placed
    ((number, field),) = numbers.items()
    if target.device:
        from tilewright.runtime.devices import cuda

        chosen = cuda.select(target.device).number
        if chosen != number:
            raise ArrayError(
                f"{field!r} lies on GPU {number}, which the backend {target.name!r} (GPU {chosen}) cannot read",
                f"use backend='cuda:{number}', or copy it to GPU {chosen} first",
            )
    return replace(placed, device=str(number))
