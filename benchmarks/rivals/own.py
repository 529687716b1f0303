"""tilewright itself: the call that a user makes, with the model's tiling, its best one per family, and none."""

import numpy as np

import tilewright as tw
from case import Array, Case, initial
from rivals import UnavailableError
from tilewright.driver import prepare
from tilewright.plan import Target
from tilewright.programs.stencil.boundaries import parse_boundary
from tilewright.verbs.predict import as_machine
from tilewright.verbs.tuning.family_spaces import family_spaces
from user_programs import program


class Tuned:
    """``tw.run`` with the tiling left to the model."""

    tiling: str | None = None

    def __init__(self, case: Case) -> None:
        self.case = case
        self.program = program(case.program)
        data = initial(case)
        # A field with several time levels is given as a tuple of its versions, newest first.
        self.arrays = [versions[0] if len(versions) == 1 else tuple(versions) for versions in data.values()]
        self.fields: dict[str, Array] = {}

    def prepare(self) -> None:
        """Choose the tiling, generate and compile, which the first call would do; later calls find the kernel."""
        self.chosen = str(prepare(self.case.problem(), Target(backend="c"), self.tiling).plan.tiling)

    def run(self) -> float | None:
        """Make the call."""
        self.fields = {}
        out = tw.run(
            self.program,
            *self.arrays,
            steps=self.case.steps,
            boundary=parse_boundary(self.case.boundary),
            backend="c",
            threads=self.case.threads,
            tiling=self.tiling,
        )
        several = out if isinstance(out, tuple) else (out,)
        self.fields = dict(zip(self.program.updated, several, strict=True))
        return None

    def result(self) -> dict[str, Array]:
        """What the call returned."""
        return self.fields

    def describe(self) -> dict[str, str]:
        """The tiling that ran."""
        return {"tilewright": tw.__version__, "tiling": self.chosen}


class Untiled(Tuned):
    """``tw.run`` without tiling."""

    tiling = "none"


class Hexagons(Tuned):
    """``tw.run`` with the model's best hexagonal or hybrid tiling."""

    families: tuple[str, ...] = ("hybrid", "hexagonal")

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        found = {each.family: each for each in family_spaces(case.problem(), as_machine("host"))}
        best = [found[family] for family in self.families if family in found]
        if not best:
            raise UnavailableError(f"no {self.families[0]} tiling is legal here")
        self.tiling = str(best[0].make(int(np.argmin(best[0].cost))))


class Skewed(Hexagons):
    """``tw.run`` with the model's best time-skewed tiling."""

    families = ("skewed",)


class Diamonds(Hexagons):
    """``tw.run`` with the model's best diamond tiling."""

    families = ("diamond",)


class Streaming(Hexagons):
    """``tw.run`` with the model's best streaming tiling."""

    families = ("streaming",)
