"""Diamond tiles: diamonds on (time, axis 0), classic skewed cuts on the other axes."""

from dataclasses import replace
from typing import ClassVar

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.intmath import round_up
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.family import Tiling
from tilewright.schedules.prism import Prisms


class Diamonds(Prisms):
    """Diamonds on (time, axis 0) with classic cuts."""

    ranks = (1, 2, 3)
    summary = "diamonds on (time, axis 0), all tiles of a wavefront at once; classic skewed cuts on the other axes"
    diamonds = True
    cpu_range = (0.77, 1.35)
    defaults: ClassVar = {1: (256, (256,)), 2: (16, (16, 4096)), 3: (8, (8, 16, 4096))}

    def complete(self, problem: Problem, tiling: Tiling) -> Tiling:
        """Fill in the height and the sizes; without sizes, the diamonds are as narrow as the reach allows."""
        rank = problem.program.rank
        if rank not in self.ranks:
            raise IllegalTilingError(
                f"{self} tiles cut 1D to 3D programs, {problem.program.name!r} is {rank}D", "use none"
            )
        if not tiling.space:
            time, (_, *sizes) = self.defaults[rank]
            time = time if tiling.time == 1 else tiling.time
            tiling = replace(tiling, time=time, space=(least_pitch(problem, time), *sizes))
        done = super().complete(problem, tiling)
        if done.space[0] % 2:
            raise UsageError(
                f"the first size of a {self} tile is the distance of neighbouring diamonds, an even number, got "
                f"s={done.space[0]}",
                f"take {round_up(done.space[0], 2)}",
            )
        return done


FAMILY = Diamonds("diamond")


def least_pitch(problem: Problem, time: int) -> int:
    """Return the smallest first size: the reach per logical step times the height, at least 2."""
    return max(2, slopes(problem)[0].widest * time * len(problem.program.stages))
