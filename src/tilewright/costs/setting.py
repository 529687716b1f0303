"""A stencil's problem on a machine, as the models of its costs take both."""

from dataclasses import dataclass, replace
from typing import Any

from tilewright.base.errors import UsageError
from tilewright.costs.energy.constants import constants
from tilewright.costs.energy.price import EnergyRule, rule
from tilewright.costs.facts import Facts, facts_of
from tilewright.costs.rates import CpuRates, Rates, cpu_rates, gpu_rates
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import Numbers
from tilewright.programs.stencil.problem import GPU_COMPILED, MAX_TILED_RANK, Problem
from tilewright.programs.stencil.storage import PLAIN, Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A problem on a machine."""

    facts: Facts  # what the problem brings
    rates: Rates  # what the machine takes, which are :class:`CpuRates` of a CPU
    energy: EnergyRule | None = None  # the energy model of the problem there; None where no energy is asked for

    @property
    def cpu(self) -> bool:
        """Whether the machine is a CPU with caches."""
        return isinstance(self.rates, CpuRates)

    @property
    def gpu(self) -> Numbers | None:
        """A GPU's own numbers; None of a CPU."""
        return None if self.cpu else self.rates.numbers

    @property
    def guessed(self) -> bool:
        """Whether the machine is a CPU whose speeds nobody has measured."""
        return isinstance(self.rates, CpuRates) and self.rates.guessed

    def at(self, **rates: Any) -> "Setting":  # noqa: ANN401  (of each rate's own type)
        """Return the same problem on a machine with other rates."""
        return replace(self, rates=replace(self.rates, **rates))


def make_setting(problem: Problem, machine: Machine, scope: str | None = None, *, storage: Storage = PLAIN) -> Setting:
    """Collect what the models take of a problem on a machine."""
    cpu = machine.kind == "cpu"
    if not cpu and problem.dtype not in GPU_COMPILED:
        raise UsageError(
            f"GPU backends compute in {', '.join(GPU_COMPILED)}, got {problem.dtype}", "ask for a CPU, such as host"
        )
    if not cpu and problem.program.rank > MAX_TILED_RANK:
        raise UsageError(
            f"GPU backends compute in 1 to {MAX_TILED_RANK} dimensions, got {problem.program.rank}",
            "ask for a CPU, such as host",
        )
    facts = facts_of(problem, cpu=cpu, storage=storage)
    rates = cpu_rates(facts, machine, scope or "per_sm") if cpu else gpu_rates(facts, machine, scope or "device")
    return Setting(facts=facts, rates=rates, energy=rule(facts.problem, constants(machine)))
